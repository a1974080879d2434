"""Facts of clients' own metrics over time, from the table ``client_facts``: of each instance first, then of all together."""

from __future__ import annotations

from clientscope.catalog.client_facts import FACTS, How
from sinks.dashboard.past.problems import Json, NoAnswer
from sinks.dashboard.past.pushes import Whose, condition
from sinks.dashboard.past.series import points, step_of
from sinks.dashboard.past.tables import Span, Tables, within

MOST_POINTS = 120
"""Steps are longer than the interval at which clients push, or every other step would be a gap."""

_OF_INSTANCE: dict[How, str] = {"greatest": "max", "least": "min", "mean": "avg", "rate": "avg", "count": "sum"}
_OF_ALL: dict[How, str] = {"greatest": "max", "least": "min", "mean": "avg", "rate": "sum", "count": "sum"}
_INSTANCE = "client_instance_id, principal, client_address"


def client_facts(tables: Tables, span: Span, whose: Whose) -> Json:
    """What these clients said, as in `clientscope.api.history.PastClientFacts`.

    Raises:
        NoAnswer: see `Tables.ask`, but for a missing table, which most sites don't have; or an application has too many client.ids.
    """
    step_ms = step_of(span, MOST_POINTS)
    starts = points(span, step_ms)
    answer: Json = {
        "from_ms": span.from_ms, "to_ms": span.to_ms, "step_ms": step_ms, "points": list(starts), "recorded": True, "kinds": [],
    }  # fmt: skip
    try:
        theirs = condition(tables, span, whose, "client_facts")
    except NoAnswer as problem:
        if problem.kind != "missing":
            raise
        return {**answer, "recorded": False}
    if theirs is None:
        return answer
    where = f"{within(span, 'timestamp')} AND client_kind IS NOT NULL AND {theirs}"
    step = f'CAST("timestamp" AS BIGINT) / {step_ms * 1000} AS step'
    of_instance = ", ".join(f"{_OF_INSTANCE[fact.how]}({fact.name}) AS {fact.name}" for fact in FACTS)
    of_all = ", ".join(f"{_OF_ALL[fact.how]}({fact.name}) AS {fact.name}" for fact in FACTS)
    sql = (
        f"SELECT client_kind, step, {of_all} FROM "  # noqa: S608 - quoted there
        f"(SELECT client_kind, {step}, {of_instance} FROM client_facts WHERE {where} GROUP BY client_kind, step, {_INSTANCE}) "
        "GROUP BY client_kind, step"
    )
    found = tables.ask("client_facts", sql).to_pylist()
    of_kinds = f"SELECT client_kind, {_INSTANCE} FROM client_facts WHERE {where} GROUP BY client_kind, {_INSTANCE}"  # noqa: S608 - quoted there
    counted = f"SELECT client_kind, count(*) AS n FROM ({of_kinds}) GROUP BY client_kind ORDER BY client_kind DESC"  # noqa: S608
    for kind, instances in ((row["client_kind"], row["n"]) for row in tables.ask("client_facts", counted).to_pylist()):
        rows = {row["step"] - starts.start // step_ms: row for row in found if row["client_kind"] == kind}
        facts: list[Json] = [
            {
                "name": fact.name,
                "curve": fact.curve,
                "line": fact.line,
                "unit": fact.unit,
                "setting": fact.setting,
                "values": [rows[place][fact.name] if place in rows else None for place in range(len(starts))],
            }
            for fact in FACTS
        ]
        said = [fact for fact in facts if any(value is not None for value in fact["values"])]
        answer["kinds"].append({"kind": kind, "instances": instances, "facts": said})
    return answer
