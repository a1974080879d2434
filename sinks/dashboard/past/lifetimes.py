"""Connections over time of those clients that a search leaves, from the table ``connections``.

The table ``gauges`` doesn't know which client a connection was of.  So each connection is there from its first record to its closing, or to
the end of the time where it was still open, or to its last record where its gateway was killed; and a step counts those that were there at
any moment of it.
"""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.records.enums import Kind
from sinks.dashboard.past.clients import (
    IDENTITY_COLUMNS,
    OF_CLIENTS,
    RECORDED_EVERY_MS,
    identities,
    shown_identity,
)
from sinks.dashboard.past.problems import Json, too_wide
from sinks.dashboard.past.series import TOP, points, recorded_steps, step_of
from sinks.dashboard.past.tables import Span, Tables, moment, within

MOST_LIFETIMES = 1_000_000

_Counts = npt.NDArray[np.int64]


def lifetimes(tables: Tables, span: Span) -> pa.Table:
    """How many connections began and ended in which steps.

    Returns:
        A row for each identity, and each first and last step, counted from the first of `points`: the identity's columns as
        `sinks.dashboard.past.clients` shows them, ``first``, ``last`` and ``connections``.

    Raises:
        NoAnswer: see `Tables.ask`; or there are more than `MOST_LIFETIMES` rows.
    """
    step_ms = step_of(span)
    from_us, to_us, step_us = span.from_ms * 1000, span.to_ms * 1000, step_ms * 1000
    before = within(Span(max(0, span.from_ms - RECORDED_EVERY_MS), span.to_ms), "timestamp")
    still = f"gateway_epoch = last_epoch AND last >= {moment(span.to_ms - RECORDED_EVERY_MS)}"
    ended = f"CASE WHEN closed OR NOT ({still}) THEN CAST(last AS BIGINT) ELSE {to_us - 1} END"
    began = f"greatest(CAST(first AS BIGINT), {from_us})"
    begin = points(span, step_ms).start // step_ms
    sql = f"""
        SELECT {IDENTITY_COLUMNS}, first, last, count(*) AS connections FROM (
            SELECT {IDENTITY_COLUMNS}, {began} / {step_us} - {begin} AS first, {ended} / {step_us} - {begin} AS last
            FROM connections
            JOIN (
                SELECT gateway_id AS its_gateway, gateway_epoch AS its_epoch, max(sequence) AS newest, min("timestamp") AS first,
                    max("timestamp") AS last, bool_or(kind = '{Kind.CLOSED}') AS closed
                FROM connections WHERE {before} AND {OF_CLIENTS} GROUP BY gateway_id, gateway_epoch, connection_id
            ) ON gateway_id = its_gateway AND gateway_epoch = its_epoch AND sequence = newest
            JOIN (
                SELECT gateway_id AS of_gateway, max(gateway_epoch) AS last_epoch FROM connections WHERE {before} GROUP BY gateway_id
            ) ON gateway_id = of_gateway
            WHERE {before} AND {OF_CLIENTS} AND {ended} >= {from_us}
        )
        GROUP BY {IDENTITY_COLUMNS}, first, last LIMIT {MOST_LIFETIMES + 1}
    """  # noqa: S608 - numbers and times alone
    found = tables.ask("connections", sql)
    if found.num_rows > MOST_LIFETIMES:
        raise too_wide(f"there are more than {MOST_LIFETIMES:,} times of connections")
    counts = {name: found[name].cast(pa.int64()) for name in ("first", "last", "connections")}
    return pa.table({**shown_identity(found), **counts})


def series(tables: Tables, span: Span, found: pa.Table, chosen: pa.Table) -> Json:
    """Connections over time of the clients chosen, as in `clientscope.api.history.PastSeries`; a step has all that were there in it.

    Args:
        found: `lifetimes`.
        chosen: clients, as `sinks.dashboard.past.clients.clients` has them.

    Raises:
        NoAnswer: see `Tables.ask`.
    """
    step_ms = step_of(span)
    starts = points(span, step_ms)
    mine = found.filter(pc.is_in(identities(found), value_set=identities(chosen).unique()))
    first, last, connections = (mine[name].to_numpy() for name in ("first", "last", "connections"))
    versions = list(zip(mine["software"].to_pylist(), mine["version"].to_pylist(), strict=True))
    distinct = sorted(set(versions))
    places = {version: place for place, version in enumerate(distinct)}
    which = np.fromiter((places[version] for version in versions), np.int64, len(versions))
    # In all steps together; clients choose their versions, so there may be very many.
    sums = np.bincount(which, weights=(last - first + 1) * connections, minlength=len(distinct))
    top = np.argsort(-sums, kind="stable")[:TOP].tolist()
    recorded = recorded_steps(tables, span, step_ms)

    def counted(rows: npt.NDArray[np.bool_]) -> list[int | None]:
        counts = _there(first[rows], last[rows], connections[rows], len(starts))
        return [int(count) if known else None for count, known in zip(counts, recorded, strict=True)]

    return {
        "from_ms": span.from_ms,
        "to_ms": span.to_ms,
        "step_ms": step_ms,
        "points": list(starts),
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
