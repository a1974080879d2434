"""Reference codec of the topics' records, one record at a time.

Both records are written as Kafka writes its own internal ones (a coordinator's key and value, say): an int16 version, then a
flexible body that a JSON schema in Kafka's own format describes.  The same schema files drive the vectorised decoder in
``udfs/``; a parity test holds the two together.
"""

from __future__ import annotations

import json
import re
import struct
from enum import IntEnum
from importlib import resources
from typing import NotRequired, TypedDict, TypeVar, cast

from kafka.protocol.api_data import ApiData
from kafka.protocol.schemas.fields.codecs import EncodeBufferPool, Int16

from clientscope.errors import RecordError, WireError
from clientscope.wire.strict import decode_body

_SCHEMAS = "clientscope.records.schemas"

MOST_SETTINGS = 4_096
"""A record of more is not read: eight times what a gateway takes of a push. 80,000 of them, which fit into a record, take three seconds."""

Record = TypeVar("Record", bound=ApiData)


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


class ClientConfigRecord(ApiData, load_json=_SCHEMAS):  # type: ignore[call-arg]
    """Value of ``clientscope.configs``; fields as in ``schemas/ClientConfigRecord.json``, in snake case."""


class ClientConnectionRecord(ApiData, load_json=_SCHEMAS):  # type: ignore[call-arg]
    """Value of ``clientscope.connections``; fields as in ``schemas/ClientConnectionRecord.json``, in snake case."""


class ClientTelemetryRecord(ApiData, load_json=_SCHEMAS):  # type: ignore[call-arg]
    """Value of ``clientscope.telemetry``; fields as in ``schemas/ClientTelemetryRecord.json``, in snake case."""


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
    CLIENT_LOG = 3
    CAPTURE = 4


def rank_of(origin: int) -> int:
    """What counts first of one client's records: 0 what it pushes, 1 what it logs, 2 what others saw of its requests."""
    return _RANKS.get(origin, 2)


_RANKS = {int(Origin.PUSHED): 0, int(Origin.CLIENT_LOG): 1}


def schema(name: str) -> MessageSchema:
    """The parsed schema of a record, by name.

    Raises:
        FileNotFoundError: there is no such record.
    """
    text = resources.files(_SCHEMAS).joinpath(f"{name}.json").read_text("utf-8")
    return cast(MessageSchema, json.loads(re.sub(r"(?m)^\s*//.*$", "", text)))


def encode(record: ApiData) -> bytes:
    """The record as a topic's value, in its newest version.

    By the function that kafka-python compiles from a schema for its own Produce requests, twice as fast as its ``encode``.
    """
    version = type(record).max_version
    flexible = record.flexible_version_q(version)
    with EncodeBufferPool.acquire() as out:
        Int16.encode_into(out, version)
        record._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)(record, out)
        return bytes(out.result())


def decode(record_class: type[Record], value: bytes) -> Record:
    """A topic's value as a record; the whole of it, or nothing.

    Raises:
        RecordError: the bytes are no such record; its ``reason`` says why in one word.
    """
    if len(value) < 2:
        raise RecordError("truncated", "shorter than the version")
    (version,) = struct.unpack_from(">h", value)
    if not 0 <= version <= record_class.max_version:
        raise RecordError("unknown_version", str(version))
    try:
        record = cast(Record, decode_body(record_class, value[2:], version))
    except WireError as error:
        raise RecordError(error.reason) from error
    if isinstance(record, ClientConfigRecord) and len(record.configs) > MOST_SETTINGS:
        raise RecordError("too_many_settings", str(len(record.configs)))
    return record
