"""Results of pushes: verdicts, repetition, bounds, and the last day."""

from __future__ import annotations

from typing import Any

import page_state
import pytest

from clientscope.results import ResultValue
from sinks.dashboard.state.pushes import DAY_MS, PushTable

NOW = 10 * DAY_MS


def result(offset: int, *outcomes: str, **fields: Any) -> ResultValue:
    codes = {outcome: [f"AN{i}" for i, each in enumerate(outcomes) if each == outcome] for outcome in ("passed", "not_evaluable")}
    codes["rules"] = [f"AN{i}" for i, outcome in enumerate(outcomes) if outcome == "fired"]
    return ResultValue.model_validate_json(page_state.result(offset, at_ms=NOW, **{**codes, **fields}).value or b"")


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        (("passed", "passed"), "clean"),
        (("passed", "not_evaluable"), "partly_judged"),
        (("not_evaluable", "not_evaluable"), "not_judged"),
        ((), "not_judged"),
        (("not_evaluable", "fired"), "findings"),
    ],
)
def test_not_judged_is_not_clean(outcomes: tuple[str, ...], verdict: str) -> None:
    table = PushTable()
    table.apply(result(1, *outcomes), NOW)
    assert [found.verdict for found in table.results()] == [verdict]


def test_a_result_that_came_ahead_of_a_backlog_counts_once_however_long_the_backlog() -> None:
    table = PushTable(seen_limit=100)
    assert table.apply(result(1_000_000, "passed"), NOW, ahead=True)
    assert not table.apply(result(1_000_000, "passed"), NOW, ahead=True)
    for offset in range(500):
        assert table.apply(result(offset, "passed"), NOW)
    assert not table.apply(result(1_000_000, "passed"), NOW), "in its turn"
    assert not table.apply(result(1_000_000, "passed"), NOW), "and once more"
    assert table.pushes["pushed"] == 501
    for offset in range(500):
        table.apply(result(offset, "passed"), NOW)
    assert table.apply(result(1_000_000, "passed"), NOW), "a topic that was made again has other pushes there"


def test_results_ahead_are_remembered_up_to_a_limit() -> None:
    table = PushTable(seen_limit=100)
    for offset in range(500):
        table.apply(result(offset, "passed"), NOW, ahead=True)
    assert [table.apply(result(offset, "passed"), NOW) for offset in (0, 399, 400, 499)] == [True, True, False, False]


def test_a_result_that_comes_again_counts_once() -> None:
    table = PushTable()
    assert table.apply(result(1, "fired"), NOW)
    assert not table.apply(result(1, "fired"), NOW + 1)
    assert table.apply(result(1, "fired", partition=1), NOW)
    assert table.pushes_of_day() == 2
    assert table.fired_of_day() == 2


def test_newest_come_first_and_those_with_findings_outlive_clean_ones() -> None:
    table = PushTable(limit=2)
    for offset in range(5):
        table.apply(result(offset, "fired" if offset == 0 else "passed"), NOW)
    assert [found.offset for found in table.results()] == [4, 3]
    assert [found.offset for found in table.results(fired_only=True)] == [0]
    assert table.pushes_of_day() == 5


def test_origins_are_counted_by_name_and_those_of_later_releases_as_observed() -> None:
    table = PushTable()
    for number, origin in enumerate(("pushed", "observed", "request_log", "dreamt")):
        table.apply(result(number, "fired", origin=origin), NOW)
    assert table.pushes == {"pushed": 1, "observed": 2, "request_log": 1}
    assert (table.pushes_of_day(), sum(table.by_minute().values())) == (1, 4)


def test_observed_configurations_are_no_pushes() -> None:
    table = PushTable(limit=2)
    table.apply(result(0, "fired"), NOW)
    for offset in range(1, 4):
        table.apply(result(offset, "fired", origin="observed"), NOW)
    assert [found.offset for found in table.results(pushed_only=True)] == [0]
    assert (table.pushes_of_day(), sum(table.pushes_by_minute().values()), table.fired_of_day()) == (1, 1, 4)


def test_what_is_older_than_a_day_goes_and_counters_stay() -> None:
    table = PushTable()
    table.apply(result(1, "fired"), NOW)
    table.apply(result(2, "fired"), NOW + DAY_MS // 2)
    assert not table.expire(NOW + DAY_MS)
    assert table.expire(NOW + DAY_MS + 60_000)
    assert [found.offset for found in table.results()] == [2]
    assert table.pushes_of_day() == 1
    assert table.fired_of_day() == 1
    assert table.pushes == {"pushed": 2}


def test_codes_beyond_the_limit_are_other() -> None:
    table = PushTable()
    for offset in range(600):
        table.apply(result(offset, rules=[f"X{offset}"]), NOW)
    assert len(table.findings) == 501
    assert table.findings["other", "other"] == 100
    assert table.fired_of_day() == 600
