"""Lists of clients and connections: filtered, ordered and paged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from clientscope.api.clients import ConnectedClient, ConnectionRow, FindingsSummary
from clientscope.query import CLIENTS, Key, Query, parse, parse_sort
from clientscope.risks import Risk
from clientscope.severities import SEVERITIES
from sinks.dashboard.rows.openings import MINUTES
from sinks.dashboard.rows.schema import GONE_MS, HERE, LISTED, LOST, Database, listed
from sinks.dashboard.rows.sql import CLIENT_SORTS, CONNECTION_SORTS, OF_SHAPES, order, where
from sinks.dashboard.rows.writing import Writing

_CHUNK = 500
_FEW = 20
"""One row in so many is few."""

CLIENT_COLUMNS = (
    "c.id, c.key, s.cluster, s.broker, s.gateway, s.listener, s.protocol, c.address, s.principal, c.client_id, s.software, s.version,"
    " c.instance, c.application, s.owner, c.connections, c.since_ms, c.since_exact,"
    f" c.worst, c.found, c.risks, {GONE_MS} AS gone_ms, c.opened, c.bytes_in, c.bytes_out, c.active_ms"
)
"""SQL of what is selected of a client, in the order of `ClientColumns`."""
CONNECTION_COLUMNS = (
    "x.id, s.cluster, s.broker, s.gateway, x.epoch, x.connection, s.listener, s.protocol, c.address, s.principal, c.client_id,"
    " s.software, s.version, c.instance, x.opened_ms, x.seen_ms, c.key, s.owner"
)
"""SQL of what is selected of a connection, in the order of `ConnectionColumns`."""
CLIENT_TABLES = "clients c JOIN shapes s ON s.id = c.shape"
CONNECTION_TABLES = "connections x JOIN clients c ON c.id = x.client JOIN shapes s ON s.id = c.shape"
"""The tables of `CONNECTION_COLUMNS`; `CLIENT_TABLES` are those of `CLIENT_COLUMNS`."""

Row = tuple[Any, ...]
"""A row as SQLite returns it: a plain tuple, since Python's garbage collector passes over plain tuples of numbers and texts."""


class ClientColumns(NamedTuple):
    """One row of `CLIENT_COLUMNS`, by name."""

    id: int
    key: str
    cluster: str
    broker: int
    gateway: str
    listener: str
    protocol: str
    address: str
    principal: str | None
    client_id: str | None
    software: str
    version: str
    instance: str | None
    application: str | None
    owner: str | None
    connections: int
    since_ms: int
    since_exact: int
    worst: int | None
    found: int
    risks: str
    gone_ms: int | None
    opened: int
    bytes_in: int | None
    bytes_out: int | None
    active_ms: int | None


class ConnectionColumns(NamedTuple):
    """One row of `CONNECTION_COLUMNS`, by name."""

    id: int
    cluster: str
    broker: int
    gateway: str
    epoch: int
    connection: int
    listener: str
    protocol: str
    address: str
    principal: str | None
    client_id: str | None
    software: str
    version: str
    instance: str | None
    opened_ms: int | None
    seen_ms: int
    key: str
    owner: str | None


class _ValueCount(NamedTuple):
    """How many clients have a value."""

    value: Any
    clients: int


class _Chosen(NamedTuple):
    """What a query leaves of clients.

    Attributes:
        few: whether it is so little that it is better put in order than found by going through an order.
    """

    condition: str
    parameters: Sequence[Any]
    clients: int
    connections: int
    few: bool


class Lists:
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
        return int(self._database.value(f"SELECT count(*) FROM clients WHERE away = {HERE}"))

    def judged_count(self) -> int:
        """Those of `client_count` whose configuration a rule could judge."""
        return int(self._database.value(f"SELECT count(worst) FROM clients WHERE away = {HERE}"))

    def clients(self, query: Query, sort: Sequence[Key], offset: int, limit: int) -> tuple[list[Row], int]:
        """Rows of a page of clients, and how many there are."""
        chosen = self._chosen(query)
        return self.client_rows(self._client_ids(chosen, sort, offset, limit)), chosen.clients

    def all_clients(self, query: Query, sort: Sequence[Key]) -> list[int]:
        """Numbers of all that a query leaves."""
        return self._client_ids(self._chosen(query), sort, 0, -1)

    def client_rows(self, ids: Sequence[int]) -> list[Row]:
        """Their rows, in this order; without those that have gone."""
        return self._in_order(f"SELECT {CLIENT_COLUMNS} FROM {CLIENT_TABLES} WHERE c.id", ids)

    def connections(self, query: Query, sort: Sequence[Key], offset: int, limit: int, key: str = "") -> tuple[list[Row], int]:
        """Rows of a page of connections, and how many there are."""
        chosen = self._chosen(query, key)
        if offset >= chosen.connections:
            return [], chosen.connections
        by = order(sort, CONNECTION_SORTS, ("c.label", "c.address", "c.key", "x.seen_ms", "x.connection"), not chosen.few)
        # Not all columns at once: what is sorted is carried along.
        ids = self._numbers(
            f"SELECT x.id FROM {CONNECTION_TABLES} WHERE {chosen.condition} ORDER BY {by}", chosen.parameters, offset, limit
        )
        return self._in_order(f"SELECT {CONNECTION_COLUMNS} FROM {CONNECTION_TABLES} WHERE x.id", ids), chosen.connections

    def one(self, key: str) -> Row | None:
        """The row of the client of this key, whether it is connected or has gone."""
        row: Row | None = self._database.row(f"SELECT {CLIENT_COLUMNS} FROM {CLIENT_TABLES} WHERE c.away <> {LOST} AND c.key = ?", key)
        return row

    def _chosen(self, query: Query, key: str = "") -> _Chosen:
        """What a query, and a client's key where there is one, leave."""
        condition, parameters = where(query, self._writing.judging.codes())
        if key:
            condition, parameters = f"{condition} AND c.key = ?", [*parameters, key]
        if not query.terms and not key:
            clients, connections = self._database.row(f"SELECT count(*), sum(connections) FROM clients c WHERE {condition}", *parameters)
            return _Chosen(condition, parameters, clients, connections or 0, few=False)
        # To look through all clients for a word takes longest, so it is done once.
        numbers, clients, connections = self._database.row(
            f"SELECT group_concat(c.id), count(*), sum(c.connections) FROM clients c WHERE {condition}", *parameters
        )
        if few := clients * _FEW <= self.client_count():
            condition, parameters = f"c.id IN {LISTED}", [f"[{numbers or ''}]"]
        return _Chosen(condition, parameters, clients, connections or 0, few)

    def _client_ids(self, chosen: _Chosen, sort: Sequence[Key], offset: int, limit: int) -> list[int]:
        if offset >= chosen.clients:
            return []
        condition, parameters = chosen.condition, chosen.parameters
        if sort and sort[0].field in OF_SHAPES and limit > 0 and not chosen.few:
            # Shapes are few: they tell among which of them the page lies, and only their clients are put in order.
            between, values, before = self._between(chosen, sort[0], offset, limit)
            condition, parameters = f"{condition} AND c.shape IN (SELECT id FROM shapes s WHERE {between})", [*parameters, *values]
            offset -= before
        by = order(sort, CLIENT_SORTS, by_index=not chosen.few)
        tables = CLIENT_TABLES if "s." in by else "clients c"
        return self._numbers(f"SELECT c.id FROM {tables} WHERE {condition} ORDER BY {by}", parameters, offset, limit)

    def _between(self, chosen: _Chosen, key: Key, offset: int, limit: int) -> tuple[str, list[Any], int]:
        """A condition on ``shapes s`` that leaves those that a page of this order is of, and how many clients come before them."""
        column = CLIENT_SORTS[key.field]
        rows = self._database.rows(
            f"SELECT {column} AS value, sum(n) FROM"
            f" (SELECT c.shape, count(*) AS n FROM clients c WHERE {chosen.condition} GROUP BY c.shape) t"
            f" JOIN shapes s ON s.id = t.shape GROUP BY {column} ORDER BY {order([key], CLIENT_SORTS, ())}",
            *chosen.parameters,
        )
        counts = [_ValueCount(*row) for row in rows]
        before = 0
        while before + counts[0].clients <= offset:
            before += counts.pop(0).clients
        (first, there), end = counts[0], counts[0].value
        for value, count in counts[1:]:
            if before + there >= offset + limit:
                break
            there, end = there + count, value
        if first is None:
            return f"{column} IS NULL", [], before
        if end is None:
            return f"({column} {'<=' if key.descending else '>='} ? OR {column} IS NULL)", [first], before
        return f"{column} BETWEEN ? AND ?", [end, first] if key.descending else [first, end], before

    def _numbers(self, select: str, parameters: Sequence[Any], offset: int, limit: int) -> list[int]:
        return [number for (number,) in self._database.rows(f"{select} LIMIT ? OFFSET ?", *parameters, limit, offset)]

    def _in_order(self, select: str, ids: Sequence[int]) -> list[Row]:
        found: dict[int, Row] = {}
        for row in self._database.rows(f"{select} IN {LISTED}", listed(ids)):
            number, *_ = row
            found[number] = row
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
    """A row of `Lists.client_rows` as an answer."""
    found = ClientColumns(*row)
    worst = found.worst
    return ConnectedClient.model_construct(
        key=found.key,
        cluster=found.cluster,
        broker=found.broker,
        gateway=found.gateway,
        listener=found.listener,
        security_protocol=found.protocol,
        address=found.address,
        principal=found.principal,
        client_id=found.client_id,
        software_name=found.software,
        software_version=found.version,
        instance_id=found.instance,
        application=found.application,
        owner=found.owner,
        connections=found.connections,
        since_ms=found.since_ms,
        since_exact=bool(found.since_exact),
        disconnected_ms=found.gone_ms,
        opened_per_minute=found.opened / MINUTES,
        bytes_in_per_second=found.bytes_in,
        bytes_out_per_second=found.bytes_out,
        active_ms=found.active_ms,
        risks=cast(list[Risk], found.risks.split()),
        findings=None if worst is None else FindingsSummary(worst=SEVERITIES[worst] if worst >= 0 else None, count=found.found),
    )


def connection(row: Row) -> ConnectionRow:
    """A row of `Lists.connections` as an answer."""
    found = ConnectionColumns(*row)
    return ConnectionRow.model_construct(
        cluster=found.cluster,
        broker=found.broker,
        gateway=found.gateway,
        epoch=found.epoch,
        connection=found.connection,
        listener=found.listener,
        security_protocol=found.protocol,
        address=found.address,
        principal=found.principal,
        client_id=found.client_id,
        software_name=found.software,
        software_version=found.version,
        instance_id=found.instance,
        opened_ms=found.opened_ms,
        seen_ms=found.seen_ms,
        client=found.key,
        owner=found.owner,
    )


def chunks(ids: Sequence[int], size: int = _CHUNK) -> Iterator[Sequence[int]]:
    """Parts of a long list."""
    for begin in range(0, len(ids), size):
        yield ids[begin : begin + size]
