"""Lists of clients and connections: filtered, ordered, paged; grouped, and counted by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clientscope.api.clients import ClientGroup, ClientRow, ConnectionRow, Facet, FacetValue, FindingsSummary, GroupBy, GroupFindings
from clientscope.query import Key, Query, term_text
from clientscope.query.terms import NONE, NOT_JUDGED, fold
from clientscope.risks import RISKS
from clientscope.severities import SEVERITIES
from sinks.dashboard.rows.sql import (
    CLIENT_SORTS,
    CONNECTION_SORTS,
    GONE_MS,
    HERE,
    LISTED,
    LOST,
    MINUTES,
    OF_SHAPES,
    Database,
    Sql,
    listed,
    order,
    where,
)
from sinks.dashboard.rows.writing import Writing

_CHUNK = 500
_NAMES = {
    "key": "c.key", "cluster": "s.cluster", "broker": "s.broker", "gateway": "s.gateway", "listener": "s.listener",
    "security_protocol": "s.protocol", "address": "c.address", "principal": "s.principal", "client_id": "c.client_id",
    "instance_id": "c.instance", "software_name": "s.software", "software_version": "s.version", "owner": "s.owner",
}  # fmt: skip
_CLIENT = {
    **_NAMES, "application": "c.application", "connections": "c.connections", "since_ms": "c.since_ms", "disconnected_ms": GONE_MS,
    "bytes_in_per_second": "c.bytes_in", "bytes_out_per_second": "c.bytes_out", "active_ms": "c.active_ms",
}  # fmt: skip
_CONNECTION = {**_NAMES, "epoch": "x.epoch", "connection": "x.connection", "opened_ms": "x.opened_ms", "seen_ms": "x.seen_ms"}
"""Fields of the API, each with the SQL that selects it."""
CLIENT_COLUMNS = ", ".join(("c.id", *_CLIENT.values(), "c.since_exact, c.opened, c.risks, c.worst, c.found"))
"""SQL of what is selected of a client: its number, then what `client` makes an answer of."""
CONNECTION_COLUMNS = ", ".join(("x.id", *_CONNECTION.values()))
"""The same of a connection."""
CLIENT_TABLES = "clients c JOIN shapes s ON s.id = c.shape"
CONNECTION_TABLES = "connections x JOIN clients c ON c.id = x.client AND x.open JOIN shapes s ON s.id = c.shape"
"""The tables of `CONNECTION_COLUMNS`; `CLIENT_TABLES` are those of `CLIENT_COLUMNS`."""

Row = tuple[Any, ...]
"""A row as SQLite returns it: a plain tuple, since Python's garbage collector passes over plain tuples of numbers and texts."""


class Lists:
    """Asks the tables.  Rows come as tuples; `client` and `connection` make answers of them, where no lock is held."""

    def __init__(self, database: Database, writing: Writing) -> None:
        self._database = database
        self._writing = writing

    def counts(self) -> tuple[int, int]:
        """Clients that are there, and those of them whose configuration a rule could judge."""
        clients, judged = self._database.row(f"SELECT count(*), count(worst) FROM clients WHERE away = {HERE}")
        return clients, judged

    def clients(self, query: Query, sort: Sequence[Key], offset: int, limit: int) -> tuple[list[Row], int]:
        """Rows of a page of clients, and how many there are."""
        condition, parameters = self._where(query)
        total = self._database.value(f"SELECT count(*) FROM clients c WHERE {condition}", *parameters)
        return self.client_rows(self.client_ids(query, sort, offset, limit)), total

    def client_ids(self, query: Query, sort: Sequence[Key], offset: int = 0, limit: int = -1) -> list[int]:
        """Numbers of a page of clients, or of all that a query leaves."""
        condition, parameters = self._where(query)
        by = order(sort, CLIENT_SORTS)
        tables = CLIENT_TABLES if "s." in by else "clients c"
        return self._numbers(f"SELECT c.id FROM {tables} WHERE {condition} ORDER BY {by}", parameters, offset, limit)

    def client_rows(self, ids: Sequence[int]) -> list[Row]:
        """Their rows, in this order; without those that have gone."""
        return self._in_order(f"SELECT {CLIENT_COLUMNS} FROM {CLIENT_TABLES} WHERE c.id", ids)

    def connections(self, query: Query, sort: Sequence[Key], offset: int, limit: int, key: str = "") -> tuple[list[Row], int]:
        """Rows of a page of connections, and how many there are."""
        condition, parameters = self._where(query, key)
        total = self._database.value(f"SELECT sum(c.connections) FROM clients c WHERE {condition}", *parameters) or 0
        by = order(sort, CONNECTION_SORTS, ("c.label", "c.address", "c.key", "x.seen_ms", "x.connection"))
        # Not all columns at once: what is sorted is carried along.
        ids = self._numbers(f"SELECT x.id FROM {CONNECTION_TABLES} WHERE {condition} ORDER BY {by}", parameters, offset, limit)
        return self._in_order(f"SELECT {CONNECTION_COLUMNS} FROM {CONNECTION_TABLES} WHERE x.id", ids), total

    def one(self, key: str) -> Row | None:
        """The row of the client of this key, whether it is connected or has gone."""
        row: Row | None = self._database.row(f"SELECT {CLIENT_COLUMNS} FROM {CLIENT_TABLES} WHERE c.away <> {LOST} AND c.key = ?", key)
        return row

    def groups(self, query: Query, group: GroupBy, sort: Sequence[Key], offset: int, limit: int) -> tuple[list[ClientGroup], int]:
        """A page of groups, most connections first unless ``sort`` says otherwise, and how many there are."""
        condition, parameters = self._where(query)
        columns = _GROUPED_BY[group]
        # As a query compares: without regard to case, and nothing is the same as an empty text.
        shown = ", ".join(column if column in _AS_THEY_ARE else f"min({column}) AS {column}" for column in columns)
        by = ", ".join(column if column in _AS_THEY_ARE else f"ifnull({column}, '') COLLATE NOCASE" for column in columns)
        grouped = f"SELECT {shown}, {SUM_COLUMNS} FROM {CLIENT_TABLES} WHERE {condition} GROUP BY {by}"
        order = ", ".join([*(_ordered(key, columns) for key in sort), "connections DESC", *(f"{column} NULLS LAST" for column in columns)])
        made = f"WITH made AS MATERIALIZED ({grouped}) SELECT (SELECT count(*) FROM made)"  # once for the page and for how many there are
        rows = self._database.rows(f"{made}, * FROM made ORDER BY {order} LIMIT ? OFFSET ?", *parameters, limit, offset)
        total = next((count for count, *_ in rows), None)
        found = [_group(columns, *named) for _, *named in rows]
        return found, self._database.value(made, *parameters) if total is None else total

    def facets(self, query: Query, limit: int) -> tuple[list[Facet], int]:
        """The most frequent values of each field among the clients that a query leaves, and how many these are."""
        condition, parameters = self._where(query)
        rows = self._database.rows(
            f"SELECT {', '.join(f's.{field}' for field in OF_SHAPES)}, t.risks, t.worst, t.n FROM"
            f" (SELECT c.shape, c.risks, c.worst, count(*) AS n FROM clients c WHERE {condition} GROUP BY c.shape, c.risks, c.worst) t"
            " JOIN shapes s ON s.id = t.shape",
            *parameters,
        )
        *columns, risks, worsts, counts = zip(*rows, strict=True) if rows else [()] * (len(OF_SHAPES) + 3)
        found = [_facet(field, _counted(column, counts), limit) for field, column in zip(OF_SHAPES, columns, strict=True)]
        at_risk = Counter(dict.fromkeys(RISKS, 0))
        for of, count in zip(risks, counts, strict=True):
            at_risk.update(dict.fromkeys(of.split(), count))
        values = [FacetValue(value=risk, clients=count, q=f"risk:{risk}") for risk, count in at_risk.items() if count]
        found.append(Facet(field="risk", values=values, others=0, other_values=0))
        worst = _counted(worsts, counts)
        by_severity = sorted(worst.items(), key=lambda item: -2 if item[0] is None else item[0], reverse=True)
        values = [FacetValue(value=_severity(place), clients=count, q=f"finding:{_severity(place)}") for place, count in by_severity]
        found.append(Facet(field="finding", values=values, others=0, other_values=0))
        return found, sum(counts)

    def _where(self, query: Query, key: str = "") -> Sql:
        """What a query, and a client's key where there is one, leave."""
        condition, parameters = where(query, self._writing.judging.codes())
        return (f"{condition} AND c.key = ?", [*parameters, key]) if key else (condition, parameters)

    def _numbers(self, select: str, parameters: Sequence[Any], offset: int, limit: int) -> list[int]:
        return [number for (number,) in self._database.rows(f"{select} LIMIT ? OFFSET ?", *parameters, limit, offset)]

    def _in_order(self, select: str, ids: Sequence[int]) -> list[Row]:
        found: dict[int, Row] = {}
        for row in self._database.rows(f"{select} IN {LISTED}", listed(ids)):
            number, *_ = row
            found[number] = row
        return [found[number] for number in ids if number in found]


def client(row: Row) -> ClientRow:
    """A row of `Lists.client_rows` as an answer."""
    _, *said, since_exact, opened, risks, worst, found = row
    return ClientRow(
        **dict(zip(_CLIENT, said, strict=True)),
        since_exact=bool(since_exact),
        opened_per_minute=opened / MINUTES,
        risks=tuple(risks.split()),
        findings=None if worst is None else FindingsSummary(worst=SEVERITIES[worst] if worst >= 0 else None, count=found),
    )


def connection(row: Row) -> ConnectionRow:
    """A row of `Lists.connections` as an answer."""
    _, *said = row
    return ConnectionRow(**dict(zip(_CONNECTION, said, strict=True)))


def chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Parts of a long list."""
    for begin in range(0, len(ids), _CHUNK):
        yield ids[begin : begin + _CHUNK]


_GROUPED_BY: dict[GroupBy, tuple[str, ...]] = {
    "application": ("application",),
    "owner": ("owner",),
    "principal": ("principal",),
    "software": ("software", "version"),
    "address": ("address",),
    "broker": ("cluster", "broker"),
}
_AS_THEY_ARE = frozenset({"address", "broker"})
"""Never empty, and written in one way."""
GROUP_SORTS = {"label": "", "clients": "clients", "connections": "connections", "finding": "worst"}
"""What groups can be sorted by, each with its column."""
SUM_COLUMNS = (
    "count(*) AS clients, sum(connections) AS connections, count(*) - count(worst) AS unjudged, max(worst) AS worst, sum(worst >= 0) AS bad"
)
"""SQL of what is selected of a group, after what its clients share."""


def _ordered(key: Key, columns: Sequence[str]) -> str:
    direction = "DESC" if key.descending else "ASC"
    names = columns if key.field == "label" else (GROUP_SORTS[key.field],)
    return ", ".join(f"{name} {direction} NULLS LAST" for name in names)


def _group(columns: Sequence[str], *selected: Any) -> ClientGroup:
    *values, clients, connections, unjudged, worst, bad = selected
    named = [str(value) for value in values if value not in (None, "")]
    found = GroupFindings(worst=SEVERITIES[worst] if worst is not None and worst >= 0 else None, clients=bad or 0)
    return ClientGroup(
        label=" ".join(named) if named else None,
        q=" ".join(term_text(column, value) for column, value in zip(columns, values, strict=True)),
        clients=clients,
        connections=connections,
        not_judged=unjudged,
        findings=None if unjudged == clients else found,
    )


def _counted(values: Sequence[Any], counts: Sequence[int]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for value, count in zip(values, counts, strict=True):
        found[value] = found.get(value, 0) + count
    return found


def _facet(field: str, counts: Mapping[str | int | None, int], limit: int) -> Facet:
    """As a query compares: without regard to case, and nothing is the same as an empty text."""
    alike: dict[str, tuple[str, int]] = {}
    for value, count in counts.items():
        text = "" if value is None else str(value)
        label, before = alike.get(fold(text), (text, 0))
        alike[fold(text)] = min(label, text), before + count
    most = sorted(alike.values(), key=lambda item: (-item[1], item[0]))
    shown, rest = most[:limit], most[limit:]
    values = [FacetValue(value=text or None, clients=count, q=term_text(field, text)) for text, count in shown]
    return Facet(field=field, values=values, others=sum(count for _, count in rest), other_values=len(rest))


def _severity(place: int | None) -> str:
    if place is None:
        return NOT_JUDGED
    return NONE if place < 0 else SEVERITIES[place]
