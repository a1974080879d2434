"""Records of connections as far as upgrade readiness needs them, and what comes of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clientscope.model.enums import Kind
from clientscope.model.requested_versions import pack, pair
from clientscope.readiness.seen import KEPT_MS, SeenClients

NOW = 10 * KEPT_MS


def record(*versions: tuple[int, int], kind: Kind = Kind.PRESENT, **changes: Any) -> Any:
    """What is needed of a record of a connection that requested these versions."""
    fields: dict[str, Any] = {
        "cluster": "c",
        "address": "10.0.0.1",
        "principal": "User:a",
        "client_id": "orders",
        "software_name": "java",
        "software_version": "4.4.0",
        "requested": pack([pair(*each) for each in versions]),
        **changes,
    }
    return SimpleNamespace(kind=kind, **fields)


def seen(*records: tuple[int, Any]) -> SeenClients:
    """The clients of records, each with its time."""
    clients = SeenClients()
    for at_ms, each in records:
        clients.apply(each, at_ms)
    return clients
