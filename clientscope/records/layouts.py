"""Layouts of the topics' records: their schemas, and what the numbers in them mean.

Without kafka-python, whose import takes longer than all else that a command needs which reads no record.
"""

from __future__ import annotations

import json
import re
from enum import IntEnum
from importlib import resources
from typing import NotRequired, TypedDict, cast

SCHEMAS = "clientscope.records.schemas"

MOST_SETTINGS = 4_096
"""A record of more is not read: eight times what a gateway takes of a push. 80,000 of them, which fit into a record, take three seconds."""


class FieldSchema(TypedDict):
    """A field of a message in Kafka's schema format, as far as the schemas here use it; versions are texts such as ``0+``.

    Attributes:
        fields: of an array of structs.
    """

    name: str
    type: str
    versions: str
    about: NotRequired[str]
    default: NotRequired[str | int | bool]
    fields: NotRequired[list[FieldSchema]]
    nullableVersions: NotRequired[str]
    tag: NotRequired[int]
    taggedVersions: NotRequired[str]


class MessageSchema(TypedDict):
    """A message in Kafka's schema format."""

    type: str
    name: str
    validVersions: str
    flexibleVersions: str
    fields: list[FieldSchema]


class Kind(IntEnum):
    """``ClientConnectionRecord.Kind``."""

    OPENED = 0
    IDENTIFIED = 1
    CLOSED = 2
    PRESENT = 3
    HEARTBEAT = 4


class ValueState(IntEnum):
    """``ClientConfigRecord.Configs.ValueState``: whether the value is there, or else why it was redacted."""

    PRESENT = 0
    KEY_PREFIX = 1
    KEY_INFIX = 2
    KEY_SUFFIX = 3
    TYPE = 4
    KEY_WORD = 5
    VALUE_SHAPE = 6
    LOOKS_RANDOM = 7
    CERTIFICATE = 8
    WITHOUT_SECRET = 9
    CUSTOM = 10


class PrincipalSource(IntEnum):
    """``PrincipalSource`` of both records: what showed the principal."""

    NONE = 0
    PLAIN = 1
    SCRAM = 2
    TOKEN = 3
    CERTIFICATE = 4


class Origin(IntEnum):
    """``ClientConfigRecord.Origin``; results, the API and metrics have the names in lower case.

    A reader counts an origin that it doesn't know as `OBSERVED`: only what the record contains is known.
    """

    PUSHED = 0
    OBSERVED = 1
    REQUEST_LOG = 2


def rank_of(origin: int) -> int:
    """What counts first of one client's records: 0 what it pushes, 1 what others saw of its requests."""
    return int(origin != Origin.PUSHED)


def schema(name: str) -> MessageSchema:
    """The parsed schema of a record, by name.

    Raises:
        FileNotFoundError: there is no such record.
    """
    text = resources.files(SCHEMAS).joinpath(f"{name}.json").read_text("utf-8")
    return cast(MessageSchema, json.loads(re.sub(r"(?m)^\s*//.*$", "", text)))
