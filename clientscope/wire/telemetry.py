"""GetTelemetrySubscriptions and PushTelemetry (keys 71 and 72, KIP-714) on raw bytes: requests are read, answers are written.

kafka-python has no classes for them. Both have version 0 alone, which is flexible.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from clientscope.errors import WireError
from clientscope.wire.codes import NONE
from clientscope.wire.cursor import Cursor, write_uvarint
from clientscope.wire.frames import REQUEST_HEAD, RESPONSE_HEAD, framed

UNCOMPRESSED, GZIP, SNAPPY, LZ4, ZSTD = range(5)
"""Kafka's numbers of compression types."""

NO_ID = UUID(int=0)

_ID_AND_ERROR = struct.Struct(">iBih")
_INTERVAL_AND_SIZE = struct.Struct(">ii?")
_INT32 = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class PushedMetrics:
    """A PushTelemetry request.

    Attributes:
        terminating: whether the client is about to end: it pushes nothing after this.
        compression: Kafka's number of the type.
        metrics: OTLP's MetricsData, compressed.
    """

    instance_id: UUID
    subscription_id: int
    terminating: bool
    compression: int
    metrics: bytes


def crc32c(data: bytes) -> int:
    """CRC-32C of a short text, by which a broker numbers subscriptions. Python has none, and kafka-python's belongs to its client."""
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 * (value & 1)
    return value ^ 0xFFFFFFFF


def read_subscriptions_request(frame: bytes) -> UUID:
    """The instance id in a GetTelemetrySubscriptions request; all zeros from a client that has none yet.

    Raises:
        WireError: it is no such request.
    """
    cursor = _body(frame)
    instance_id = cursor.uuid() or NO_ID
    _end(cursor)
    return instance_id


def read_push(frame: bytes) -> PushedMetrics:
    """Reads a PushTelemetry request; the metrics themselves are not looked into.

    Raises:
        WireError: it is no such request.
    """
    cursor = _body(frame)
    push = PushedMetrics(cursor.uuid() or NO_ID, cursor.int32(), cursor.int8() != 0, cursor.int8(), cursor.compact_byte_array())
    _end(cursor)
    return push


def read_error(frame: bytes) -> tuple[int, Cursor]:
    """The error code of an answer to either, and what follows it.

    Raises:
        WireError: it is no such answer.
    """
    cursor = Cursor(frame, RESPONSE_HEAD.size)
    cursor.tags()
    cursor.int32()  # ThrottleTimeMs
    return cursor.int16(), cursor


def write_push_answer(correlation_id: int, error: int) -> bytes:
    """An answer to PushTelemetry."""
    return framed(_ID_AND_ERROR.pack(correlation_id, 0, 0, error) + b"\0")


def write_subscription(
    correlation_id: int,
    error: int,
    instance_id: UUID = NO_ID,
    subscription_id: int = 0,
    interval_ms: int = 0,
    prefixes: Sequence[str] = (),
    max_bytes: int = 0,
) -> bytes:
    """An answer to GetTelemetrySubscriptions; with an error all else is zero or empty, as Kafka lays it out.

    Without one, GZIP is accepted beside no compression, and counters are asked for as differences, as Kafka's broker asks.

    Args:
        prefixes: of the metrics' names; ``*`` alone is all, and none is nothing.
        max_bytes: the longest PushTelemetry.Metrics that is taken, compressed.
    """
    compressions = bytes([GZIP]) if error == NONE else b""
    texts = [prefix.encode() for prefix in prefixes]
    return framed(
        _ID_AND_ERROR.pack(correlation_id, 0, 0, error)
        + instance_id.bytes
        + _INT32.pack(subscription_id)
        + write_uvarint(len(compressions) + 1)
        + compressions
        + _INTERVAL_AND_SIZE.pack(interval_ms, max_bytes, error == NONE)
        + write_uvarint(len(texts) + 1)
        + b"".join(write_uvarint(len(text) + 1) + text for text in texts)
        + b"\0"
    )


def _body(frame: bytes) -> Cursor:
    cursor = Cursor(frame, REQUEST_HEAD.size)
    cursor.nullable_string()
    cursor.tags()
    return cursor


def _end(cursor: Cursor) -> None:
    cursor.tags()
    if cursor.position != len(cursor.data):
        raise WireError("trailing_bytes")
