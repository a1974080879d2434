"""Every setting that the catalogue has of the client libraries, under each of its names.

A key that isn't among them is custom configuration, which KIP-1324 calls sensitive: it may be anything.
"""

from __future__ import annotations

from functools import lru_cache

from clientscope.catalog.configs import TYPES
from clientscope.catalog.settings import libraries

KNOWN = (
    frozenset(key for library in libraries().values() for key in library.names) | TYPES.keys() | {key.replace(".", "_") for key in TYPES}
)
"""Names as they are written; kafka-python and aiokafka write Kafka's with underscores, KIP-1324's own two likewise."""

EMBEDDED = (
    "main.consumer.", "restore.consumer.", "global.consumer.", "consumer.override.", "producer.override.", "admin.override.",
    "consumer.", "producer.", "admin.", "topic.", "default.topic.config.", "key.converter.", "value.converter.", "header.converter.",
    "config.storage.", "offset.storage.", "status.storage.", "topic.creation.default.",
)  # fmt: skip
"""Prefixes of settings of the clients inside another one: Kafka Streams, Connect's workers and connectors, librdkafka's topics."""

_LONGEST_REMEMBERED = 128


def is_custom(key: str) -> bool:
    """Whether no library calls a setting so."""
    return key not in KNOWN and (_is_custom(key) if len(key) <= _LONGEST_REMEMBERED else True)


@lru_cache(maxsize=4096)
def _is_custom(key: str) -> bool:
    return not any(key.startswith(prefix) and key[len(prefix) :] in KNOWN for prefix in EMBEDDED)
