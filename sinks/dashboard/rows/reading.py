"""Lists: clients and connections, chosen, ordered and paged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clientscope.query import CLIENTS, Key, Query, parse, parse_sort
from clientscope.severities import SEVERITIES
from sinks.dashboard.models_clients import ConnectedClient, Connection, FindingsSummary
from sinks.dashboard.rows.schema import Database
from sinks.dashboard.rows.sql import CLIENT_SORTS, CONNECTION_SORTS, order, where
from sinks.dashboard.rows.writing import Identity, Writing

_CHUNK = 500
_FEW = 20
"""One row in so many is few."""

_CLIENT = (
    "c.id, c.key, s.cluster, s.broker, s.gateway, s.listener, s.protocol, c.address, s.principal, c.client_id, s.software, s.version,"
    " c.instance, c.application, c.connections, c.since_ms, c.since_exact, c.worst, c.found"
)
_CONNECTION = (
    "x.id, s.cluster, s.broker, s.gateway, x.epoch, x.connection, s.listener, s.protocol, c.address, s.principal, c.client_id,"
    " s.software, s.version, c.instance, x.opened_ms, x.seen_ms, c.key"
)
_CLIENTS = "clients c JOIN shapes s ON s.id = c.shape"
_CONNECTIONS = "connections x JOIN clients c ON c.id = x.client JOIN shapes s ON s.id = c.shape"

Row = tuple[Any, ...]


class Reading:
    """Asks the tables.  Rows come as tuples; `client` and `connection` make answers of them, where no lock is held."""

    def __init__(self, database: Database, writing: Writing) -> None:
        self._database = database
        self._writing = writing

    def parsed(self, q: str, now_ms: int) -> Query:
        """A query about clients.

        Raises:
            QueryError: it can't be read.
        """
        return parse(q, CLIENTS, now_ms)

    def client_count(self) -> int:
        """Clients that are there."""
        return int(self._database.row("SELECT count(*) FROM clients WHERE hidden = 0")[0])

    def clients(self, query: Query, sort: Sequence[Key], offset: int, limit: int) -> tuple[list[Row], int]:
        """Rows of a page of clients, and how many there are."""
        condition, parameters = where(query, self._writing.judging.codes())
        total = self._database.row(f"SELECT count(*) FROM clients c WHERE {condition}", *parameters)[0]
        by_index = not query.terms or total * _FEW > self.client_count()
        ids = self._client_ids(query, sort, offset, limit, by_index) if offset < total else []
        return self.client_rows(ids), total

    def all_clients(self, query: Query, sort: Sequence[Key]) -> list[int]:
        """Numbers of all that a query leaves."""
        return self._client_ids(query, sort, 0, -1)

    def client_rows(self, ids: Sequence[int]) -> list[Row]:
        """Their rows, in this order; without those that have gone."""
        return self._in_order(f"SELECT {_CLIENT} FROM {_CLIENTS} WHERE c.id IN", ids)

    def connections(self, query: Query, sort: Sequence[Key], offset: int, limit: int, key: str = "") -> tuple[list[Row], int]:
        """Rows of a page of connections, and how many there are."""
        condition, parameters = where(query, self._writing.judging.codes())
        if key:
            condition, parameters = f"{condition} AND c.key = ?", [*parameters, key]
        total = self._database.row(f"SELECT ifnull(sum(connections), 0) FROM clients c WHERE {condition}", *parameters)[0]
        by_index = not query.terms or total * _FEW > self.client_count()
        by = order(sort, CONNECTION_SORTS, ("c.label", "c.address", "c.key", "x.seen_ms", "x.connection"), by_index)
        # Not all columns at once: what is sorted is carried along.
        ids = [
            row[0]
            for row in self._database.rows(
                f"SELECT x.id FROM {_CONNECTIONS} WHERE {condition} ORDER BY {by} LIMIT ? OFFSET ?",
                *parameters,
                limit,
                offset,
            )
        ]
        return self._in_order(f"SELECT {_CONNECTION} FROM {_CONNECTIONS} WHERE x.id IN", ids), total

    def one(self, key: str) -> Row | None:
        """The row of the client of this key."""
        row: Row | None = self._database.row(f"SELECT {_CLIENT} FROM {_CLIENTS} WHERE c.hidden = 0 AND c.key = ?", key)
        return row

    def gone(self, key: str) -> ConnectedClient | None:
        """A client that has gone lately."""
        found = self._writing.gone.get(key)
        return None if found is None else _gone(key, *found)

    def _client_ids(self, query: Query, sort: Sequence[Key], offset: int, limit: int, by_index: bool = True) -> list[int]:
        condition, parameters = where(query, self._writing.judging.codes())
        by = order(sort, CLIENT_SORTS, by_index=by_index)
        tables = _CLIENTS if "s." in by else "clients c"
        rows = self._database.rows(
            f"SELECT c.id FROM {tables} WHERE {condition} ORDER BY {by} LIMIT ? OFFSET ?",
            *parameters,
            limit,
            offset,
        )
        return [row[0] for row in rows]

    def _in_order(self, select: str, ids: Sequence[int]) -> list[Row]:
        found: dict[int, Row] = {}
        for begin in range(0, len(ids), _CHUNK):
            part = ids[begin : begin + _CHUNK]
            found.update((row[0], row) for row in self._database.rows(f"{select} ({','.join('?' * len(part))})", *part))
        return [found[number] for number in ids if number in found]


def client_sort(text: str) -> tuple[Key, ...]:
    """What to sort clients by.

    Raises:
        QueryError: it can't be read.
    """
    return parse_sort(text, CLIENT_SORTS)


def connection_sort(text: str) -> tuple[Key, ...]:
    """What to sort connections by.

    Raises:
        QueryError: it can't be read.
    """
    return parse_sort(text, CONNECTION_SORTS)


def client(row: Row) -> ConnectedClient:
    """A row of `Reading.client_rows` as an answer."""
    (_, key, cluster, broker, gateway, listener, protocol, address, principal, client_id, software, version, *others) = row
    instance, application, connections, since_ms, since_exact, worst, found = others
    return ConnectedClient.model_construct(
        key=key,
        cluster=cluster,
        broker=broker,
        gateway=gateway,
        listener=listener,
        security_protocol=protocol,
        address=address,
        principal=principal,
        client_id=client_id,
        software_name=software,
        software_version=version,
        instance_id=instance,
        application=application,
        connections=connections,
        since_ms=since_ms,
        since_exact=bool(since_exact),
        findings=None if worst is None else FindingsSummary(worst=SEVERITIES[worst] if worst >= 0 else None, count=found),
    )


def connection(row: Row) -> Connection:
    """A row of `Reading.connections` as an answer."""
    (_, cluster, broker, gateway, epoch, number, listener, protocol, address, principal, client_id, *others) = row
    software, version, instance, opened_ms, seen_ms, key = others
    return Connection.model_construct(
        cluster=cluster,
        broker=broker,
        gateway=gateway,
        epoch=epoch,
        connection=number,
        listener=listener,
        security_protocol=protocol,
        address=address,
        principal=principal,
        client_id=client_id,
        software_name=software,
        software_version=version,
        instance_id=instance,
        opened_ms=opened_ms,
        seen_ms=seen_ms,
        client=key,
    )


def chunks(ids: Sequence[int], size: int = _CHUNK) -> Iterator[Sequence[int]]:
    """Parts of a long list."""
    for begin in range(0, len(ids), size):
        yield ids[begin : begin + size]


def _gone(key: str, identity: Identity, since_ms: int) -> ConnectedClient:
    return ConnectedClient(
        key=key,
        cluster=identity.cluster,
        broker=identity.broker,
        gateway=identity.gateway,
        listener=identity.listener,
        security_protocol=identity.protocol,
        address=identity.address,
        principal=identity.principal,
        client_id=identity.client_id,
        software_name=identity.software,
        software_version=identity.version,
        instance_id=identity.instance,
        application=None,
        connections=0,
        since_ms=since_ms,
        since_exact=False,
        findings=None,
    )
