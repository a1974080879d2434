"""Clients that were connected in a period, from the table ``connections``, and connections over time, also from ``gauges``.

Every open connection is recorded at least each six hours (kind *present*), so every client that was connected has a row in the span, or in
the six hours before it. What a connection was before it was identified is no client: only what it was when it was closed, recorded again,
or still open at the span's end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.sensitive import shown
from clientscope.model.enums import OF_GATEWAYS, Kind
from clientscope.model.fields import clean
from clientscope.presence import FIRST_INTERVAL_MS, LOST_AFTER
from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.query import HISTORY_CLIENTS, matches, parse, parse_sort, version_order
from sinks.dashboard.past.tables import Json, Span, Tables, text, too_wide, within
from udfs.kernels.applications import application_of

MINUTE_MS = 60_000
MOST_POINTS = 500
TOP = 8

_HOUR, _DAY = 60, 1_440
_STEPS = tuple(minutes * MINUTE_MS for minutes in (1, 5, 15, 30, _HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 7 * _DAY))


@dataclass(frozen=True)
class Steps:
    """A time in steps of one length, numbered from 0.

    Attributes:
        points: when each begins; the first one may begin before the time.
    """

    step_ms: int
    points: range

    @classmethod
    def of(cls, span: Span, most: int = MOST_POINTS) -> Steps:
        """The smallest steps of which there are at most so many."""
        every = (cls(step_ms, range(span.from_ms // step_ms * step_ms, span.to_ms, step_ms)) for step_ms in _STEPS)
        return next(steps for steps in every if len(steps.points) <= most or steps.step_ms == _STEPS[-1])

    def number(self, at_us: str) -> str:
        """SQL of a step's number, by SQL of a time in it, in µs."""
        return f"{at_us} / {self.step_ms * 1000} - {self.points.start // self.step_ms}"

    def answer(self) -> Json:
        """What every answer in steps begins with."""
        return {"step_ms": self.step_ms, "points": list(self.points)}


_MINUTE = "CAST(minute AS BIGINT)"
"""In µs."""


def recorded_steps(tables: Tables, span: Span, steps: Steps) -> npt.NDArray[np.bool_]:
    """In which steps anything was recorded.

    Raises:
        NoAnswer: see `Tables.ask`.
    """
    sql = f"SELECT DISTINCT {steps.number(_MINUTE)} AS step FROM gauges WHERE {within(span, 'minute')}"  # noqa: S608 - numbers
    recorded = np.zeros(len(steps.points), np.bool_)
    recorded[tables.ask("gauges", sql)["step"].to_numpy().astype(np.int64)] = True
    return recorded


def series(tables: Tables, span: Span) -> Json:
    """Connections over time, as in `clientscope.api.history.PastSeries`.

    Raises:
        NoAnswer: see `Tables.ask`.
    """
    steps = Steps.of(span)
    where = within(span, "minute")
    top = tables.ask(
        "gauges",
        f"SELECT software_name, software_version FROM gauges WHERE {where} GROUP BY software_name, software_version "  # noqa: S608 - numbers
        f"ORDER BY sum(connections) DESC, software_name, software_version LIMIT {TOP}",
    )
    versions = list(zip(top["software_name"].to_pylist(), top["software_version"].to_pylist(), strict=True))
    of_versions = [
        f"coalesce(sum(connections) FILTER (WHERE software_name = {text(name)} AND software_version = {text(version)}), 0)"
        for name, version in versions
    ]
    columns = [f"v{number}" for number in range(len(versions))]
    at_once = "".join(f", {one} AS {column}" for one, column in zip(of_versions, columns, strict=True))
    greatest = "".join(f", max({column}) AS {column}" for column in columns)
    rest = " - ".join(["total", *columns])
    step = f"{steps.number(_MINUTE)} AS step"
    sql = (
        f"SELECT step, max(total) AS total, max({rest}) AS other{greatest} FROM "  # noqa: S608 - quoted above
        f"(SELECT {step}, minute, sum(connections) AS total{at_once} FROM gauges WHERE {where} GROUP BY minute) GROUP BY step"
    )
    found = tables.ask("gauges", sql)

    def filled(column: str) -> list[int | None]:
        values = dict(zip(found["step"].to_pylist(), found[column].to_pylist(), strict=True))
        return [values.get(number) for number in range(len(steps.points))]

    return {
        **steps.answer(),
        "connections": filled("total"),
        "versions": [
            {
                "software_name": clean(shown(name, "software_name")),
                "software_version": clean(shown(version, "software_version")),
                "connections": filled(column),
            }
            for (name, version), column in zip(versions, columns, strict=True)
        ],
        "other": filled("other"),
    }


MOST_CLIENTS = 500_000

RECORDED_EVERY_MS = 6 * 3_600_000 + 600_000
"""A gateway's six hours (`gateway.registry`), and some minutes for its heartbeat and the topic."""

SORTS = (
    "client_id",
    "application",
    "owner",
    "principal",
    "address",
    "software",
    "version",
    "cluster",
    "first_seen",
    "last_seen",
    "connections",
    "open",
)
FIRST = "-last_seen,client_id"
"""The default order."""

SHOWN_AS = {
    "client_id": "client_id",
    "principal": "principal",
    "address": "address",
    "software_name": "software",
    "software_version": "version",
    "cluster": "cluster",
}
"""Columns that connections of one client share, and what the search grammar calls them."""

IDENTITY_COLUMNS = ", ".join(f'"{column}"' for column in SHOWN_AS)  # a comma before `cluster` would end the list
_NONE, _BETWEEN = "\x00", "\x1f"
"""Neither is in what may be shown."""

AT = 'CAST("timestamp" AS BIGINT)'
"""In µs."""
OF_CLIENTS = f"kind NOT IN ({', '.join(text(kind) for kind in sorted(OF_GATEWAYS))})"


def clients(tables: Tables, span: Span, owners: Owners = NO_OWNERS) -> tuple[pa.Table, int | None]:
    """All of them, with the columns of `clientscope.api.history.PastClientRow`.

    Returns:
        With them until when history has all connections of the span; None for nothing of it.

    Raises:
        NoAnswer: see `Tables.ask`; or there are more than `MOST_CLIENTS`.
    """
    later, newest_ms = tables.written("connections", span)
    known_ms = span.to_ms if later and newest_ms is not None else newest_ms
    to_us = 1000 * span.to_ms
    at_first, at_last = (_not_closed(tables, each, known_ms or span.from_ms) for each in (Span(span.from_ms, span.from_ms), span))
    # By broker first: a set of brokers for each client would take more memory than all else.
    sql = f"""
        SELECT {IDENTITY_COLUMNS}, min(first) AS first, max(last) AS last, sum(ended) AS ended, sum(open) AS open,
            string_agg(CAST(broker AS VARCHAR), ',') AS brokers
        FROM (
            SELECT {IDENTITY_COLUMNS}, broker, min(first) AS first, max(last) AS last, sum(ended) AS ended, sum(open) AS open,
                sum(settled) AS settled
            FROM (
                SELECT {IDENTITY_COLUMNS}, broker, {AT} AS first, {AT} AS last, CAST(kind = '{Kind.CLOSED}' AS INT) AS ended, 0 AS open,
                    CAST(kind IN ('{Kind.CLOSED}', '{Kind.PRESENT}') AS INT) AS settled
                FROM connections WHERE {within(span, "timestamp")} AND {OF_CLIENTS}
                UNION ALL
                SELECT {IDENTITY_COLUMNS}, broker, until AS first, until AS last, 0, 0, 1 FROM ({at_first})
                UNION ALL
                SELECT {IDENTITY_COLUMNS}, broker, until AS first, until AS last,
                    CAST(until < {to_us} AS INT), CAST(until = {to_us} AS INT), 1
                FROM ({at_last})
            )
            GROUP BY {IDENTITY_COLUMNS}, broker
        )
        GROUP BY {IDENTITY_COLUMNS} HAVING sum(settled) > 0 LIMIT {MOST_CLIENTS + 1}
    """  # noqa: S608 - numbers and times alone
    found = tables.ask("connections", sql)
    if found.num_rows > MOST_CLIENTS:
        raise too_wide(f"more than {MOST_CLIENTS:,} clients were seen")
    return _shown(found, owners), known_ms


MOST_PROCESSES = 20_000

_Process = tuple[str, int, str, int, int]
"""Of a gateway: cluster, broker, gateway, epoch, and until when it was there, in µs."""


def _processes(tables: Tables, span: Span, known_ms: int) -> list[_Process]:
    """The processes of gateways that were there in a span, until its end at most, as `clientscope.presence` has it: until their goodbye,
    until so many heartbeats were missing, or until the next process's first record.

    Args:
        known_ms: until when history has everything: a heartbeat that may yet be written isn't missing.

    Raises:
        NoAnswer: see `Tables.ask`; or there are more than `MOST_PROCESSES`.
    """
    sql = f"""
        SELECT * FROM (
            SELECT cluster, broker, gateway, epoch,
                least(
                    {1000 * span.to_ms},
                    CASE WHEN lost <= {1000 * known_ms} THEN lost END,
                    lead(first) OVER (PARTITION BY cluster, broker, gateway ORDER BY epoch)
                ) AS until
            FROM (
                SELECT cluster, broker, gateway, epoch, min({AT}) AS first,
                    coalesce(
                        last_value({AT} + {1000 * LOST_AFTER} * heartbeat_interval_ms ORDER BY sequence)
                            FILTER (WHERE kind = '{Kind.HEARTBEAT}'),
                        min({AT}) + {1000 * LOST_AFTER * FIRST_INTERVAL_MS}
                    ) AS lost
                FROM connections WHERE {_recorded(span.from_ms, span.to_ms)} GROUP BY cluster, broker, gateway, epoch
            )
        )
        WHERE until >= {1000 * span.from_ms} LIMIT {MOST_PROCESSES + 1}
    """  # noqa: S608 - numbers and times alone
    found = [cast(_Process, (*row.values(),)) for row in tables.ask("connections", sql).to_pylist()]
    if len(found) > MOST_PROCESSES:
        raise too_wide(f"there were more than {MOST_PROCESSES:,} processes of gateways")
    return found


def _records_of(processes: list[_Process], columns: str, condition: str) -> str:
    """A SELECT of clients' records at these processes. Its columns may be also ``process``, a number, and ``until``, when that ended."""
    nobodys: _Process = ("", 0, "", 0, 0)  # SQL has no table without rows; no cluster is called so
    rows = (
        f"({number}, {text(cluster)}, {broker}, {text(gateway)}, {epoch}, {until})"
        for number, (cluster, broker, gateway, epoch, until) in enumerate(processes or [nobodys])
    )
    return f"""
        SELECT {columns} FROM connections
        JOIN (VALUES {", ".join(rows)}) AS processes (process, its_cluster, its_broker, its_gateway, its_epoch, until)
            ON cluster = its_cluster AND broker = its_broker AND gateway = its_gateway AND epoch = its_epoch
        WHERE {condition} AND {OF_CLIENTS}
    """  # noqa: S608 - quoted above, numbers and times


def _recorded(from_ms: int, to_ms: int) -> str:
    """The condition that a record may be of a connection that was open in a span."""
    return within(Span(max(0, from_ms - RECORDED_EVERY_MS), to_ms), "timestamp")


def _not_closed(tables: Tables, span: Span, known_ms: int) -> str:
    """A row for each connection that was open in a span, and when the span or its gateway's process ended: whose it was ``until`` then."""
    processes = _processes(tables, span, known_ms)
    first_ms = min((until for *_, until in processes), default=1000 * span.to_ms) // 1000
    recorded = _recorded(first_ms, span.to_ms)
    lately = f"{recorded} AND {AT} >= until - {1000 * RECORDED_EVERY_MS} AND kind <> '{Kind.CLOSED}'"
    # What is on the left of a join is held in memory: numbers there, and clients' names on the right.
    newest = f"{_records_of(processes, 'process AS in_process, max(sequence) AS newest', recorded)} GROUP BY process, connection"
    return f"""
        SELECT * FROM ({newest})
        RIGHT SEMI JOIN ({_records_of(processes, f"{IDENTITY_COLUMNS}, broker, until, process, sequence", lately)})
            ON process = in_process AND sequence = newest
    """  # noqa: S608 - quoted above, numbers and times


def page(found: pa.Table, q: str, sort: str, offset: int, limit: int, now_ms: int) -> Json:
    """The clients that a query leaves, in an order: a part of the list, and its length.

    Texts are compared without regard to the case of ASCII letters, and what is unknown comes last.

    Raises:
        QueryError: ``q`` or ``sort`` can't be read.
    """
    keys = parse_sort(sort or FIRST, SORTS)
    left = chosen(found, q, now_ms)
    by = pa.table({key.field: _sorted_by(left, key.field) for key in keys})
    order = [(key.field, "descending" if key.descending else "ascending", "at_end") for key in keys]
    rows = left.take(pc.sort_indices(by, sort_keys=order).slice(offset, limit))
    return {"total": left.num_rows, "items": rows.rename_columns([_NAMED.get(name, name) for name in rows.column_names]).to_pylist()}


def chosen(found: pa.Table, q: str, now_ms: int) -> pa.Table:
    """The clients that a query leaves.

    Raises:
        QueryError: ``q`` can't be read.
    """
    query = parse(q, HISTORY_CLIENTS, now_ms)
    if not query.terms:
        return found
    # In parts: all rows as Python's values would take many times the table's memory.
    rows = (row for part in found.to_batches(max_chunksize=10_000) for row in part.to_pylist())
    holds = [matches(query, HISTORY_CLIENTS, row, _words(row)) for row in rows]
    return found.filter(pa.array(holds, pa.bool_()))


def _words(row: dict[str, Any]) -> str:
    return "\n".join(row[name] or "" for name in SHOWN_AS.values()).lower()


def _sorted_by(found: pa.Table, field: str) -> pa.Array:
    column = found[field].combine_chunks()
    if field == "version":
        return each(column, version_order)
    return pc.ascii_lower(column) if pa.types.is_string(column.type) else column


def each(column: pa.ChunkedArray | pa.Array, of: Callable[[str], str | None]) -> pa.Array:
    """A column of texts made from another, of which few are distinct; null stays null."""
    made = lru_cache(maxsize=None)(of)
    return pa.array((None if value is None else made(value) for value in column.to_pylist()), pa.string())


def identities(table: pa.Table) -> pa.ChunkedArray:
    """What `shown_identity` has, as one text for each row, so that clients of two tables can be compared."""
    columns = [pc.fill_null(table[name], _NONE) for name in SHOWN_AS.values()]
    return pc.binary_join_element_wise(*columns, _BETWEEN)


_NAMED = {
    "broker": "brokers",
    "software": "software_name",
    "version": "software_version",
    "first_seen": "first_seen_ms",
    "last_seen": "last_seen_ms",
}


def shown_identity(found: pa.Table) -> dict[str, pa.Array]:
    """The columns of an identity under the search grammar's names, as `_shown` shows them."""
    return {name: each(found[column], partial(_name, column)) for column, name in SHOWN_AS.items()}


def _shown(found: pa.Table, owners: Owners) -> pa.Table:
    """Under the search grammar's names, and as it may be shown: gateways redact and bound names, but others may write such records."""
    identity = shown_identity(found)
    still = found["open"].to_numpy()
    return pa.table(
        {
            "client_id": identity["client_id"],
            "application": each(identity["client_id"], application_of),
            "broker": pa.array(map(_in_order, found["brokers"].to_pylist()), pa.list_(pa.int64())),
            "owner": _owners(owners, identity["principal"], identity["client_id"]),
            **{name: identity[name] for name in ("principal", "address", "software", "version", "cluster")},
            "first_seen": pc.divide(found["first"], 1000),
            "last_seen": pc.divide(found["last"], 1000),
            # Of a connection that was identified as another one since, nothing was the last; there was one at least.
            "connections": pa.array((found["ended"].to_numpy() + still).clip(1), pa.int64()),
            "open": pa.array(still, pa.int64()),
        }
    )


def _owners(owners: Owners, principals: pa.Array, client_ids: pa.Array) -> pa.Array:
    """The teams that they belong to, as on the live page."""
    team_of = lru_cache(maxsize=None)(owners.team_of)
    return pa.array(map(team_of, principals.to_pylist(), client_ids.to_pylist()), pa.string())


def _in_order(brokers: str) -> list[int]:
    """Each broker once."""
    return sorted(set(map(int, brokers.split(","))))


def _name(field: str, said: str) -> str:
    return clean(shown(said, field))


MOST_LIFETIMES = 1_000_000

_Counts = npt.NDArray[np.int64]


def lifetimes(tables: Tables, span: Span, known_ms: int | None) -> pa.Table:
    """How many connections began and ended in which steps.

    Args:
        known_ms: until when history has all of them, as `clients` says.

    Returns:
        A row for each identity, and each first and last step by number: the identity's columns as `shown_identity` has them,
        ``first``, ``last`` and ``connections``.

    Raises:
        NoAnswer: see `Tables.ask`; or there are more than `MOST_LIFETIMES` rows.
    """
    steps, from_us = Steps.of(span), 1000 * span.from_ms
    processes = _processes(tables, span, known_ms or span.from_ms)
    recorded = _recorded(span.from_ms, span.to_ms)
    ended = f"CASE WHEN is_closed OR last < until - {1000 * RECORDED_EVERY_MS} THEN last ELSE greatest(last, until - 1) END"
    summed = f"max(sequence) AS newest, min({AT}) AS first, max({AT}) AS last, bool_or(kind = '{Kind.CLOSED}') AS is_closed"
    each = f"{_records_of(processes, f'process AS in_process, {summed}', recorded)} GROUP BY process, connection"
    sql = f"""
        SELECT {IDENTITY_COLUMNS}, first, last, count(*) AS connections FROM (
            SELECT {IDENTITY_COLUMNS}, {steps.number(f"greatest(first, {from_us})")} AS first, {steps.number(ended)} AS last
            FROM ({each}) JOIN ({_records_of(processes, f"{IDENTITY_COLUMNS}, until, process, sequence", recorded)})
                ON process = in_process AND sequence = newest
            WHERE {ended} >= {from_us}
        )
        GROUP BY {IDENTITY_COLUMNS}, first, last LIMIT {MOST_LIFETIMES + 1}
    """  # noqa: S608 - numbers and times alone
    found = tables.ask("connections", sql)
    if found.num_rows > MOST_LIFETIMES:
        raise too_wide(f"there are more than {MOST_LIFETIMES:,} times of connections")
    counts = {name: found[name].cast(pa.int64()) for name in ("first", "last", "connections")}
    return pa.table({**shown_identity(found), **counts})


def chosen_series(tables: Tables, span: Span, found: pa.Table, chosen: pa.Table) -> Json:
    """Connections over time of the clients chosen, as in `clientscope.api.history.PastSeries`; a step has all that were there in it.

    Args:
        found: `lifetimes`.
        chosen: some of `clients`.

    Raises:
        NoAnswer: see `Tables.ask`.
    """
    steps = Steps.of(span)
    mine = found.filter(pc.is_in(identities(found), value_set=identities(chosen).unique()))
    first, last, connections = (mine[name].to_numpy() for name in ("first", "last", "connections"))
    versions = list(zip(mine["software"].to_pylist(), mine["version"].to_pylist(), strict=True))
    distinct = sorted(set(versions))
    places = {version: place for place, version in enumerate(distinct)}
    which = np.fromiter((places[version] for version in versions), np.int64, len(versions))
    # In all steps together; clients choose their versions, so there may be very many.
    sums = np.bincount(which, weights=(last - first + 1) * connections, minlength=len(distinct))
    top = np.argsort(-sums, kind="stable")[:TOP].tolist()
    recorded = recorded_steps(tables, span, steps)

    def counted(rows: npt.NDArray[np.bool_]) -> list[int | None]:
        counts = _there(first[rows], last[rows], connections[rows], len(steps.points))
        return [int(count) if known else None for count, known in zip(counts, recorded, strict=True)]

    return {
        **steps.answer(),
        "connections": counted(np.ones(len(which), np.bool_)),
        "versions": [
            {"software_name": distinct[place][0], "software_version": distinct[place][1], "connections": counted(which == place)}
            for place in top
        ],
        "other": counted(~np.isin(which, top)),
    }


def _there(first: _Counts, last: _Counts, connections: _Counts, steps: int) -> _Counts:
    """By step, how many were there."""
    change = np.zeros(steps + 1, np.int64)
    np.add.at(change, first, connections)
    np.add.at(change, last + 1, -connections)
    return cast(_Counts, change.cumsum()[:steps])
