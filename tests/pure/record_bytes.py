"""Records for tests, as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, get_args
from uuid import UUID

import pyarrow as pa
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from clientscope.catalog.configs import Type
from clientscope.catalog.value_states import ValueState
from clientscope.model.codec import encode
from clientscope.model.connection import ClientConnectionRecord, SeriesCount
from clientscope.model.enums import Kind, Origin
from clientscope.model.push import Push, compact
from clientscope.model.setting import Redaction, Setting, TypeName, reason_name
from clientscope.policy.redaction import ClientNames
from clientscope.policy.telemetry import client_resource, record_value, redacted_metrics

Records = Callable[..., Any]
"""Of the Spark tests' fixture: a topic and values -> a DataFrame as ``streaming.sources.records`` makes it."""


_CLIENT = {
    "received_ms": 1,
    "cluster": "c",
    "broker": 1,
    "gateway": "g",
    "epoch": 2,
    "connection": 3,
    "listener": "CLIENT",
    "security_protocol": "PLAINTEXT",
    "address": "127.0.0.1",
    "client_id": "orders-1",
    "software_name": "apache-kafka-java",
    "software_version": "4.4.0",
}
"""What a record of a push and one of metrics say of their client alike."""


def binaries(*values: bytes | None) -> pa.Array:
    """Records' values as a kernel gets them."""
    return pa.array(values, pa.binary())


def setting(
    key: str,
    value: str | None,
    type: Type = Type.STRING,
    default: bool = False,
    state: ValueState = ValueState.PRESENT,
    length: int = 0,
    digest: bytes | None = None,
) -> Setting:
    """One of `config_record`'s settings, as a gateway makes it."""
    redacted = None if state is ValueState.PRESENT else Redaction(reason_name(state), length, digest and digest.hex())
    return Setting(key, value, "default" if default else "set", get_args(TypeName)[type], redacted)


def config_record(*settings: Setting, **changes: Any) -> bytes:
    """A Push."""
    return encode(Push(**{"version": 1, **_CLIENT, "origin": Origin.PUSHED, **compact(settings), **_texts(changes)}))


def _texts(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: str(value) if isinstance(value, UUID) else value for name, value in changes.items()}


def connection_record(sequence: int, counts: Iterable[tuple[str, str, int, int, int]] = (), **changes: Any) -> bytes:
    """A ClientConnectionRecord; a heartbeat has one part, and comes every five seconds.

    Args:
        counts: name, version, open, opened, closed.
    """
    fields: dict[str, Any] = {
        "version": 1,
        "kind": Kind.OPENED,
        "cluster": "c",
        "broker": 1,
        "gateway": "g",
        "epoch": 1,
        "sequence": sequence,
        "timestamp_ms": 1_000 + sequence,
        "connection": 3,
        "listener": "CLIENT",
        "security_protocol": "PLAINTEXT",
        "address": "127.0.0.1",
        "software_name": "unknown",
        "software_version": "unknown",
        "counts": tuple(SeriesCount("CLIENT", *each) for each in counts),
    }
    if changes.get("kind") == Kind.HEARTBEAT:
        fields |= {"connection": -1, "heartbeat_parts": 1, "heartbeat_interval_ms": 5_000}
    return encode(ClientConnectionRecord(**{**fields, **_texts(changes)}))


def heartbeat(sequence: int, counts: Iterable[tuple[str, str, int, int, int]] = (), **changes: Any) -> bytes:
    """A heartbeat."""
    return connection_record(sequence, counts, kind=Kind.HEARTBEAT, **changes)


def telemetry_record(metrics: MetricsData, ended_ms: int | None = None, **changes: Any) -> bytes:
    """A record of a client's own metrics, as a gateway makes it; names of ``changes`` aren't judged.

    Args:
        ended_ms: of the last push of a client.
    """
    client = client_resource({**_CLIENT, "principal": None, "instance_id": str(UUID(int=5)), "copied": False, **changes})
    return record_value(redacted_metrics(metrics.SerializeToString(), ClientNames(), client), client, ended_ms)
