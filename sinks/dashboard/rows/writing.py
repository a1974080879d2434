"""What opens and closes, into rows."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import NamedTuple

from clientscope.query import version_order
from sinks.dashboard.rows.judging import Judging
from sinks.dashboard.rows.schema import NOBODY, Database
from udfs.applications import application_of

GONE_KEPT = 10_000
"""Clients that have gone and may still be asked for."""


class Identity(NamedTuple):
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
    def digest(self) -> bytes:
        """12 bytes that no other identity has."""
        return blake2b(repr(self).encode(), digest_size=12).digest()

    @property
    def shape(self) -> tuple[str | int | None, ...]:
        """What it shares with many: the columns of a row of ``shapes``."""
        return self[:8]


class Writing:
    """Rows as connections come and go."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.judging = Judging(database)
        self._shapes: dict[tuple[str | int | None, ...], int] = {}
        self.gone: OrderedDict[str, tuple[Identity, int]] = OrderedDict()

    def open(self, row: int, identity: Identity, epoch: int, connection: int, opened_ms: int | None, seen_ms: int, hidden: bool) -> None:
        """Puts a connection there, or in place of what was row ``row``."""
        self.close(row)
        key = identity.digest.hex()
        known = self._database.row("SELECT id, seen_ms FROM clients WHERE key = ?", key)
        client = known[0] if known else self._new_client(key, identity, opened_ms, seen_ms, hidden)
        self._database.run("INSERT INTO connections VALUES (?, ?, ?, ?, ?, ?)", row, client, seen_ms, connection, epoch, opened_ms)
        self._database.run("UPDATE clients SET connections = connections + 1 WHERE id = ?", client)
        if known and seen_ms <= known[1]:
            self._set_since(client)

    def close(self, row: int) -> None:
        """Takes a connection away, and with its last one the client."""
        found = self._database.row("DELETE FROM connections WHERE id = ? RETURNING client, seen_ms", row)
        if found is None:
            return
        client, seen_ms = found
        left, oldest = self._database.row(
            "UPDATE clients SET connections = connections - 1 WHERE id = ? RETURNING connections, seen_ms", client
        )
        if not left:
            self._remove_client(client)
        elif seen_ms <= oldest:
            self._set_since(client)

    def close_gateway(self, gateway: str) -> None:
        """Takes all connections of a gateway away."""
        clients = self._database.rows("SELECT id FROM clients WHERE shape IN (SELECT id FROM shapes WHERE gateway = ?)", gateway)
        for (client,) in clients:
            self._database.run("DELETE FROM connections WHERE client = ?", client)
            self._remove_client(client)

    def hide_gateway(self, gateway: str, hidden: bool) -> None:
        """Hides the clients of a gateway that is lost, or shows them again."""
        self._database.run("UPDATE clients SET hidden = ? WHERE shape IN (SELECT id FROM shapes WHERE gateway = ?)", hidden, gateway)

    def _new_client(self, key: str, identity: Identity, opened_ms: int | None, seen_ms: int, hidden: bool) -> int:
        self.gone.pop(key, None)
        application = application_of(identity.client_id) if identity.client_id else None
        searched = (identity.client_id, identity.principal, identity.address, identity.software, identity.version)
        worst, found, codes = self.judging.of_client(
            identity.principal or "", identity.client_id or "", identity.address, application or "", identity.instance
        )
        cursor = self._database.run(
            "INSERT INTO clients (shape, hidden, worst, found, connections, since_ms, since_exact, seen_ms, label, address, client_id,"
            " instance, application, key, codes, search) VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            self._shape(identity),
            hidden,
            worst,
            found,
            seen_ms if opened_ms is None else opened_ms,
            opened_ms is not None,
            seen_ms,
            identity.client_id or NOBODY,
            identity.address,
            identity.client_id,
            identity.instance,
            application,
            key,
            codes,
            "\n".join(text for text in searched if text).lower(),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _remove_client(self, client: int) -> None:
        *own, shape, since_ms = self._database.row(
            "DELETE FROM clients WHERE id = ? RETURNING key, client_id, address, instance, shape, since_ms", client
        )
        left, *shared = self._database.row(
            "UPDATE shapes SET clients = clients - 1 WHERE id = ?"
            " RETURNING clients, cluster, broker, gateway, listener, protocol, principal, software, version",
            shape,
        )
        if not left:
            self._database.run("DELETE FROM shapes WHERE id = ?", shape)
            del self._shapes[tuple(shared)]
        key, *others = own
        self.gone[key] = (Identity(*shared, *others), since_ms)
        self.gone.move_to_end(key)
        if len(self.gone) > GONE_KEPT:
            self.gone.popitem(last=False)

    def _shape(self, identity: Identity) -> int:
        shape = identity.shape
        number = self._shapes.get(shape)
        if number is None:
            cursor = self._database.run(
                "INSERT INTO shapes (cluster, broker, gateway, listener, protocol, principal, software, version, version_order)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *shape,
                version_order(identity.version),
            )
            assert cursor.lastrowid is not None
            number = self._shapes[shape] = cursor.lastrowid
        self._database.run("UPDATE shapes SET clients = clients + 1 WHERE id = ?", number)
        return number

    def _set_since(self, client: int) -> None:
        opened_ms, seen_ms = self._database.row(
            "SELECT opened_ms, seen_ms FROM connections WHERE client = ? ORDER BY seen_ms, connection LIMIT 1", client
        )
        self._database.run(
            "UPDATE clients SET since_ms = ?, since_exact = ?, seen_ms = ? WHERE id = ?",
            seen_ms if opened_ms is None else opened_ms,
            opened_ms is not None,
            seen_ms,
            client,
        )
