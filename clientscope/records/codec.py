"""Reference codec of the topics' records, one record at a time.

Both records are written as Kafka writes its own internal ones (a coordinator's key and value, say): an int16 version, then a
flexible body that a JSON schema in Kafka's own format describes.  The same schema files drive the vectorised decoder in
``udfs/``; a parity test holds the two together.
"""

from __future__ import annotations

import struct
from typing import TypeVar, cast

from kafka.protocol.api_data import ApiData
from kafka.protocol.schemas.fields.codecs import EncodeBufferPool, Int16

from clientscope.errors import RecordError, WireError
from clientscope.records.layouts import MOST_SETTINGS, SCHEMAS
from clientscope.wire.strict import decode_body

Record = TypeVar("Record", bound=ApiData)


class ClientConfigRecord(ApiData, load_json=SCHEMAS):  # type: ignore[call-arg]
    """Value of ``clientscope.configs``; fields as in ``schemas/ClientConfigRecord.json``, in snake case."""


class ClientConnectionRecord(ApiData, load_json=SCHEMAS):  # type: ignore[call-arg]
    """Value of ``clientscope.connections``; fields as in ``schemas/ClientConnectionRecord.json``, in snake case."""


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
