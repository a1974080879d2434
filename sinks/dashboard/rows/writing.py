"""Writer of rows for opened and closed connections: gathered first, and written in batches by `Writing.flush`."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.query import version_order
from sinks.dashboard.rows.judging import Judging
from sinks.dashboard.rows.schema import LISTED, NO_CLIENT_ID, Database, listed
from udfs.kernels.applications import application_of

GONE_KEPT = 10_000
"""Clients that have gone and may still be asked for."""

MANY = 5_000
"""Connections into empty tables that are worth making the indices anew."""

_INSERT_CLIENT = f"INSERT INTO clients VALUES ({', '.join('?' * 18)})"

_OWNERS_KEPT = 20_000
"""Principals and client ids whose owner isn't looked for again."""

Shape = tuple[str | int | None, ...]
"""What a client shares with many: the first eight values of its identity, and its owner."""


_SHARED = 8
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
        return (self.seen_ms, False) if self.opened_ms is None else (self.opened_ms, True)


class Writing:
    """Rows of connections as they open and close.  Changes since the last `flush` are in no table yet."""

    def __init__(self, database: Database, owners: Owners = NO_OWNERS) -> None:
        self._owner_of = lru_cache(_OWNERS_KEPT)(owners.team_of)
        self.judging = Judging(database)
        self._database = database
        self._shapes: dict[Shape, int] = {}
        self._shape_of: dict[int, Shape] = {}
        self._members: Counter[int] = Counter()
        """Clients of each shape."""
        self._hidden: set[str] = set()
        self._gone: OrderedDict[str, tuple[ClientIdentity, int]] = OrderedDict()
        self._clients = 0
        """The highest number of a client."""
        self._stored = 0
        """The highest number of a row that was ever in the table: rows above it are only in memory."""
        self._opened: dict[int, OpenConnection] = {}
        self._closed: set[int] = set()
        self._passed: OrderedDict[str, OpenConnection] = OrderedDict()
        """Connections that closed before they came into the table, the last one of each client."""

    def open(self, row: int, opened: OpenConnection) -> None:
        """A connection is there, or in place of what was row ``row``.  Numbers of rows rise, and none is used again."""
        if row <= self._stored:
            self._closed.add(row)
        self._opened[row] = opened

    def close(self, row: int) -> None:
        """A connection is gone, and with its last one the client."""
        if row <= self._stored:
            self._closed.add(row)
        opened = self._opened.pop(row, None)
        if opened is not None:
            _keep(self._passed, opened.key, opened)

    def hide_gateway(self, gateway: str, hidden: bool) -> None:
        """Hides the clients of a gateway that is lost, or shows them again."""
        (self._hidden.add if hidden else self._hidden.discard)(gateway)
        self._database.run("UPDATE clients SET hidden = ? WHERE shape IN (SELECT id FROM shapes WHERE gateway = ?)", hidden, gateway)

    def forget_gateway(self, gateway: str) -> None:
        """Its connections have been closed; whatever comes under its name isn't hidden."""
        if gateway in self._hidden:
            self.hide_gateway(gateway, False)

    def gone(self, key: str) -> tuple[ClientIdentity, int] | None:
        """A client that has gone lately, and since when it was there."""
        return self._gone.get(key)

    def owner_of(self, identity: ClientIdentity) -> str | None:
        """The team that a client belongs to, by its principal and client id: its connections don't say its group."""
        return self._owner_of(identity.principal, identity.client_id)

    def flush(self) -> None:
        """Writes all changes since the last call into the tables."""
        opened, self._opened = self._opened, {}
        closed, self._closed = self._closed, set()
        passed, self._passed = self._passed, OrderedDict()
        if not (opened or closed or passed):
            return
        # Empty tables are filled faster without indices, and those are made once.
        with self._database.batch(), self._database.unindexed(not self._stored and len(opened) > MANY):
            counts, oldest = self._delete(closed)
            self._insert(opened, counts, oldest)
            self._database.many(
                "UPDATE clients SET connections = connections + ? WHERE id = ?", ((n, each) for each, n in counts.items() if n)
            )
            self._remove_clients([client for client, count in counts.items() if count < 0])
            self._set_oldest(oldest)
        self._stored = max(self._stored, *opened, 0)
        self.judging.has_clients = self._stored > 0
        there = self._known(list(passed))
        for key, each in passed.items():
            if key not in there:
                _keep(self._gone, key, (each.identity, each.since[0]))

    def _delete(self, rows: Iterable[int]) -> tuple[Counter[int], set[int]]:
        """Deletes connections; returns by how many their clients' counts change, and clients that may have another oldest one."""
        found = self._database.rows(f"DELETE FROM connections WHERE id IN {LISTED} RETURNING client", listed(rows))
        counts = Counter(client for (client,) in found)
        counts = Counter({client: -count for client, count in counts.items()})
        return counts, set(counts)

    def _insert(self, opened: Mapping[int, OpenConnection], counts: Counter[int], oldest: set[int]) -> None:
        """Inserts connections, and those clients that aren't there."""
        keys = {each.key: None for each in opened.values()}
        known = self._known(list(keys))
        numbers = {key: number for key, (number, _) in known.items()}
        for key in keys:
            if key not in numbers:
                self._clients += 1
                numbers[key] = self._clients
        new: dict[str, OpenConnection] = {}
        of_new: Counter[str] = Counter()
        for each in opened.values():
            key = each.key
            if key in known:
                number, oldest_ms = known[key]
                counts[number] += 1
                if each.seen_ms <= oldest_ms:
                    oldest.add(number)
                continue
            of_new[key] += 1
            before = new.get(key)
            if before is None or (each.seen_ms, each.connection) < (before.seen_ms, before.connection):
                new[key] = each
        self._database.many(_INSERT_CLIENT, [self._client(numbers[key], each, of_new[key]) for key, each in new.items()])
        self._database.many(
            "INSERT INTO connections VALUES (?, ?, ?, ?, ?, ?)",
            ((row, numbers[each.key], each.seen_ms, each.connection, each.epoch, each.opened_ms) for row, each in opened.items()),
        )

    def _known(self, keys: list[str]) -> dict[str, tuple[int, int]]:
        """Number, and ``seen_ms`` of the oldest connection, of those clients that are there."""
        if not self._stored:
            return {}
        return {
            key: (number, seen_ms)
            for key, number, seen_ms in self._database.rows(f"SELECT key, id, seen_ms FROM clients WHERE key IN {LISTED}", listed(keys))
        }

    def _client(self, number: int, oldest: OpenConnection, connections: int) -> tuple[str | int | None, ...]:
        """A row of ``clients``."""
        identity = oldest.identity
        self._gone.pop(oldest.key, None)
        application = application_of(identity.client_id) if identity.client_id else None
        searched = (identity.client_id, identity.principal, identity.address, identity.software, identity.version)
        worst, found, codes, risks = self.judging.of_client(
            identity.principal, identity.client_id or "", identity.address, application or "", identity.instance, identity.cluster
        )
        return (
            number,
            self._shape(identity),
            identity.gateway in self._hidden,
            worst,
            found,
            connections,
            *oldest.since,
            oldest.seen_ms,
            identity.client_id or NO_CLIENT_ID,
            identity.address,
            identity.client_id,
            identity.instance,
            application,
            oldest.key,
            codes,
            risks,
            "\n".join(text for text in searched if text).lower(),
        )

    def _shape(self, identity: ClientIdentity) -> int:
        shape = (*identity[:_SHARED], self.owner_of(identity))
        number = self._shapes.get(shape)
        if number is None:
            cursor = self._database.run(
                "INSERT INTO shapes (cluster, broker, gateway, listener, protocol, principal, software, version, owner, version_order)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *shape,
                version_order(identity.version),
            )
            assert cursor.lastrowid is not None
            number = self._shapes[shape] = cursor.lastrowid
            self._shape_of[number] = shape
        self._members[number] += 1
        return number

    def _remove_clients(self, fewer: list[int]) -> None:
        """Removes clients without a connection, and shapes without a client."""
        gone = self._database.rows(
            f"DELETE FROM clients WHERE id IN {LISTED} AND connections = 0 RETURNING shape, key, since_ms, client_id, address, instance",
            listed(fewer),
        )
        for number, key, since_ms, *own in gone:
            shape = self._shape_of[number]
            self._members[number] -= 1
            if not self._members[number]:
                del self._members[number], self._shapes[shape], self._shape_of[number]
                self._database.run("DELETE FROM shapes WHERE id = ?", number)
            _keep(self._gone, key, (ClientIdentity._make((*shape[:_SHARED], *own)), since_ms))

    def _set_oldest(self, clients: Iterable[int]) -> None:
        """Since when clients are there, without those that have gone."""
        self._database.run(
            "UPDATE clients SET (since_ms, since_exact, seen_ms) = (SELECT ifnull(opened_ms, seen_ms), opened_ms IS NOT NULL, seen_ms"
            f" FROM connections WHERE client = clients.id ORDER BY seen_ms, connection LIMIT 1) WHERE id IN {LISTED}",
            listed(clients),
        )


_Kept = TypeVar("_Kept")


def _keep(table: OrderedDict[str, _Kept], key: str, value: _Kept) -> None:
    """Stores a value as the newest of at most `GONE_KEPT`."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > GONE_KEPT:
        table.popitem(last=False)
