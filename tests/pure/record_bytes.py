"""Records for tests, as bytes made by the reference codec."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID

import pyarrow as pa
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

from clientscope.policy.redaction import ClientNames
from clientscope.policy.telemetry import client_resource, record_value, redacted_metrics
from clientscope.records.codec import ClientConfigRecord, ClientConnectionRecord, encode
from clientscope.records.layouts import Kind

Records = Callable[..., Any]
"""Of the Spark tests' fixture: a topic and values -> a DataFrame as ``streaming.sources.records`` makes it."""


_CLIENT = {
    "received_timestamp_ms": 1,
    "cluster_id": "c",
    "broker_id": 1,
    "gateway_id": "g",
    "gateway_epoch": 2,
    "connection_id": 3,
    "listener_name": "CLIENT",
    "security_protocol": "PLAINTEXT",
    "client_address": "127.0.0.1",
    "principal": None,
    "principal_source": 0,
    "client_id": "orders-1",
    "client_software_name": "apache-kafka-java",
    "client_software_version": "4.4.0",
}
"""What a record of a push and one of metrics say of their client alike."""


def binaries(*values: bytes | None) -> pa.Array:
    """Records' values as a kernel gets them."""
    return pa.array(values, pa.binary())


def setting(key: str, value: str | None, **changes: Any) -> ClientConfigRecord.Config:
    """One of `config_record`'s settings, as a gateway makes it, with changes."""
    fields: dict[str, Any] = {
        "config_key": key,
        "config_value": value,
        "value_state": 0,
        "config_type": 1,
        "is_default": False,
        "value_digest": None,
        "value_length": len((value or "").encode()),
    }
    return ClientConfigRecord.Config(version=0, **{**fields, **changes})


def config_record(*settings: ClientConfigRecord.Config, **changes: Any) -> bytes:
    """A ClientConfigRecord."""
    fields: dict[str, Any] = {
        **_CLIENT,
        "client_instance_id": None,
        "origin": 0,
        "digest_key_id": None,
        "configs": list(settings),
    }
    return bytes(encode(ClientConfigRecord(version=0, **{**fields, **changes})))


def connection_record(sequence: int, counts: Iterable[tuple[str, str, int, int, int]] = (), **changes: Any) -> bytes:
    """A ClientConnectionRecord.

    Args:
        counts: name, version, open, opened, closed.
    """
    fields: dict[str, Any] = {
        "kind": Kind.OPENED,
        "cluster_id": "c",
        "broker_id": 1,
        "gateway_id": "g",
        "gateway_epoch": 1,
        "sequence": sequence,
        "timestamp_ms": 1_000 + sequence,
        "connection_id": 3,
        "listener_name": "CLIENT",
        "security_protocol": "PLAINTEXT",
        "client_address": "127.0.0.1",
        "principal": None,
        "principal_source": 0,
        "client_id": None,
        "client_software_name": "unknown",
        "client_software_version": "unknown",
        "client_instance_id": None,
        "previous_software_name": None,
        "previous_software_version": None,
        "reason": None,
        "counts": [
            ClientConnectionRecord.Count(
                version=0,
                count_listener_name="CLIENT",
                count_software_name=name,
                count_software_version=version,
                open_connections=open_now,
                opened_total=opened,
                closed_total=closed,
            )
            for name, version, open_now, opened, closed in counts
        ],
        "heartbeat_part": 0,
        "heartbeat_parts": 0,
        "heartbeat_interval_ms": 0,
        "client_instances": 0,
    }
    return bytes(encode(ClientConnectionRecord(version=0, **{**fields, **changes})))


def heartbeat(sequence: int, counts: Iterable[tuple[str, str, int, int, int]] = (), **changes: Any) -> bytes:
    """A heartbeat of one part, every five seconds."""
    beat = {"kind": Kind.HEARTBEAT, "connection_id": -1, "heartbeat_parts": 1, "heartbeat_interval_ms": 5000}
    return connection_record(sequence, counts, **{**beat, **changes})


def telemetry_record(metrics: MetricsData, ended_ms: int | None = None, **changes: Any) -> bytes:
    """A record of a client's own metrics, as a gateway makes it; names of ``changes`` aren't judged.

    Args:
        ended_ms: of the last push of a client.
    """
    client = client_resource({**_CLIENT, "client_instance_id": str(UUID(int=5)), "copied": False, **changes})
    return record_value(redacted_metrics(metrics.SerializeToString(), ClientNames(), client), client, ended_ms)
