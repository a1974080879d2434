"""Handling of a failed query: it is parked and retried, and no other query is affected (F47)."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from scripted_query import ScriptedQuery

from clientscope.errors import ClientscopeError
from streaming.failures import Failure
from streaming.supervision import Watched


class Script:
    """A watched query, and all that came of it."""

    def __init__(self, search: Callable[[], bool] = lambda: False) -> None:
        self.started: list[ScriptedQuery] = []
        self.said: list[tuple[bool, str]] = []
        self.cannot: Exception | None = None
        self.watching = Watched("results", self.start, search, self.parked)

    def start(self) -> ScriptedQuery:
        if self.cannot is not None:
            raise self.cannot
        self.started.append(ScriptedQuery())
        return self.started[-1]

    def parked(self, parked: bool, failure: Failure) -> None:
        self.said.append((parked, failure.kind))

    @property
    def query(self) -> ScriptedQuery:
        return self.started[-1]

    def look(self, *seconds: float) -> None:
        for now in seconds:
            self.watching.look(now)


@pytest.fixture
def script() -> Script:
    return Script()


def test_a_query_that_fails_is_started_again_after_the_pause_and_is_parked_until_it_has_finished_a_batch(script: Script) -> None:
    watching, first = script.watching, script.query
    script.look(10.0)
    assert (first.ticks, watching.problem, watching.well) == (1, "", True)
    first.fail("broken\nand a trace")
    script.look(11.0)
    assert watching.problem == "results is parked and retried: broken; see the job's log"
    assert (first.closed, watching.running) == (1, None)
    script.look(11.9)
    assert len(script.started) == 1
    script.look(12.0)
    assert (len(script.started), watching.restarts, watching.well) == (2, 1, False)
    script.look(13.0)
    assert (script.query.ticks, watching.well) == (1, False), "nobody knows yet"
    script.query.finishes("triggerExecution")
    script.look(14.0)
    assert not watching.well, "it only looked for something new"
    script.query.finishes()
    script.look(15.0)
    assert (watching.well, watching.problem) == (True, "")


def test_f47_it_is_never_given_up(script: Script) -> None:
    now = 0.0
    for _ in range(50):
        script.query.fail("java.io.IOException: No space left on device")
        script.look(now, now + 61.0)
        now += 62.0
    assert (len(script.started), script.said) == (51, [(True, "a disk is full")])
    script.query.finishes()
    script.look(now)
    assert script.said[-1][0] is False


def test_pauses_double_up_to_a_minute_and_begin_anew_after_progress(script: Script) -> None:
    now, pauses = 0.0, []
    for finished in (*[False] * 8, True):
        script.query.fail("broken", finished)
        script.look(now)
        waited = next(seconds for seconds in range(1, 99) if script.look(now + seconds) or script.watching.running)
        pauses.append(waited)
        now += waited
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 1]


def test_without_anything_to_do_it_counts_as_running_after_a_while_but_not_within_a_batch(script: Script) -> None:
    script.query.fail("broken")
    script.look(0.0, 1.0)
    script.query.status = {"isTriggerActive": True, "message": "Processing new data"}
    script.query.finishes("triggerExecution")
    script.look(2.0, 200.0)
    assert not script.watching.well
    script.query.status["isTriggerActive"] = False
    script.look(15.9)
    assert not script.watching.well
    script.look(16.0)
    assert script.watching.well


def test_what_an_earlier_job_said_of_it_is_over_once_and_what_is_wrong_is_said_once_it_fails_again(script: Script) -> None:
    script.query.finishes()
    script.look(0.0, 1.0)
    script.query.fail("broken", finished=True)
    script.look(2.0, 3.0)
    assert script.said == [(False, "it failed")], "once is an accident"
    script.query.fail("broken")
    script.look(3.0, 5.0)
    script.query.finishes()
    script.look(6.0, 7.0)
    assert [parked for parked, _ in script.said] == [False, True, False]


def test_nothing_ticks_before_the_query_has_read_its_source(script: Script) -> None:
    watching, first = script.watching, script.query
    first.status = {"isTriggerActive": False, "message": "Initializing sources"}
    script.look(0.0)
    first.status = {"isTriggerActive": True, "message": "Processing new data"}
    script.look(1.0)
    assert (first.ticks, watching.begun) == (0, False)
    first.finishes()
    script.look(2.0)
    assert (first.ticks, watching.begun) == (1, True)
    first.fail("broken")
    script.look(3.0, 4.0)
    script.query.status = {"isTriggerActive": True, "message": "Processing new data"}
    script.look(5.0)
    assert (script.query.ticks, watching.begun) == (0, False)


@pytest.mark.parametrize("raised", [OverflowError("year 10000"), ClientscopeError("year 10000", "ask")])
def test_whatever_goes_with_a_query_ends_that_query_alone(script: Script, raised: Exception) -> None:
    first = script.query

    def tick() -> None:
        raise raised

    def close() -> None:
        first.closed += 1
        raise TimeoutError("a producer that waits for a broker")

    first.tick, first.close = tick, close  # type: ignore[method-assign]
    script.look(0.0)
    assert "year 10000" in script.watching.problem
    assert (first.isActive, first.closed) == (False, 1)
    script.look(1.0)
    assert len(script.started) == 2


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError("no broker answers"),
        TypeError("'NoneType' object is not iterable"),
        OSError(28, "full"),
        ClientscopeError("its table is damaged", "restore it"),
    ],
)
def test_f47_a_start_that_fails_is_a_failure_like_others_whatever_it_raises(script: Script, error: Exception) -> None:
    script.query.fail("once")
    script.look(0.0)
    script.cannot = error
    script.look(1.0)
    assert str(error) in script.watching.problem
    script.look(2.9)
    script.cannot = None
    script.look(2.95)
    assert len(script.started) == 1, "the second pause is two seconds"
    script.look(3.0)
    assert len(script.started) == 2


def test_a_query_that_nobody_waits_for_may_fail_to_start_at_first() -> None:
    def start() -> ScriptedQuery:
        starts.append(len(starts))
        if starts == [0]:
            raise OSError(28, "No space left on device")
        return ScriptedQuery()

    starts: list[int] = []
    watching = Watched("history", start, needed=False)  # type: ignore[arg-type]
    assert (watching.running, starts) == (None, []), "it may take minutes where its store doesn't answer"
    watching.look(0.0)
    assert (watching.running, watching.well, "No space left" in watching.problem) == (None, False, True)
    watching.look(1.0)
    assert watching.running is not None and watching.restarts == 1
    starts.clear()
    with pytest.raises(OSError, match="No space left"):
        Watched("live", start)  # type: ignore[arg-type]


def test_who_is_refused_while_it_runs_is_stopped_and_parked(script: Script) -> None:
    first = script.query
    script.look(0.0)
    script.watching.refuse(ClientscopeError("its topic was made again", "reset it"))
    script.look(1.0)
    assert (first.isActive, first.closed) == (False, 1)
    assert script.watching.problem.endswith("its topic was made again; reset it")
    assert script.said == [(True, "it can't continue")], "at once, since it is no accident"
    script.look(2.0, 3.0)
    assert script.query.isActive, "it is tried again, and examined before"


def test_a_waiting_query_is_started_at_once_when_it_must_hurry(script: Script) -> None:
    for at in (0.0, 1.0, 3.0):
        script.query.fail("broken")
        script.look(at, at + 4.0)
    count = len(script.started)
    script.query.fail("broken")
    script.look(10.0, 11.0)
    assert len(script.started) == count, "it waits for seconds"
    script.watching.hurry()
    script.look(11.1)
    assert len(script.started) == count + 1


def test_its_stack_trace_is_logged_once(script: Script, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        for now in (0.0, 100.0, 200.0):
            script.query.fail("broken\n\tat some.Place")
            script.look(now, now + 61.0)
    assert caplog.text.count("started again in") == 3
    assert caplog.text.count("some.Place") == 1


DIED = "Job aborted: Lost task 0.0: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"


def searched(outcome: bool | Exception) -> tuple[Script, list[int]]:
    searches: list[int] = []

    def search() -> bool:
        searches.append(len(script.started))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    script = Script(search)
    return script, searches


def test_workers_that_die_twice_at_the_same_place_make_a_search_and_what_it_finds_a_start_at_once() -> None:
    script, searches = searched(True)
    script.query.fail(DIED, finished=True)
    script.look(0.0, 1.0)
    assert (len(script.started), searches) == (2, []), "once is an accident"
    script.query.fail(DIED)
    script.look(1.0)
    script.look(1.1)
    assert (len(script.started), searches) == (3, [2]), "before the pause of two seconds is over"
    for at, finished in ((1.2, True), (2.2, False)):
        script.query.fail(DIED if finished else "broken", finished)
        script.look(at, at + 1.0)
    assert searches == [2], "once at another place, and for another reason"


@pytest.mark.parametrize("outcome", [False, TimeoutError("no broker"), ValueError("a bug")])
def test_a_search_that_finds_nothing_changes_no_pause(outcome: bool | Exception) -> None:
    script, searches = searched(outcome)
    script.query.fail(DIED)
    script.look(0.0, 1.0)
    script.query.fail(DIED)
    script.look(1.0, 1.1, 2.9)
    assert (len(script.started), searches) == (2, [2])
    script.look(3.0)
    assert len(script.started) == 3


def test_too_many_of_them_park_it_with_what_to_do() -> None:
    script, _ = searched(ClientscopeError("11 records", "update"))
    script.query.fail(DIED)
    script.look(0.0, 1.0)
    script.query.fail(DIED)
    script.look(1.0, 1.1)
    assert script.watching.problem.endswith("11 records; update")
