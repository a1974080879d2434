"""Records of ``clientscope.telemetry``: the attributes that name their client, bounds, and what clients push, unpacked within them.

A record's value is OTLP's MetricsData, as OpenTelemetry's Collector reads it: a request to export metrics is encoded alike. Records are
compressed together, by Kafka's producer.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache

from clientscope.errors import RecordError
from clientscope.wire.telemetry import GZIP, UNCOMPRESSED, ZSTD

MOST_UNPACKED_BYTES = 256 * 1024
"""The longest MetricsData of a client that is read. Java's have 36 KB."""

MOST_RECORD_BYTES = 2 * MOST_UNPACKED_BYTES
"""The longest value of a record, which has the client's attributes beside what it pushed."""

ATTRIBUTES = {
    "client_instance_id": "instance_id",
    "client_id": "client_id",
    "client_software_name": "software_name",
    "client_software_version": "software_version",
    "client_source_address": "address",
    "principal": "principal",
    "broker_id": "broker",
    "cluster_id": "cluster",
    "gateway_id": "gateway",
    "listener_name": "listener",
    "security_protocol": "security_protocol",
    "copied": "copied",
}
"""Attributes of each resource that say who the client is, and the columns of history that they become.

The names down to ``principal`` are KIP-714's, of what a broker adds. Its ``node_id`` is ``broker_id`` here, since Java labels the metrics
of a connection to a broker with ``node_id``. ``copied`` is true where the broker has the metrics too.
"""

SERVICE_INSTANCE = "service.instance.id"
"""OpenTelemetry's attribute by which backends tell instances apart: the client's instance id once more."""

TERMINATING = "clientscope.client.terminating"
"""Gauge of 1, in the last push of a client that ends. No attribute, since those of a resource stay the same from push to push."""

BUFFER_MEMORY = "org.apache.kafka.producer.buffer.total.bytes"
"""Gauge of a Java producer that is its setting ``buffer.memory``."""

_TAKEN = {*ATTRIBUTES, SERVICE_INSTANCE, "service.name", "service.namespace", "job", "instance"}
_UNDERSCORES = re.compile(r"[\W_]+", re.ASCII)
_LONGEST_REMEMBERED = 256

_GZIP_WINDOW = zlib.MAX_WBITS + 16
_ZSTD_WINDOW_BYTES = 8 * 1024 * 1024
"""Memory that a frame of zstd may ask for: what its usual levels use."""


def is_taken(label: str) -> bool:
    """Whether a client may not use this name for a label of its own, since it is the gateway's, or becomes the same in Prometheus.

    There, all but letters and digits become underscores, several of them one, and OpenTelemetry's ``service.…`` become ``job`` and
    ``instance``.
    """
    return _is_taken(label) if len(label) <= _LONGEST_REMEMBERED else _written(label) in _WRITTEN


@lru_cache(maxsize=4096)
def _is_taken(label: str) -> bool:
    """Few labels come again and again."""
    return _written(label) in _WRITTEN


def _written(label: str) -> str:
    return _UNDERSCORES.sub("_", label).strip("_").lower()


_WRITTEN = frozenset(map(_written, _TAKEN))


def unpack(compression: int, data: bytes) -> bytes:
    """What a client pushed, uncompressed; no more than `MOST_UNPACKED_BYTES` are ever in memory.

    Args:
        compression: Kafka's number of the type.

    Raises:
        RecordError: ``compression``: a type that isn't read; ``too_large``; or ``unreadable``.
    """
    if compression == UNCOMPRESSED:
        unpacked = data
    elif compression == GZIP:
        unpacked = _gunzip(data)
    elif compression == ZSTD:
        unpacked = _unzstd(data)
    else:
        raise RecordError("compression", str(compression))
    if len(unpacked) > MOST_UNPACKED_BYTES:
        raise RecordError("too_large", f"more than {MOST_UNPACKED_BYTES} bytes")
    return unpacked


def _gunzip(data: bytes) -> bytes:
    reader = zlib.decompressobj(_GZIP_WINDOW)
    try:
        unpacked = reader.decompress(data, MOST_UNPACKED_BYTES + 1)
    except zlib.error as error:
        raise RecordError("unreadable", str(error)) from None
    if len(unpacked) <= MOST_UNPACKED_BYTES and not reader.eof:
        raise RecordError("unreadable", "truncated")
    return unpacked


def _unzstd(data: bytes) -> bytes:
    import zstandard  # noqa: PLC0415  only where a broker asks for telemetry

    reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).stream_reader(data)
    try:
        return reader.read(MOST_UNPACKED_BYTES + 1)
    except zstandard.ZstdError as error:
        raise RecordError("unreadable", str(error)) from None
