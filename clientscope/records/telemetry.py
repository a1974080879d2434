"""Compression of clients' telemetry: what clients push is unpacked within bounds, and records are packed by gzip."""

from __future__ import annotations

import zlib

from clientscope.errors import RecordError
from clientscope.wire.telemetry import GZIP, UNCOMPRESSED, ZSTD

MOST_UNPACKED_BYTES = 256 * 1024
"""The longest MetricsData that is read. Java's have 36 KB."""

_GZIP_WINDOW = zlib.MAX_WBITS + 16
_ZSTD_WINDOW_BYTES = 8 * 1024 * 1024
"""Memory that a frame of zstd may ask for: what its usual levels use."""


def unpack(compression: int, data: bytes, most_bytes: int = MOST_UNPACKED_BYTES) -> bytes:
    """What a client pushed, uncompressed; no more than ``most_bytes`` are ever in memory.

    Args:
        compression: Kafka's number of the type.

    Raises:
        RecordError: ``compression``: a type that isn't read; ``too_large``; or ``unreadable``.
    """
    if compression == UNCOMPRESSED:
        unpacked = data
    elif compression == GZIP:
        unpacked = _gunzip(data, most_bytes)
    elif compression == ZSTD:
        unpacked = _unzstd(data, most_bytes)
    else:
        raise RecordError("compression", str(compression))
    if len(unpacked) > most_bytes:
        raise RecordError("too_large", f"more than {most_bytes} bytes")
    return unpacked


def pack(metrics: bytes) -> bytes:
    """Compresses metrics for a record."""
    return zlib.compress(metrics, level=1, wbits=_GZIP_WINDOW)


def _gunzip(data: bytes, most_bytes: int) -> bytes:
    reader = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = reader.decompress(data, most_bytes + 1)
    except zlib.error as error:
        raise RecordError("unreadable", str(error)) from None
    if len(unpacked) <= most_bytes and not reader.eof:
        raise RecordError("unreadable", "truncated")
    return unpacked


def _unzstd(data: bytes, most_bytes: int) -> bytes:
    import zstandard  # noqa: PLC0415  only where a broker asks for telemetry

    reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).stream_reader(data)
    try:
        return reader.read(most_bytes + 1)
    except zstandard.ZstdError as error:
        raise RecordError("unreadable", str(error)) from None
