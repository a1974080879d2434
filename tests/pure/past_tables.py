"""History's tables as the job writes them, for tests of what reads them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
from deltalake import write_deltalake

from clientscope.catalog.value_states import ValueState
from clientscope.model.enums import Kind
from sinks.history.recorder import FINDING_ROWS, GAUGE_ROWS
from udfs.decode import CONNECTION, DECODE_ERROR, PUSH
from udfs.kernels.client_facts import CLIENT, COLUMNS

NOW_MS = 1_790_000_040_000
"""2026-09-21 14:14 UTC."""
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000

_PLACE = [
    ("date", pa.date32()),
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", "UTC")),
]
_OFFSETS = count()
_CLIENT = {
    "cluster": "c", "broker": 1, "gateway": "gw", "listener": "CLIENT", "security_protocol": "PLAINTEXT",
    "address": "10.0.0.1", "principal": "User:ANONYMOUS", "client_id": "app",
}  # fmt: skip
_JAVA = {"software_name": "apache-kafka-java", "software_version": "4.1.0"}


def _of(record: pa.StructType) -> pa.Schema:
    return pa.schema([*_PLACE, *(field for field in record if field != DECODE_ERROR)])


SCHEMAS = {
    "connections": _of(CONNECTION),
    "pushes": _of(PUSH),
    "client_facts": pa.schema([*_PLACE, *CLIENT, *COLUMNS]),
    "gauges": GAUGE_ROWS,
    "findings": FINDING_ROWS,
}


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def append(folder: Path, table: str, rows: Iterable[dict[str, Any]]) -> None:
    """What a row doesn't name is null, or what most rows have."""
    write_deltalake(folder / table, pa.Table.from_pylist(list(rows), SCHEMAS[table]), mode="append", partition_by=["date"])


def _placed(ms: int) -> dict[str, Any]:
    return {"date": at(ms).date(), "timestamp": at(ms), "topic": "t", "partition": 0, "offset": next(_OFFSETS)}


def connection(ms: int, kind: Kind, number: int = 1, sequence: int | None = None, **changed: Any) -> dict[str, Any]:
    """A row of ``connections``; ``number`` is the connection's."""
    placed = _placed(ms)
    row = {
        "kind": kind.value, "epoch": 1, "timestamp_ms": ms, "connection": number,
        "sequence": placed["offset"] if sequence is None else sequence, "software_name": "librdkafka",
        "software_version": "2.6.1",
    }  # fmt: skip
    return placed | _CLIENT | row | changed


def heartbeat(ms: int, **changed: Any) -> dict[str, Any]:
    """A gateway's, without which its connections count as lost."""
    return connection(ms, Kind.HEARTBEAT, -1, **{"client_id": None, "heartbeat_interval_ms": 30_000, **changed})


def gauge(ms: int, connections: int, name: str = "librdkafka", version: str = "2.6.1", gateway: str = "gw") -> dict[str, Any]:
    """A row of ``gauges``."""
    minute = at(ms // MINUTE_MS * MINUTE_MS)
    place = {"cluster": "c", "broker": 1, "gateway": gateway, "listener": "CLIENT"}
    return {
        "date": minute.date(),
        "minute": minute,
        "software_name": name,
        "software_version": version,
        "connections": connections,
        **place,
    }


def setting(key: str, value: str | None, **changed: Any) -> dict[str, Any]:
    """One of a push's settings."""
    state = ValueState.PRESENT
    length = len(value or "")
    row = {
        "config_key": key,
        "config_value": value,
        "value_state": int(state),
        "config_type": 1,
        "is_default": False,
        "value_length": length,
    }
    return row | {"value_digest": None} | changed


HELD_BACK = setting("sasl.jaas.config", None, value_state=int(ValueState.KEY_INFIX), value_length=90, value_digest=bytes(range(32)))


def changed(one: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    """What an answer says of a start's or a difference's changes."""
    return [(change["key"], change["before"], change["after"]) for change in one["changes"] or ()]


def push(ms: int, *configs: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """A row of ``pushes``."""
    row = {
        "received_ms": ms, "epoch": 1, "connection": 1, "principal_source": "none", "origin": "pushed",
        "configs": list(configs),
    }  # fmt: skip
    return _placed(ms) | _CLIENT | _JAVA | row | changed


def client_facts(ms: int, kind: str = "producer", instance: int = 5, **changed: Any) -> dict[str, Any]:
    """A row of ``client_facts``: one push of an instance, a minute after the one before."""
    row = {
        "instance_id": str(UUID(int=instance)), "terminating": False, "copied": False, "client_kind": kind,
        "interval_ms": MINUTE_MS,
    }  # fmt: skip
    return _placed(ms) | _CLIENT | _JAVA | row | changed


def finding(ms: int, number: int, state: str = "open", **changed: Any) -> dict[str, Any]:
    """A row of ``findings``, recorded at ``ms``."""
    row = {
        "date": at(ms).date(), "recorded": at(ms), "fingerprint": f"{number:032x}", "revision": next(_OFFSETS), "code": "AN101",
        "name": "acks-zero",
        "kind": "setting", "severity": "high", "confidence": "high", "state": state, "message": "Set acks.", "principal": "User:app",
        "client_id": "app", "group": None, "client_count": 1, "first_seen": at(ms), "last_seen": at(ms), "opened": at(ms),
        "ended": None if state in ("open", "stopped") else at(ms), "reopened": 0, "owner": None, "decided_as": None, "decided_by": None,
    }  # fmt: skip
    return row | changed
