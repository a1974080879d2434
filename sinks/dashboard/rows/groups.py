"""Groups of clients, and counts of clients by value: clients of the same shape are counted together, since there are few shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from clientscope.api.clients import ClientGroup, Facet, FacetValue, GroupBy, GroupFindings
from clientscope.query import Key, Query, parse_sort, term_text
from clientscope.query.fields import NONE, NOT_JUDGED
from clientscope.query.terms import fold
from clientscope.risks import RISKS
from clientscope.severities import SEVERITIES
from sinks.dashboard.rows.schema import Database
from sinks.dashboard.rows.sql import where

FACETS = ("software", "version", "owner", "principal", "listener", "protocol", "broker", "cluster", "gateway")
"""Fields with counts, beside ``risk`` and ``finding``; each is a column of ``shapes``."""

_GROUPED_BY: dict[GroupBy, tuple[str, ...]] = {
    "application": ("application",),
    "owner": ("owner",),
    "principal": ("principal",),
    "software": ("software", "version"),
    "address": ("address",),
    "broker": ("cluster", "broker"),
}
_OF_SHAPES = frozenset(FACETS)
_AS_THEY_ARE = frozenset({"address", "broker"})
"""Never empty, and written in one way."""
_SORTS = {"label": "", "clients": "clients", "connections": "connections", "finding": "worst"}
SUM_COLUMNS = (
    "count(*) AS clients, sum(connections) AS connections, count(*) - count(worst) AS unjudged, max(worst) AS worst, sum(worst >= 0) AS bad"
)
"""SQL of what is selected of a group, in the order of `SumColumns`."""
_SUMS_OF_SUMS = ", ".join(
    f"{how}(t.{name}) AS {name}"
    for name, how in {"clients": "sum", "connections": "sum", "unjudged": "sum", "worst": "max", "bad": "sum"}.items()
)


class SumColumns(NamedTuple):
    """One row of `SUM_COLUMNS`, by name."""

    clients: int
    connections: int
    unjudged: int
    worst: int | None
    bad: int | None


def group_sort(text: str) -> tuple[Key, ...]:
    """What to sort groups by.

    Raises:
        QueryError: it can't be read.
    """
    return parse_sort(text, _SORTS)


def groups(
    database: Database, query: Query, codes: Collection[str], group: GroupBy, sort: Sequence[Key], offset: int, limit: int
) -> tuple[list[ClientGroup], int]:
    """A page of groups, most connections first unless ``sort`` says otherwise, and how many there are."""
    condition, parameters = where(query, codes)
    columns = _GROUPED_BY[group]
    # As a query compares: without regard to case, and nothing is the same as an empty text.
    shown = ", ".join(column if column in _AS_THEY_ARE else f"min({column}) AS {column}" for column in columns)
    by = ", ".join(column if column in _AS_THEY_ARE else f"ifnull({column}, '') COLLATE NOCASE" for column in columns)
    if _OF_SHAPES.issuperset(columns):
        grouped = (
            f"SELECT {shown}, {_SUMS_OF_SUMS} FROM (SELECT shape, {SUM_COLUMNS} FROM clients c WHERE {condition} GROUP BY shape) t"
            f" JOIN shapes s ON s.id = t.shape GROUP BY {by}"
        )
    else:
        grouped = f"SELECT {shown}, {SUM_COLUMNS} FROM clients c WHERE {condition} GROUP BY {by}"
    order = ", ".join([*(_ordered(key, columns) for key in sort), "connections DESC", *(f"{column} NULLS LAST" for column in columns)])
    made = f"WITH made AS MATERIALIZED ({grouped}) SELECT (SELECT count(*) FROM made)"  # once for the page and for how many there are
    rows = database.rows(f"{made}, * FROM made ORDER BY {order} LIMIT ? OFFSET ?", *parameters, limit, offset)
    total = next((count for count, *_ in rows), None)
    found = [_group(columns, named[: len(columns)], SumColumns(*named[len(columns) :])) for _, *named in rows]
    return found, database.value(made, *parameters) if total is None else total


def _ordered(key: Key, columns: Sequence[str]) -> str:
    direction = "DESC" if key.descending else "ASC"
    names = columns if key.field == "label" else (_SORTS[key.field],)
    return ", ".join(f"{name} {direction} NULLS LAST" for name in names)


def _group(columns: Sequence[str], values: Sequence[Any], sums: SumColumns) -> ClientGroup:
    worst = sums.worst
    named = [str(value) for value in values if value not in (None, "")]
    return ClientGroup.model_construct(
        label=" ".join(named) if named else None,
        q=" ".join(term_text(column, value) for column, value in zip(columns, values, strict=True)),
        clients=sums.clients,
        connections=sums.connections,
        not_judged=sums.unjudged,
        findings=None
        if sums.unjudged == sums.clients
        else GroupFindings(worst=SEVERITIES[worst] if worst is not None and worst >= 0 else None, clients=sums.bad or 0),
    )


def facets(database: Database, query: Query, codes: Collection[str], limit: int) -> tuple[list[Facet], int]:
    """The most frequent values of each field among the clients that a query leaves, and how many these are."""
    condition, parameters = where(query, codes)
    rows = database.rows(
        f"SELECT {', '.join(f's.{field}' for field in FACETS)}, t.risks, t.worst, t.n FROM"
        f" (SELECT c.shape, c.risks, c.worst, count(*) AS n FROM clients c WHERE {condition} GROUP BY c.shape, c.risks, c.worst) t"
        " JOIN shapes s ON s.id = t.shape",
        *parameters,
    )
    *columns, risks, worsts, counts = zip(*rows, strict=True) if rows else [()] * (len(FACETS) + 3)
    found = [_facet(field, _counted(column, counts), limit) for field, column in zip(FACETS, columns, strict=True)]
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
