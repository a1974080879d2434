"""Connections over time, from the table ``gauges``: the counts of each gateway at each minute.

A step has the most connections at once in it: gateways are summed minute by minute, then the greatest minute counts.  Each
version's greatest may be at another minute than the total's, so they may add up to more.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clientscope.catalog.sensitive import shown
from clientscope.topic_values import clean
from sinks.dashboard.past.problems import Json
from sinks.dashboard.past.tables import Span, Tables, text, within

MINUTE_MS = 60_000
MOST_POINTS = 500
TOP = 8

_HOUR, _DAY = 60, 1_440
_STEPS = tuple(minutes * MINUTE_MS for minutes in (1, 5, 15, 30, _HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 7 * _DAY))


def step_of(span: Span, most: int = MOST_POINTS) -> int:
    """The smallest step, in ms, that makes at most so many points."""
    return next((step for step in _STEPS if len(points(span, step)) <= most), _STEPS[-1])


def points(span: Span, step_ms: int) -> range:
    """When each step begins; the first one may begin before the span."""
    return range(span.from_ms // step_ms * step_ms, span.to_ms, step_ms)


def recorded_steps(tables: Tables, span: Span, step_ms: int) -> npt.NDArray[np.bool_]:
    """In which steps anything was recorded.

    Raises:
        NoAnswer: see `Tables.ask`.
    """
    starts = points(span, step_ms)
    number = f"CAST(minute AS BIGINT) / {step_ms * 1000}"
    found = tables.ask("gauges", f"SELECT DISTINCT {number} AS step FROM gauges WHERE {within(span, 'minute')}")  # noqa: S608 - numbers
    recorded = np.zeros(len(starts), np.bool_)
    recorded[found["step"].to_numpy().astype(np.int64) - starts.start // step_ms] = True
    return recorded


def series(tables: Tables, span: Span) -> Json:
    """Connections over time, as in `clientscope.api.history.PastSeries`.

    Raises:
        NoAnswer: see `Tables.ask`.
    """
    step_ms = step_of(span)
    starts = points(span, step_ms)
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
    number = f"CAST(minute AS BIGINT) / {step_ms * 1000}"
    sql = (
        f"SELECT step, max(total) AS total, max({rest}) AS other{greatest} FROM "  # noqa: S608 - quoted above
        f"(SELECT {number} AS step, minute, sum(connections) AS total{at_once} FROM gauges WHERE {where} GROUP BY minute) GROUP BY step"
    )
    found = tables.ask("gauges", sql)
    at = [step - starts.start // step_ms for step in found["step"].to_pylist()]

    def filled(column: str) -> list[int | None]:
        values: list[int | None] = [None] * len(starts)
        for place, value in zip(at, found[column].to_pylist(), strict=True):
            values[place] = value
        return values

    return {
        "from_ms": span.from_ms,
        "to_ms": span.to_ms,
        "step_ms": step_ms,
        "points": list(starts),
        "connections": filled("total"),
        "versions": [
            {
                "software_name": clean(shown(name, "client_software_name")),
                "software_version": clean(shown(version, "client_software_version")),
                "connections": filled(column),
            }
            for (name, version), column in zip(versions, columns, strict=True)
        ],
        "other": filled("other"),
    }
