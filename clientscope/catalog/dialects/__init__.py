"""Dialects: one TOML file for each client library, all listed in `DIALECTS`."""

from __future__ import annotations

from clientscope.catalog.dialects import settling
from clientscope.catalog.dialects.dialect import Dialect, read
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.settings import numbers
from clientscope.errors import SettingsError

LIBRDKAFKA = read("librdkafka", settling.librdkafka, lambda version: numbers(version.rpartition("rdkafka-")[2]))
"""A binding may send both versions: ``2.16.1-rdkafka-2.16.0``."""
KAFKA_PYTHON = read("kafka-python", settling.kafka_python)
DIALECTS = (
    JAVA,
    LIBRDKAFKA,
    KAFKA_PYTHON,
    read("aiokafka", settling.aiokafka),
    read("kafkajs"),
    read("franz-go", settling.franz_go),
    read("sarama"),
)
_OF_SOFTWARE = {name.lower(): each for each in DIALECTS for name in each.software}


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
    """The dialect of a client library, by the name that it sends (KIP-511), in any case; None for an unknown one."""
    return _OF_SOFTWARE.get(software_name.lower())
