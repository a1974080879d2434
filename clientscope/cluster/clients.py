"""The keyword settings of kafka-python's clients, made in one place for all that ask a cluster."""

from __future__ import annotations

from typing import Any, Protocol


class HasCluster(Protocol):
    """Settings that say where a cluster is."""

    @property
    def bootstrap_servers(self) -> str:
        """``HOST:PORT,HOST:PORT``."""


def clients(settings: HasCluster) -> dict[str, Any]:
    """What kafka-python needs to connect."""
    return {"bootstrap_servers": settings.bootstrap_servers}
