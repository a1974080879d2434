"""Writer of rows for opened and closed connections: gathered first, and written in batches by `Writing.flush`."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.query import library_of, version_order
from clientscope.records.connection_record import Passed
from sinks.dashboard.rows.judging import Judging
from sinks.dashboard.rows.sql import GONE, HERE, LISTED, LOST, MINUTES, NO_CLIENT_ID, Database, listed
from udfs.kernels.applications import application_of

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


_MINUTE_MS = 60_000


class Openings:
    """Keeps ``opened`` of the clients as it should be, by the minute in which gateways saw a connection open."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._newest = 0
        self._waiting: Counter[tuple[int, str]] = Counter()
        self._moved: dict[int, int] = {}
        """Stored connections that turned out to be another client's → the minute in which they were opened."""
        self._of: dict[int, Counter[int]] = {}
        """By minute, how many each client opened."""

    def opened(self, key: str, at_ms: int, count: int = 1) -> None:
        """A client opened connections, or, if ``count`` is negative, they weren't its."""
        minute = at_ms // _MINUTE_MS
        self._newest = max(self._newest, minute)
        if minute > self._newest - MINUTES:
            self._waiting[minute, key] += count

    def moved(self, row: int, key: str, at_ms: int) -> None:
        """A connection in the table is this client's, and not the one's that it was taken for."""
        self._moved.setdefault(row, at_ms // _MINUTE_MS)
        self.opened(key, at_ms)

    def take_moved(self) -> dict[int, int]:
        """Rows that moved since the last call, each with its minute."""
        moved, self._moved = self._moved, {}
        return moved

    def not_opened(self, client: int, minute: int) -> None:
        """One of these was another client's."""
        if minute in self._of:
            self._count(client, minute, -1)

    def flush(self, numbers: Mapping[str, int]) -> None:
        """Writes what was opened.

        Args:
            numbers: of the clients by their keys; one that isn't there never had a connection that stayed its own.
        """
        for (minute, key), count in self._due():
            if key in numbers:
                self._count(numbers[key], minute, count)
        self._waiting.clear()
        self._expire()

    @property
    def waiting(self) -> set[str]:
        """Keys of the clients that `flush` will write."""
        return {key for (_, key), _ in self._due()}

    @property
    def held(self) -> int:
        """How many counts wait for `flush`."""
        return len(self._waiting)

    def _due(self) -> list[tuple[tuple[int, str], int]]:
        """What waits and still counts."""
        return [(of, count) for of, count in self._waiting.items() if count and of[0] > self._newest - MINUTES]

    def set_now(self, now_ms: int) -> bool:
        """Lets openings grow old; returns whether that changed anything."""
        self._newest = max(self._newest, now_ms // _MINUTE_MS)
        return self._expire()

    def _count(self, client: int, minute: int, count: int) -> None:
        self._of.setdefault(minute, Counter())[client] += count
        self._database.run("UPDATE clients SET opened = opened + ? WHERE id = ?", count, client)

    def _expire(self) -> bool:
        over = [minute for minute in self._of if minute <= self._newest - MINUTES]
        for minute in over:
            gone = ((count, client) for client, count in self._of.pop(minute).items() if count)
            self._database.many("UPDATE clients SET opened = opened - ? WHERE id = ?", gone)
        return bool(over)


GONE_KEPT = 10_000
"""Clients that have gone and can still be found."""

MOST_WAITING = 50_000
"""Clients that have gone, and openings by minute, that wait for a flush; those that are connected have a bound of their own."""

MANY = 5_000
"""Connections into empty tables that are worth making the indices anew."""

_INSERT_CLIENT = f"INSERT INTO clients VALUES ({', '.join('?' * 25)})"

_OWNERS_KEPT = 20_000
"""Principals and client ids whose owner isn't looked for again."""

Shape = tuple[str | int | None, ...]
"""What a client shares with many: the first eight values of its identity, and its owner."""


class _Known(NamedTuple):
    """A client that is in the table; ``seen_ms`` is its oldest connection's."""

    number: int
    seen_ms: int
    away: int


class _Closing(NamedTuple):
    """The end of a connection; ``order`` says which of several came last."""

    order: int
    at_ms: int


class Writing:
    """Rows of connections as they open and close.  Changes since the last `flush` are in no table yet.

    A client whose last connection was closed stays in its table, as one that has gone: at most `GONE_KEPT` of these, the newest.
    """

    def __init__(self, database: Database, owners: Owners = NO_OWNERS) -> None:
        self._owner_of = lru_cache(_OWNERS_KEPT)(owners.team_of)
        self.judging = Judging(database)
        self.openings = Openings(database)
        self._database = database
        self._shapes: dict[Shape, int] = {}
        self._shape_of: dict[int, Shape] = {}
        self._members: Counter[int] = Counter()
        """Clients of each shape."""
        self._lost: set[str] = set()
        self._gone: OrderedDict[int, None] = OrderedDict()
        """Numbers of the clients that have gone, the last one last."""
        self._clients = 0
        """The highest number of a client."""
        self._newest = self._stored = 0
        """The highest number of a connection's row, and of one that was ever in the table: rows above that are only in memory."""
        self._closings = 0
        self._opened: dict[int, OpenConnection] = {}
        self._moved: set[int] = set()
        """Rows that are another client's now."""
        self._closed: dict[int, _Closing] = {}
        self._passed: dict[str, tuple[OpenConnection, _Closing]] = {}
        """Connections that closed before they came into the table, the last one of each client."""
        self._traffic: dict[str, tuple[Mapping[str, Passed], int]] = {}

    def open(self, row: int, opened: OpenConnection) -> None:
        """A connection is there, or in place of what was row ``row``.  Numbers of rows rise, and none is used again."""
        before = self._opened.get(row)
        if opened.opened_ms is not None:
            if row > self._newest or before is not None:
                self.openings.opened(opened.key, opened.opened_ms)
            else:
                self.openings.moved(row, opened.key, opened.opened_ms)
            if before is not None and before.opened_ms is not None:
                self.openings.opened(before.key, before.opened_ms, -1)
        self._newest = max(self._newest, row)
        if row <= self._stored:
            self._moved.add(row)
        self._opened[row] = opened

    def close(self, row: int, at_ms: int | None) -> None:
        """A connection was closed at this time, and with its last one the client is gone; or, without a time, there is no room for it."""
        opened = self._opened.pop(row, None)
        if at_ms is None:
            self._moved.add(row)
            return
        self._closings += 1
        closing = _Closing(self._closings, at_ms)
        if opened is not None:
            self._passed[opened.key] = opened, closing
        if row <= self._stored and row not in self._moved:
            self._closed[row] = closing

    def traffic(self, gateway: str, rates: Mapping[str, Passed], at_ms: int) -> None:
        """Notes what a gateway has measured: bytes per second of its clients by their keys; the others were idle."""
        self._traffic[gateway] = rates, at_ms

    def lose_gateway(self, gateway: str, lost: bool) -> None:
        """Hides the connected clients of a gateway that is lost, or shows them again."""
        (self._lost.add if lost else self._lost.discard)(gateway)
        self._database.run(
            f"UPDATE clients SET away = ? WHERE away <> {GONE} AND shape IN (SELECT id FROM shapes WHERE gateway = ?)",
            LOST if lost else HERE,
            gateway,
        )

    def forget_gateway(self, gateway: str) -> None:
        """Its connections have been closed; whatever comes under its name isn't hidden."""
        if gateway in self._lost:
            self.lose_gateway(gateway, False)

    @property
    def is_due(self) -> bool:
        """Whether so much of clients that left, or came for moments, waits for `flush` that it shouldn't wait longer."""
        return len(self._passed) + self.openings.held > MOST_WAITING

    def flush(self) -> None:
        """Writes all changes since the last call into the tables."""
        opened, self._opened = self._opened, {}
        moved, self._moved = self._moved, set()
        closed, self._closed = self._closed, {}
        passed, self._passed = self._passed, {}
        traffic, self._traffic = self._traffic, {}
        if not (opened or moved or closed or passed or traffic):
            return
        # Empty tables are filled faster without indices, and those are made once.
        with self._database.batch(), self._database.unindexed(not self._clients and len(opened) > MANY):
            counts, oldest, left = self._delete({*closed, *moved}, closed)
            numbers = self._insert(opened, counts, oldest)
            self._database.many(
                "UPDATE clients SET connections = connections + ? WHERE id = ?", ((n, each) for each, n in counts.items() if n)
            )
            self._set_oldest(oldest)
            numbers |= self._pass(passed, left)
            self._leave([client for client, count in counts.items() if count < 0], left)
            self.openings.flush(numbers)
            for gateway, measured in traffic.items():
                self._measure(gateway, *measured)
        self._stored = max(self._stored, *opened, 0)
        self.judging.has_clients = self._clients > 0

    def _measure(self, gateway: str, rates: Mapping[str, Passed], at_ms: int) -> None:
        self._database.run(
            "UPDATE clients SET bytes_in = 0, bytes_out = 0 WHERE bytes_in + bytes_out > 0"
            " AND shape IN (SELECT id FROM shapes WHERE gateway = ?)",
            gateway,
        )
        self._database.many(
            f"UPDATE clients SET bytes_in = ?, bytes_out = ?, active_ms = ? WHERE key = ? AND away <> {GONE}",
            ((*passed, at_ms, key) for key, passed in rates.items()),
        )

    def _delete(
        self, rows: Iterable[int], closed: Mapping[int, _Closing]
    ) -> tuple[Counter[int], set[int], dict[int, tuple[_Closing, tuple[int, bool]]]]:
        """Deletes connections.

        Returns:
            By how many their clients' counts change; clients that may have another oldest connection; and of those that closed any, the
            last closing and since when that connection was there.
        """
        found = self._database.rows(f"DELETE FROM connections WHERE id IN {LISTED} RETURNING id, client, opened_ms, seen_ms", listed(rows))
        opened_in = self.openings.take_moved()
        counts: Counter[int] = Counter()
        left: dict[int, tuple[_Closing, tuple[int, bool]]] = {}
        for row, client, opened_ms, seen_ms in found:
            counts[client] -= 1
            if row in opened_in and opened_ms is not None:
                self.openings.not_opened(client, opened_in[row])
            closing = closed.get(row)
            if closing is not None and (client not in left or left[client][0] < closing):
                left[client] = closing, opened_since(opened_ms, seen_ms)
        return counts, set(counts), left

    def _insert(self, opened: Mapping[int, OpenConnection], counts: Counter[int], oldest: set[int]) -> dict[str, int]:
        """Inserts connections, and those clients that aren't there; returns the clients' numbers."""
        keys = {each.key: None for each in opened.values()}
        known = self._known([*keys, *self.openings.waiting])
        numbers = {key: each.number for key, each in known.items()}
        for key in keys:
            if key not in numbers:
                self._clients += 1
                numbers[key] = self._clients
        back: set[int] = set()
        new: dict[str, OpenConnection] = {}
        of_new: Counter[str] = Counter()
        for each in opened.values():
            key = each.key
            if key in known:
                number, seen_ms, away = known[key]
                counts[number] += 1
                if away == GONE:
                    back.add(number)
                if away == GONE or each.seen_ms <= seen_ms:
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
        for number in back:
            del self._gone[number]
        self._database.run(
            f"UPDATE clients SET away = (SELECT gateway IN {LISTED} FROM shapes WHERE id = shape) WHERE id IN {LISTED}",
            listed(self._lost),
            listed(back),
        )
        return numbers

    def _known(self, keys: list[str]) -> dict[str, _Known]:
        """Those clients that are there."""
        if not self._clients:
            return {}
        rows = self._database.rows(f"SELECT key, id, seen_ms, away FROM clients WHERE key IN {LISTED}", listed(keys))
        return {key: _Known(*found) for key, *found in rows}

    def _pass(
        self, passed: Mapping[str, tuple[OpenConnection, _Closing]], left: dict[int, tuple[_Closing, tuple[int, bool]]]
    ) -> dict[str, int]:
        """Inserts clients that have gone before they came into the table; notes in ``left`` those that are there.  Their numbers."""
        known = self._known(list(passed))
        numbers = {key: each.number for key, each in known.items()}
        for key, (opened, closing) in passed.items():
            if key not in known:
                self._clients += 1
                numbers[key] = self._clients
                self._database.many(_INSERT_CLIENT, [self._client(self._clients, opened, 0)])
            number = numbers[key]
            if number not in left or left[number][0] < closing:
                left[number] = closing, opened.since
        return numbers

    def _client(self, number: int, oldest: OpenConnection, connections: int) -> tuple[str | int | None, ...]:
        """A row of ``clients``."""
        identity = oldest.identity
        application = application_of(identity.client_id) if identity.client_id else None
        searched = (identity.client_id, identity.principal, identity.address, identity.software, identity.version)
        worst, found, codes, risks = self.judging.of_client(
            identity.principal, identity.client_id or "", identity.address, application or "", identity.instance, identity.cluster
        )
        return (
            number,
            self._shape(identity),
            LOST if identity.gateway in self._lost else HERE,
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
            *(None,) * 6,
            0,
            "\n".join(text for text in searched if text).lower(),
        )

    def _shape(self, identity: ClientIdentity) -> int:
        shape = (*identity[:SHARED], self._owner_of(identity.principal, identity.client_id))
        number = self._shapes.get(shape)
        if number is None:
            library, version = library_of(identity.software, identity.version)
            cursor = self._database.run(
                "INSERT INTO shapes (cluster, broker, gateway, listener, protocol, principal, software, version, owner, version_order,"
                " library, library_version, library_order) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *shape,
                version_order(identity.version),
                library,
                version,
                version and version_order(version),
            )
            assert cursor.lastrowid is not None
            number = self._shapes[shape] = cursor.lastrowid
            self._shape_of[number] = shape
        self._members[number] += 1
        return number

    def _leave(self, fewer: list[int], left: Mapping[int, tuple[_Closing, tuple[int, bool]]]) -> None:
        """Notes which clients have gone: those without a connection that ever closed one.

        Without a connection, and removed, are also those whose connections turned out to be others'; and those that left first.
        """
        closings = sorted((closing, client, since) for client, (closing, since) in left.items())
        self._database.many(
            "UPDATE clients SET gone_ms = ?, gone_since_ms = ?, gone_exact = ? WHERE id = ?",
            ((closing.at_ms, *since, client) for closing, client, since in closings),
        )
        found = self._database.rows(f"SELECT id FROM clients WHERE id IN {LISTED} AND connections = 0", listed({*fewer, *left}))
        without = [client for (client,) in found]
        gone = self._database.rows(
            f"UPDATE clients SET away = {GONE}, since_ms = gone_since_ms, since_exact = gone_exact, bytes_in = NULL, bytes_out = NULL"
            f" WHERE id IN {LISTED} AND gone_ms IS NOT NULL RETURNING id",
            listed(without),
        )
        there = {client for (client,) in gone}
        self._remove([client for client in without if client not in there])
        for client in (*(there - left.keys()), *(client for _, client, _ in closings if client in there)):
            self._gone[client] = None
            self._gone.move_to_end(client)
        over = list(islice(self._gone, max(0, len(self._gone) - GONE_KEPT)))
        for client in over:
            del self._gone[client]
        self._remove(over)

    def _remove(self, clients: list[int]) -> None:
        """Removes clients, and shapes without a client."""
        for (number,) in self._database.rows(f"DELETE FROM clients WHERE id IN {LISTED} RETURNING shape", listed(clients)):
            self._members[number] -= 1
            if not self._members[number]:
                shape = self._shape_of.pop(number)
                del self._members[number], self._shapes[shape]
                self._database.run("DELETE FROM shapes WHERE id = ?", number)

    def _set_oldest(self, clients: Iterable[int]) -> None:
        """Since when clients are there, without those that have gone."""
        self._database.run(
            "UPDATE clients SET (since_ms, since_exact, seen_ms) = (SELECT ifnull(opened_ms, seen_ms), opened_ms IS NOT NULL, seen_ms"
            f" FROM connections WHERE client = clients.id ORDER BY seen_ms, connection LIMIT 1) WHERE connections > 0 AND id IN {LISTED}",
            listed(clients),
        )
