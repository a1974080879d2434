"""Dialects: one file for each client library, all listed in `DIALECTS`."""

from __future__ import annotations

from clientscope.catalog.dialects.aiokafka import AIOKAFKA
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.dialects.franz_go import FRANZ_GO
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.dialects.kafka_python import KAFKA_PYTHON
from clientscope.catalog.dialects.kafkajs import KAFKAJS
from clientscope.catalog.dialects.librdkafka import LIBRDKAFKA
from clientscope.catalog.dialects.sarama import SARAMA
from clientscope.errors import SettingsError

DIALECTS = (JAVA, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA, KAFKAJS, FRANZ_GO, SARAMA)
_OF_SOFTWARE = {name: each for each in DIALECTS for name in each.software}


def dialect(name: str) -> Dialect:
    """The dialect of this name.

    Raises:
        SettingsError: there is no such dialect.
    """
    for each in DIALECTS:
        if each.name == name:
            return each
    raise SettingsError(f"unknown dialect {name!r}", f"known: {', '.join(each.name for each in DIALECTS)}")


def dialect_of(software_name: str) -> Dialect | None:
    """The dialect of a client library, by the name that it sends (KIP-511); None for an unknown one."""
    return _OF_SOFTWARE.get(software_name)
