"""sinks/dashboard/past/client_facts: what an instance said in a step, and what several said together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from every import every
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, append
from past_tables import client_facts as row

from sinks.dashboard.past.client_facts import MOST_POINTS, client_facts
from sinks.dashboard.past.pushes import Whose
from sinks.dashboard.past.tables import Span, Tables

STEP_MS = 5 * MINUTE_MS
SPAN = Span(NOW_MS - 3 * HOUR_MS, NOW_MS)
AT_MS = (NOW_MS - HOUR_MS) // STEP_MS * STEP_MS


def asked(folder: Path, span: Span = SPAN, **whose: str) -> dict[str, Any]:
    return dict(client_facts(Tables(folder), span, Whose(**(whose or {"client_id": "app"}))))


def said(answer: dict[str, Any], kind: str, at_ms: int = AT_MS) -> dict[str, float | None]:
    """The facts of one step."""
    (of,) = [each for each in answer["kinds"] if each["kind"] == kind]
    return {fact["name"]: fact["values"][answer["points"].index(at_ms)] for fact in of["facts"]}


def test_an_instances_pushes_of_a_step_are_one_and_instances_are_added(tmp_path: Path) -> None:
    names = ("record_rate", "request_latency_max_ms", "request_latency_avg_ms", "record_errors", "buffer_available_bytes")
    pushes = [(5, (10.0, 30.0, 4.0, 1.0, 9.0)), (5, (20.0, 90.0, 6.0, 2.0, 3.0)), (6, (100.0, 50.0, 7.0, 0.0, 5.0))]
    rows = [
        row(AT_MS + number * MINUTE_MS, instance=instance, **dict(zip(names, facts, strict=True)))
        for number, (instance, facts) in enumerate(pushes)
    ]
    append(tmp_path, "client_facts", rows)
    answer = asked(tmp_path)
    assert (answer["step_ms"], answer["kinds"][0]["instances"]) == (STEP_MS, 2)
    assert said(answer, "producer") == dict(zip(names, (115.0, 90.0, 6.0, 3.0, 3.0), strict=True))
    assert set(said(answer, "producer", AT_MS + STEP_MS).values()) == {None}, "a gap, and no zero"


def test_producers_and_consumers_of_one_name_are_apart(tmp_path: Path) -> None:
    rows = [row(AT_MS, "producer", record_rate=1.0), row(AT_MS, "consumer", record_rate=2.0), row(AT_MS, client_kind=None)]
    append(tmp_path, "client_facts", rows)
    answer = asked(tmp_path)
    assert [of["kind"] for of in answer["kinds"]] == ["producer", "consumer"]
    assert (said(answer, "producer"), said(answer, "consumer")) == ({"record_rate": 1.0}, {"record_rate": 2.0})


def test_only_theirs_count(tmp_path: Path) -> None:
    others = [
        row(AT_MS, client_id="app-2", record_rate=5.0), row(AT_MS, principal="User:x", record_rate=7.0),
        row(AT_MS, client_address="10.0.0.9", record_rate=9.0), row(AT_MS - DAY_MS, record_rate=11.0),
    ]  # fmt: skip
    append(tmp_path, "client_facts", [row(AT_MS, record_rate=1.0), *others])
    mine = {"client_id": "app", "principal": "User:ANONYMOUS", "address": "10.0.0.1"}
    assert said(asked(tmp_path, **mine), "producer") == {"record_rate": 1.0}
    assert asked(tmp_path, client_id="' OR 1=1 --")["kinds"] == []


@pytest.mark.parametrize("hours", [1, 3, 24, 24 * 7, 24 * 30, 24 * 800])
def test_steps_are_few(tmp_path: Path, hours: int) -> None:
    append(tmp_path, "client_facts", [row(NOW_MS - 1, record_rate=1.0)])
    answer = asked(tmp_path, Span(NOW_MS - hours * HOUR_MS, NOW_MS))
    assert len(answer["points"]) <= MOST_POINTS
    assert all(len(fact["values"]) == len(answer["points"]) for of in every(answer["kinds"]) for fact in of["facts"])
    assert answer["kinds"][0]["facts"][0]["values"][-1] == 1.0


def test_without_the_table_nothing_was_recorded_which_is_no_error(tmp_path: Path) -> None:
    """Most sites have none, and each client's page asks."""
    assert (asked(tmp_path)["recorded"], asked(tmp_path)["kinds"]) == (False, [])
    append(tmp_path, "client_facts", [row(AT_MS, "producer", record_rate=1.0)])
    assert asked(tmp_path)["recorded"]
