"""Client and connection as the tables' rows identify them."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

SHARED = 8
"""Values of an identity that many have in common, from its first."""


class ClientIdentity(NamedTuple):
    """What connections of one client have in common; all of it has been cleaned."""

    cluster: str
    broker: int
    gateway: str
    listener: str
    protocol: str
    principal: str | None
    software: str
    version: str
    client_id: str | None
    address: str
    instance: str | None

    @property
    def key(self) -> str:
        """24 digits that no other identity has."""
        return blake2b(repr(self).encode(), digest_size=12).hexdigest()


class OpenConnection(NamedTuple):
    """An open connection; ``key`` is its identity's."""

    identity: ClientIdentity
    key: str
    epoch: int
    connection: int
    opened_ms: int | None
    seen_ms: int

    @property
    def since(self) -> tuple[int, bool]:
        """When it was opened, and whether that is exact."""
        return opened_since(self.opened_ms, self.seen_ms)


def opened_since(opened_ms: int | None, seen_ms: int) -> tuple[int, bool]:
    """Since when a connection was there, and whether that is exact."""
    return (seen_ms, False) if opened_ms is None else (opened_ms, True)
