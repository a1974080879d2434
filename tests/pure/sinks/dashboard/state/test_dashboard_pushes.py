"""Results of pushes: verdicts, repetition, bounds, and the last day."""

from __future__ import annotations

from typing import Any

import page_state
import pytest
from golden import cases

from clientscope.model.codec import decode
from clientscope.model.result import PushResult
from sinks.dashboard.state.pushes import DAY_MS, PushTable

NOW = 10 * DAY_MS


def result(offset: int, *outcomes: str, **fields: Any) -> PushResult:
    codes = {outcome: [f"AN{i}" for i, each in enumerate(outcomes) if each == outcome] for outcome in ("passed", "not_evaluable")}
    codes["rules"] = [f"AN{i}" for i, outcome in enumerate(outcomes) if outcome == "fired"]
    return decode(PushResult, page_state.result(offset, at_ms=NOW, **{**codes, **fields}).value)


@pytest.mark.parametrize(("outcomes", "overall"), cases(__file__, "overall.txt"))
def test_not_judged_is_not_clean(outcomes: str, overall: str) -> None:
    table = PushTable()
    table.apply(result(1, *outcomes.split(), application='["a\u202eb"]'), NOW)
    assert [(found.overall, found.application) for found in table.results()] == [(overall, '["a\ufffdb"]')]


def test_a_result_that_comes_again_counts_once_as_far_back_as_the_limit() -> None:
    table = PushTable(seen_limit=100)
    assert [table.apply(result(offset, "passed"), NOW) for offset in (*range(101), 1, 100, 0)] == [True] * 101 + [False, False, True]
    assert table.pushes["pushed"] == 102


def test_observed_configurations_are_no_pushes_and_a_result_that_comes_again_counts_once() -> None:
    table = PushTable(limit=2)
    assert table.apply(result(0, "fired"), NOW) and not table.apply(result(0, "fired"), NOW + 1)
    for offset, origin in enumerate(("observed", "request_log", "observed"), start=1):
        assert table.apply(result(offset, "fired", origin=origin), NOW)
    assert table.apply(result(0, "passed", partition=1), NOW)
    assert [found.offset for found in table.results()] == [0, 3], "the newest first"
    assert [found.offset for found in table.results(pushed_only=True)] == [0, 0]
    assert table.pushes == {"pushed": 2, "observed": 2, "request_log": 1}
    assert (table.day, [*table.minutes]) == ({"pushed": 2, "observed": 2, "request_log": 1, "judged": 5, "fired": 4}, [NOW // 60_000])


def test_what_is_older_than_a_day_goes_and_counters_stay() -> None:
    table = PushTable()
    table.apply(result(1, "fired"), NOW)
    table.apply(result(2, "fired"), NOW + DAY_MS // 2)
    assert not table.expire(NOW + DAY_MS)
    assert table.expire(NOW + DAY_MS + 60_000)
    assert [found.offset for found in table.results()] == [2]
    assert (table.day["pushed"], table.day["fired"], len(table.minutes)) == (1, 1, 1)
    assert table.pushes == {"pushed": 2}


def test_codes_beyond_the_limit_are_other() -> None:
    table = PushTable()
    for offset in range(600):
        table.apply(result(offset, rules=[f"X{offset}"]), NOW)
    assert len(table.findings) == 501
    assert table.findings["other", "other"] == 100
    assert table.day["fired"] == 600
