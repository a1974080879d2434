"""Records for benchmarks: one client's, with what is given changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from clientscope.catalog.configs import Type
from clientscope.records.codec import encode
from clientscope.records.config_record import ClientConfigRecord, RecordedSetting, TypeName, compact
from clientscope.records.connection_record import ClientConnectionRecord, SeriesCount
from clientscope.records.enums import Kind, Origin, PrincipalSource

_PLACE = {"version": 1, "cluster_id": "MkU3OEVBNTcwNTJENDM2Qk", "broker_id": 1, "gateway_id": "gw", "gateway_epoch": 1}
_CLIENT = {
    "listener_name": "CLIENT", "security_protocol": "SASL_SSL", "client_address": "10.0.0.1", "principal": "User:a",
    "principal_source": PrincipalSource.SCRAM, "client_id": "orders-1", "client_software_name": "apache-kafka-java",
    "client_software_version": "4.4.0",
}  # fmt: skip
_MS = 1_700_000_000_000


def setting(key: str, value: str, type: Type = Type.INT, default: bool = False) -> RecordedSetting:
    """One of a push's settings."""
    return RecordedSetting(key, value, get_args(TypeName)[type], default)


def push(settings: Iterable[RecordedSetting], **changes: Any) -> bytes:
    """A ClientConfigRecord."""
    of_client = {"received_timestamp_ms": _MS, "connection_id": 1, "origin": Origin.PUSHED}
    return encode(ClientConfigRecord(**{**_PLACE, **_CLIENT, **of_client, **compact(settings), **changes}))


def connection(sequence: int, kind: Kind = Kind.OPENED, counts: tuple[SeriesCount, ...] = (), **changes: Any) -> bytes:
    """A ClientConnectionRecord."""
    event = {"kind": kind, "sequence": sequence, "timestamp_ms": _MS, "connection_id": sequence, "counts": counts}
    return encode(ClientConnectionRecord(**{**_PLACE, **_CLIENT, **event, **changes}))
