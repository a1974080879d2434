"""Writer of rows for opened and closed connections: gathered first, and written in batches by `Writing.flush`.

What is said of a client is made of its connections' rows, in SQL.  A connection that was closed keeps its row for as long as it counts as
opened lately.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache

from clientscope.api.clients import ConnectionRow
from clientscope.model.connection import Passed
from clientscope.model.gauge import GatewayKey
from clientscope.profiles.owners import Owners
from clientscope.query import library_of, version_order
from sinks.dashboard.rows.judging import Judging
from sinks.dashboard.rows.sql import GONE, LISTED, MINUTES, NO_CLIENT_ID, Database, listed
from udfs.kernels.applications import application_of

GONE_KEPT = 10_000
"""Clients that have gone and can still be found."""

CLOSED_KEPT = 100_000
"""Closed connections that still count as opened lately; if more are closed within minutes, clients have opened more than is said."""

MOST_WAITING = 50_000
"""Closed connections that wait for a flush; those that are open have a bound of their own."""

_MINUTE_MS = 60_000

_OWNERS_KEPT = 20_000
"""Principals and client ids whose owner isn't looked for again."""

Shape = tuple[str | int | None, ...]
"""What a client shares with many: the columns of ``shapes`` up to its owner."""

_SHAPES_AT = "(SELECT id FROM shapes WHERE (cluster, broker, gateway) = (?, ?, ?))"
_LOST = "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') FROM json_each(?)"

_OPENED = "(SELECT count(*) FROM connections WHERE client = clients.id AND opened_ms >= ?)"
"""How many connections a client opened since a time."""


class Writing:
    """Rows of connections as they open and close.  Changes since the last `flush` are in no table yet.

    A client whose last connection was closed stays in its table, as one that has gone: at most `GONE_KEPT` of these, the newest.
    """

    def __init__(self, database: Database, owners: Owners) -> None:
        self._owner_of = lru_cache(_OWNERS_KEPT)(owners.team_of)
        self.judging = Judging(database)
        self._database = database
        self._shapes: dict[Shape, int] = {}
        self._lost: set[GatewayKey] = set()
        self._clients = 0
        """The highest number of a client."""
        self._minute = 0
        """The newest one of which anything has come, or the present one; by Kafka's clock, since a gateway's may be wrong."""
        self._closings = self._written = 0
        """How many closings there were, and how many of them are in the tables."""
        self._opened: dict[int, ConnectionRow] = {}
        self._closed: dict[int, tuple[int | None, int | None]] = {}
        """Row → when it was closed, and which closing that was; None for want of room."""
        self._traffic: dict[GatewayKey, tuple[Mapping[str, Passed], int]] = {}
        self._newest_ms = 0
        """When the newest record of an open connection came."""

    def open(self, row: int, opened: ConnectionRow, arrived_ms: int) -> None:
        """A connection is there, or in place of what was row ``row``.  Numbers of rows rise, and none is used again."""
        self._opened[row] = opened
        self._newest_ms = max(self._newest_ms, arrived_ms)

    def close(self, row: int, at_ms: int | None) -> None:
        """A connection was closed at this time, and with its last one the client is gone; or, without a time, there is no room for it."""
        self._closings += at_ms is not None
        self._closed[row] = at_ms, None if at_ms is None else self._closings

    def traffic(self, gateway: GatewayKey, rates: Mapping[str, Passed], at_ms: int) -> None:
        """Notes what a gateway has measured: bytes per second of its clients by their keys; the others were idle."""
        self._traffic[gateway] = rates, at_ms

    def lose_gateway(self, gateway: GatewayKey, lost: bool) -> None:
        """Hides the connected clients of a gateway that is lost, or shows them again."""
        (self._lost.add if lost else self._lost.discard)(gateway)
        self._database.run(f"UPDATE clients SET away = ? WHERE away <> {GONE} AND shape IN {_SHAPES_AT}", lost, *gateway)

    def set_now(self, now_ms: int) -> bool:
        """Lets openings grow old; returns whether that changed anything."""
        before, self._minute = self._minute, max(self._minute, now_ms // _MINUTE_MS)
        return self._minute > before and self._forget_openings()

    @property
    def is_due(self) -> bool:
        """Whether so much of clients that left, or came for moments, waits for `flush` that it shouldn't wait longer."""
        return len(self._closed) > MOST_WAITING

    def flush(self) -> None:
        """Writes all changes since the last call into the tables."""
        opened, self._opened = self._opened, {}
        closed, self._closed = self._closed, {}
        traffic, self._traffic = self._traffic, {}
        if not (opened or closed or traffic):
            return
        with self._database.batch():
            rows = self._database.rows(f"SELECT DISTINCT client FROM connections WHERE id IN {LISTED}", listed([*opened, *closed]))
            numbers = self._numbers(opened.values())
            self._database.many(
                "INSERT OR REPLACE INTO connections VALUES (?, ?, ?, ?, ?, ?, 1, NULL, NULL)",
                ((row, numbers[x.key], x.seen_ms, x.connection, x.epoch, x.opened_ms) for row, x in opened.items()),
            )
            self._database.many(
                "UPDATE connections SET open = 0, closed_ms = ?, closing = ? WHERE id = ?", ((*end, row) for row, end in closed.items())
            )
            newest = self._newest_ms // _MINUTE_MS
            is_later, self._minute = newest > self._minute, max(newest, self._minute)
            self._sum_up({*numbers.values(), *(client for (client,) in rows)})
            if is_later:
                self._forget_openings()
            for gateway, measured in traffic.items():
                self._measure(gateway, *measured)
        self._written = self._closings
        self.judging.has_clients = self._clients > 0

    def _measure(self, gateway: GatewayKey, rates: Mapping[str, Passed], at_ms: int) -> None:
        self._database.run(
            f"UPDATE clients SET bytes_in = 0, bytes_out = 0 WHERE bytes_in + bytes_out > 0 AND shape IN {_SHAPES_AT}", *gateway
        )
        self._database.many(
            f"UPDATE clients SET bytes_in = ?, bytes_out = ?, active_ms = ? WHERE key = ? AND away <> {GONE}",
            ((*passed, at_ms, key) for key, passed in rates.items()),
        )

    def _numbers(self, opened: Collection[ConnectionRow]) -> dict[str, int]:
        """The numbers of the clients of these connections, by their keys; those that aren't there are inserted."""
        of = {each.key: each for each in opened}
        numbers: dict[str, int] = dict(self._database.rows(f"SELECT key, id FROM clients WHERE key IN {LISTED}", listed(of)))
        new = []
        for key, one in of.items():
            if key not in numbers:
                self._clients += 1
                numbers[key] = self._clients
                new.append(self._client(self._clients, one))
        self._database.many(
            "INSERT INTO clients (id, shape, worst, found, label, address, client_id, instance, application, key, codes, risks, search)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            new,
        )
        return numbers

    def _sum_up(self, clients: Collection[int]) -> None:
        """Makes rows of clients what their connections say.

        Those without a connection that ever closed one have gone.  Others without one are removed: their connections turned out to be of
        another client, or there was no room for them.  Of those that have gone, the first go.
        """
        ids = listed(clients)
        self._database.run(
            "UPDATE clients SET (connections, opened) = (SELECT ifnull(sum(open), 0), count(*) FILTER (WHERE opened_ms >= ?)"
            f" FROM connections WHERE client = clients.id) WHERE id IN {LISTED}",
            self._since_ms(),
            ids,
        )
        self._database.run(
            "UPDATE clients SET (since_ms, since_exact) = (SELECT ifnull(opened_ms, seen_ms), opened_ms IS NOT NULL FROM connections"
            " WHERE client = clients.id AND open ORDER BY seen_ms, connection LIMIT 1),"
            f" away = (SELECT (cluster, broker, gateway) IN ({_LOST}) FROM shapes WHERE id = shape)"
            f" WHERE id IN {LISTED} AND connections > 0",
            listed(self._lost),
            ids,
        )
        self._database.run(
            "UPDATE clients SET gone_ms = x.closed_ms, gone_since_ms = ifnull(opened_ms, x.seen_ms), gone_exact = opened_ms IS NOT NULL,"
            " closing = x.closing FROM (SELECT *, max(closing) FROM connections WHERE closing > ? GROUP BY +client) x"  # +: by no index
            " WHERE x.client = clients.id",
            self._written,
        )
        self._database.run(
            f"UPDATE clients SET away = {GONE}, since_ms = gone_since_ms, since_exact = gone_exact, bytes_in = NULL, bytes_out = NULL"
            f" WHERE id IN {LISTED} AND connections = 0 AND gone_ms IS NOT NULL",
            ids,
        )
        over = f"SELECT id FROM clients WHERE away = {GONE} ORDER BY closing DESC LIMIT -1 OFFSET {GONE_KEPT}"
        shapes = {
            shape
            for which, parameters in ((f"id IN {LISTED} AND connections = 0 AND gone_ms IS NULL", [ids]), (f"id IN ({over})", []))
            for (shape,) in self._database.rows(f"DELETE FROM clients WHERE {which} RETURNING shape", *parameters)
        }
        unused = f"id IN {LISTED} AND NOT EXISTS (SELECT 1 FROM clients WHERE shape = shapes.id)"
        if gone := {number for (number,) in self._database.rows(f"DELETE FROM shapes WHERE {unused} RETURNING id", listed(shapes))}:
            self._shapes = {shape: number for shape, number in self._shapes.items() if number not in gone}

    def _since_ms(self) -> int:
        """When the minutes began in which openings count."""
        return (self._minute - MINUTES + 1) * _MINUTE_MS

    def _forget_openings(self) -> bool:
        """Removes what was closed, and is no opening of the last minutes; returns whether a client's number has changed."""
        since_ms = self._since_ms()
        changed = self._database.run(f"UPDATE clients SET opened = {_OPENED} WHERE opened > 0 AND opened <> {_OPENED}", since_ms, since_ms)
        over = f"SELECT id FROM connections WHERE NOT open ORDER BY opened_ms DESC LIMIT -1 OFFSET {CLOSED_KEPT}"
        self._database.run("DELETE FROM connections WHERE NOT open AND ifnull(opened_ms, 0) < ?", since_ms)
        self._database.run(f"DELETE FROM connections WHERE id IN ({over})")
        return changed.rowcount > 0

    def _client(self, number: int, of: ConnectionRow) -> tuple[str | int | None, ...]:
        """A row of ``clients``, before anything was summed up."""
        application = application_of(of.client_id) if of.client_id else None
        searched = (of.client_id, of.principal, of.address, of.software_name, of.software_version)
        worst, found, codes, risks = self.judging.of_client(
            of.principal, of.client_id or "", of.address, application or "", of.instance_id, of.cluster
        )
        return (
            number,
            self._shape(of),
            worst,
            found,
            of.client_id or NO_CLIENT_ID,
            of.address,
            of.client_id,
            of.instance_id,
            application,
            of.key,
            codes,
            risks,
            "\n".join(text for text in searched if text).lower(),
        )

    def _shape(self, of: ConnectionRow) -> int:
        names = of.principal, of.software_name, of.software_version
        shape = (of.cluster, of.broker, of.gateway, of.listener, of.security_protocol, *names, self._owner_of(of.principal, of.client_id))
        number = self._shapes.get(shape)
        if number is None:
            library, version = library_of(of.software_name, of.software_version)
            cursor = self._database.run(
                "INSERT INTO shapes (cluster, broker, gateway, listener, protocol, principal, software, version, owner, version_order,"
                " library, library_version, library_order) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *shape,
                version_order(of.software_version),
                library,
                version,
                version and version_order(version),
            )
            assert cursor.lastrowid is not None
            number = self._shapes[shape] = cursor.lastrowid
        return number
