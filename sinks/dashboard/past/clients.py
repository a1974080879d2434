"""Clients that were connected in a period, from the table ``connections``.

Every open connection is recorded at least each six hours (kind *present*), so every client that was connected has a row in the span, or in
the six hours before it. What a connection was before it was identified is no client: only what it was when it was closed, recorded again,
or still open at the span's end.
"""

from __future__ import annotations

from functools import lru_cache, partial

import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.sensitive import shown
from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.query import HISTORY_CLIENTS, parse, parse_sort
from clientscope.records.enums import OF_GATEWAYS, Kind
from clientscope.topic_values import clean
from sinks.dashboard.past.choosing import Choosing, each
from sinks.dashboard.past.problems import Json, too_wide
from sinks.dashboard.past.tables import Span, Tables, moment, text, within
from udfs.kernels.applications import application_of

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
    "first_seen",
    "last_seen",
    "connections",
    "open",
)
BROKERS_BETWEEN = " "
FIRST = "-last_seen,client_id"
"""The default order."""

SHOWN_AS = {
    "client_id": "client_id",
    "principal": "principal",
    "client_address": "address",
    "client_software_name": "software",
    "client_software_version": "version",
}
"""Columns that connections of one client share, and what the search grammar calls them."""

IDENTITY_COLUMNS = ", ".join(SHOWN_AS)
_NONE, _BETWEEN = "\x00", "\x1f"
"""Neither is in what may be shown."""

_BROKERS = "string_agg(DISTINCT CAST(broker_id AS VARCHAR), ',') AS brokers"
OF_CLIENTS = f"kind NOT IN ({', '.join(text(kind) for kind in sorted(OF_GATEWAYS))})"


def clients(tables: Tables, span: Span, owners: Owners = NO_OWNERS) -> pa.Table:
    """All of them, with the columns of `clientscope.api.history.PastClient`.

    Raises:
        NoAnswer: see `Tables.ask`; or there are more than `MOST_CLIENTS`.
    """
    sql = f"""
        SELECT {IDENTITY_COLUMNS}, min(first) AS first, max(last) AS last, sum(closed) AS closed, sum(open) AS open,
            string_agg(brokers, ',') AS brokers
        FROM (
            SELECT {IDENTITY_COLUMNS}, min("timestamp") AS first, max("timestamp") AS last,
                count(*) FILTER (WHERE kind = '{Kind.CLOSED}') AS closed, 0 AS open,
                count(*) FILTER (WHERE kind IN ('{Kind.CLOSED}', '{Kind.PRESENT}')) AS settled, {_BROKERS}
            FROM connections WHERE {within(span, "timestamp")} AND {OF_CLIENTS} GROUP BY {IDENTITY_COLUMNS}
            UNION ALL
            SELECT {IDENTITY_COLUMNS}, {moment(span.from_ms)}, {moment(span.from_ms)}, 0, 0, 1, {_BROKERS}
            FROM ({_open_at(span.from_ms)}) GROUP BY {IDENTITY_COLUMNS}
            UNION ALL
            SELECT {IDENTITY_COLUMNS}, {moment(span.to_ms)}, {moment(span.to_ms)}, 0, count(*), 1, {_BROKERS}
            FROM ({_open_at(span.to_ms)}) GROUP BY {IDENTITY_COLUMNS}
        )
        GROUP BY {IDENTITY_COLUMNS} HAVING sum(settled) > 0 LIMIT {MOST_CLIENTS + 1}
    """  # noqa: S608 - numbers and times alone
    found = tables.ask("connections", sql)
    if found.num_rows > MOST_CLIENTS:
        raise too_wide(f"more than {MOST_CLIENTS:,} clients were seen")
    return _shown(found, owners)


def _open_at(at_ms: int) -> str:
    """A row for each connection that was open then; those of a gateway's earlier epochs ended with it."""
    before = within(Span(at_ms - RECORDED_EVERY_MS, at_ms), "timestamp")
    return f"""
        SELECT {IDENTITY_COLUMNS}, broker_id FROM connections
        LEFT SEMI JOIN (
            SELECT gateway_id AS its_gateway, gateway_epoch AS its_epoch, max(sequence) AS newest FROM connections
            WHERE {before} AND {OF_CLIENTS} GROUP BY gateway_id, gateway_epoch, connection_id
        ) ON gateway_id = its_gateway AND gateway_epoch = its_epoch AND sequence = newest
        LEFT SEMI JOIN (
            SELECT gateway_id AS of_gateway, max(gateway_epoch) AS last_epoch FROM connections WHERE {before} GROUP BY gateway_id
        ) ON gateway_id = of_gateway AND gateway_epoch = last_epoch
        WHERE {before} AND {OF_CLIENTS} AND kind <> '{Kind.CLOSED}'
    """  # noqa: S608 - numbers and times alone


def page(found: pa.Table, q: str, sort: str, offset: int, limit: int, now_ms: int) -> Json:
    """The clients that a query leaves, in an order: a part of the list, and its length.

    Raises:
        QueryError: ``q`` or ``sort`` can't be read.
    """
    choosing = _choosing(found)
    chosen = choosing.sorted(choosing.chosen(parse(q, HISTORY_CLIENTS, now_ms)), parse_sort(sort or FIRST, SORTS))
    rows = found.take(chosen.slice(offset, limit)).rename_columns([_NAMED.get(name, name) for name in found.column_names])
    items = [{**item, "brokers": [*_numbers(item["brokers"])]} for item in rows.to_pylist()]
    return {"total": len(chosen), "items": items}


def chosen(found: pa.Table, q: str, now_ms: int) -> pa.Table:
    """The clients that a query leaves.

    Raises:
        QueryError: ``q`` can't be read.
    """
    return found.filter(pa.array(_choosing(found).chosen(parse(q, HISTORY_CLIENTS, now_ms))))


def identities(table: pa.Table) -> pa.ChunkedArray:
    """What `shown_identity` has, as one text for each row, so that clients of two tables can be compared."""
    columns = [pc.fill_null(table[name], _NONE) for name in SHOWN_AS.values()]
    return pc.binary_join_element_wise(*columns, _BETWEEN)


def _choosing(found: pa.Table) -> Choosing:
    return Choosing(found, HISTORY_CLIENTS, search=tuple(SHOWN_AS.values()), several={"broker": _numbers})


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
    first, last = (_ms(found[column]) for column in ("first", "last"))
    closed, still = found["closed"].to_numpy(), found["open"].to_numpy()
    return pa.table(
        {
            "client_id": identity["client_id"],
            "application": each(identity["client_id"], application_of),
            "broker": each(found["brokers"], _in_order),
            "owner": _owners(owners, identity["principal"], identity["client_id"]),
            **{name: identity[name] for name in ("principal", "address", "software", "version")},
            "first_seen": first,
            "last_seen": last,
            # Those of a gateway that was killed are neither closed nor open; there was one at least.
            "connections": pa.array((closed + still).clip(1), pa.int64()),
            "open": pa.array(still, pa.int64()),
        }
    )


def _owners(owners: Owners, principals: pa.Array, client_ids: pa.Array) -> pa.Array:
    """The teams that they belong to, as on the live page."""
    team_of = lru_cache(maxsize=None)(owners.team_of)
    return pa.array(map(team_of, principals.to_pylist(), client_ids.to_pylist()), pa.string())


def _in_order(brokers: str) -> str:
    """Each broker once, as `BROKERS_BETWEEN` separates them."""
    return BROKERS_BETWEEN.join(map(str, sorted(set(map(int, brokers.split(","))))))


def _numbers(brokers: str) -> tuple[int, ...]:
    return tuple(map(int, brokers.split(BROKERS_BETWEEN)))


def _ms(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())


def _name(field: str, said: str) -> str:
    return clean(shown(said, field))
