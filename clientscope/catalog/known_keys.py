"""Every setting that the catalogue has of the client libraries, under each of its names.

A key that isn't among them is custom configuration, which KIP-1324 calls sensitive: it may be anything.

The names are in ``known_keys.json``, read from the libraries themselves by ``tests/fixtures/known_keys.py``.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources

from clientscope.catalog.configs import TYPES

DATA = resources.files("clientscope.catalog").joinpath("known_keys.json")

_LIBRARIES: dict[str, list[str]] = json.loads(DATA.read_text("utf-8"))["libraries"]

KNOWN = frozenset(key for keys in _LIBRARIES.values() for key in keys) | TYPES.keys() | {key.replace(".", "_") for key in TYPES}
"""Names as they are written; kafka-python and aiokafka write Kafka's with underscores, KIP-1324's own two likewise."""

_EMBEDDED = (
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
    return not any(key.startswith(prefix) and key[len(prefix) :] in KNOWN for prefix in _EMBEDDED)
