"""When a query that failed is started again, and when it isn't."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from clientscope.errors import ClientscopeError
from streaming.supervision import Restarts, Watched, cause_in


class Query:
    """A query by what `Watched` asks of it, and what goes with it."""

    def __init__(self) -> None:
        self.query: Any = self
        self.isActive = True
        self.lastProgress: Any = None
        self.status = {"isTriggerActive": False, "message": "Waiting for data to arrive"}
        self.ticks = self.closed = 0
        self.text = ""

    def exception(self) -> str:
        return self.text

    def tick(self) -> None:
        self.ticks += 1

    def close(self) -> None:
        self.closed += 1

    def stop(self) -> None:
        self.isActive = False

    def fail(self, text: str, progressed: bool = True) -> None:
        self.isActive, self.text = False, text
        self.lastProgress = SimpleNamespace() if progressed else None


def watched(most: int = 3) -> tuple[Watched, list[Query]]:
    started: list[Query] = []

    def start() -> Query:
        started.append(Query())
        return started[-1]

    return Watched("results", start, Restarts(most)), started


def test_pauses_double_up_to_a_minute_and_begin_anew_after_progress() -> None:
    restarts = Restarts(most=8)
    assert [restarts.failed(100.0, progressed=False) for _ in range(8)] == [101, 102, 104, 108, 116, 132, 160, 160]
    assert restarts.failed(100.0, progressed=False) is None
    assert restarts.failed(100.0, progressed=True) == 101


def test_a_query_that_fails_is_started_again_after_the_pause() -> None:
    watching, started = watched()
    watching.look(10.0)
    assert (started[0].ticks, watching.problem) == (1, "")
    started[0].fail("broken\nand a trace")
    watching.look(11.0)
    assert watching.problem == "results is started again after it failed: broken"
    assert started[0].closed == 1
    watching.look(11.9)
    assert len(started) == 1
    watching.look(12.0)
    assert (len(started), watching.problem, watching.restarts) == (2, "", 1)
    watching.look(13.0)
    assert started[1].ticks == 1


def test_nothing_ticks_before_the_query_has_read_its_source() -> None:
    watching, started = watched()
    started[0].status = {"isTriggerActive": False, "message": "Initializing sources"}
    watching.look(0.0)
    started[0].status = {"isTriggerActive": True, "message": "Processing new data"}
    watching.look(1.0)
    assert (started[0].ticks, watching.begun) == (0, False)
    started[0].lastProgress = SimpleNamespace()
    watching.look(2.0)
    assert (started[0].ticks, watching.begun) == (1, True)
    started[0].fail("broken")
    watching.look(3.0)
    watching.look(4.0)
    started[1].status = {"isTriggerActive": True, "message": "Processing new data"}
    watching.look(5.0)
    assert (started[1].ticks, watching.begun) == (0, False)


def test_a_bug_in_what_goes_with_a_query_ends_that_query_alone() -> None:
    watching, started = watched()

    def tick() -> None:
        raise OverflowError("year 10000")

    started[0].tick = tick  # type: ignore[method-assign]
    watching.look(0.0)
    assert watching.problem == "results is started again after it failed: OverflowError: year 10000"
    assert (started[0].isActive, started[0].closed) == (False, 1)
    watching.look(1.0)
    assert len(started) == 2


def test_an_error_that_a_person_must_mend_ends_the_job_from_a_tick_too() -> None:
    watching, started = watched()

    def tick() -> None:
        raise ClientscopeError("the topic is gone", "make it again")

    started[0].tick = tick  # type: ignore[method-assign]
    with pytest.raises(ClientscopeError, match="the topic is gone"):
        watching.look(0.0)


def test_for_a_query_that_begins_anew_nothing_is_gone() -> None:
    started: list[Query] = []

    def start() -> Query:
        started.append(Query())
        return started[-1]

    watching = Watched("findings", start, Restarts(most=None), begins_anew=True)
    for at in (0.0, 100.0, 200.0):
        started[-1].fail("KAFKA_DATA_LOSS.ADDED_PARTITIONS_DOES_NOT_START_FROM_OFFSET_ZERO", progressed=False)
        watching.look(at)
        watching.look(at + 90.0)
    assert (len(started), watching.restarts) == (4, 3)


OF_A_SINK = """An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
py4j.protocol.Py4JJavaError: An error occurred while calling o1395.save.
: org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/data/pushes. SQLSTATE: 58030
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.taskFailedWhileWritingRowsError(QueryExecutionErrors.scala:843)
Caused by: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device
\tSuppressed: org.apache.hadoop.fs.FSError: java.io.IOException: No space left on device
\t\tCaused by: java.io.IOException: No space left on device
\t... 58 more
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            OF_A_SINK,
            "org.apache.spark.SparkException: [TASK_WRITE_FAILED] Task failed while writing rows to file:/data/pushes. SQLSTATE: 58030"
            ": java.io.IOException: No space left on device",
        ),
        (OF_A_SINK.split("py4j.", maxsplit=1)[0] + "OverflowError: year 10000\n", "OverflowError: year 10000"),
        ("Job aborted.\n\tat x\nCaused by: java.io.IOException: disk", "Job aborted.: java.io.IOException: disk"),
        ("[CODE] broken\nmore", "[CODE] broken"),
        ("java.io.IOException: disk\nCaused by: java.io.IOException: disk", "java.io.IOException: disk"),
        ("", "without a cause"),
    ],
)
def test_f40_what_failed_is_named_with_what_it_was_caused_by(text: str, cause: str) -> None:
    assert cause_in(text) == cause
    assert len(cause_in(text * 100)) <= 502


def test_who_waits_is_started_at_once_when_told_to_hurry() -> None:
    watching, started = watched(most=9)
    for at in (0.0, 1.0, 3.0):
        started[-1].fail("a worker died", progressed=False)
        watching.look(at)
        watching.look(at + 4.0)
    count = len(started)
    started[-1].fail("a worker died", progressed=False)
    watching.look(10.0)
    watching.look(11.0)
    assert len(started) == count, "it waits for seconds"
    watching.hurry()
    watching.look(11.1)
    assert len(started) == count + 1


def test_a_start_that_fails_counts_too() -> None:
    watching, started = watched(most=2)
    started[0].fail("once")
    watching.look(0.0)

    def cannot() -> Query:
        raise TimeoutError("no broker")

    watching._start = cannot
    watching.look(1.0)
    assert watching.problem.endswith("no broker")
    with pytest.raises(ClientscopeError, match="fails at each start: no broker"):
        watching.look(3.0)


_STORE = "file:/checkpoints/gauges/v1/state/0/0/18.changelog"


@pytest.mark.parametrize(
    ("text", "hint"),
    [  # what Spark 4.2.0 says, each taken from a query that failed so
        (
            "Some data may have been lost because they are not available in Kafka any more;\n"
            "either the data was aged out by Kafka or the topic may have been deleted before all the data in the\ntopic was processed.",
            "gone from the topic",
        ),
        (
            f"[CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE] An error occurred during loading state. Error reading streaming"
            f" state file of {_STORE} does not exist. If the stream job is restarted with a new or updated state operation, please create"
            " a new checkpoint location or clear the existing checkpoint location. SQLSTATE: 58030",
            "checkpoint is damaged",
        ),
        (
            "[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] Checkpoint location file:/checkpoints/gauges/v1 is in an inconsistent state: the"
            " metadata file is missing but offset and/or commit logs contain data.",
            "checkpoint is damaged",
        ),
        ("Checksum error: file:/checkpoints/gauges/v1/offsets/17 at 512 exp: 1207910186 got: 1724123156", "checkpoint is damaged"),
        ("Failed to read log file file:/checkpoints/gauges/v1/offsets/17. Incomplete log file", "checkpoint is damaged"),
        ("batch 16 doesn't exist", "checkpoint is damaged"),
    ],
)
def test_what_a_restart_can_not_mend_is_an_error_that_says_what_can(text: str, hint: str) -> None:
    watching, started = watched()
    started[0].fail(text)
    with pytest.raises(ClientscopeError) as caught:
        watching.look(0.0)
    assert hint in caught.value.hint
    assert "results" in str(caught.value)


def test_who_knows_better_why_is_asked_before_it_is_given_up_and_before_each_start() -> None:
    watching, started = watched()
    started[0].fail("batch 16 doesn't exist")
    known = ClientscopeError("offsets/16 is missing", "reset it")

    def examine() -> None:
        raise known

    watching._before_again = examine
    with pytest.raises(ClientscopeError) as caught:
        watching.look(0.0)
    assert caught.value is known

    watching, started = watched()
    started[0].fail("broken")
    watching.look(0.0)
    watching._before_again = examine
    with pytest.raises(ClientscopeError) as caught:
        watching.look(1.0)
    assert caught.value is known
    assert len(started) == 1


def test_who_can_not_tell_yet_changes_nothing() -> None:
    watching, started = watched()

    def examine() -> None:
        raise TimeoutError("no broker")

    watching._before_again = examine
    started[0].fail("broken")
    watching.look(0.0)
    watching.look(1.0)
    assert watching.problem.endswith("no broker")

    watching, started = watched()
    watching._before_again = examine
    started[0].fail("batch 16 doesn't exist")
    with pytest.raises(ClientscopeError, match="query results failed: batch 16 doesn't exist"):
        watching.look(0.0)


DIED = "Job aborted: Lost task 0.0: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)"


def searching(outcome: bool | Exception) -> tuple[Watched, list[Query], list[int]]:
    started: list[Query] = []
    searches: list[int] = []

    def start() -> Query:
        started.append(Query())
        return started[-1]

    def search() -> bool:
        searches.append(len(started))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return Watched("results", start, Restarts(3), search=search), started, searches


def await_search(watching: Watched) -> None:
    assert watching._searching is not None
    watching._searching.exception(10)


def test_workers_that_die_twice_at_the_same_place_make_a_search_and_what_it_finds_a_start_at_once() -> None:
    watching, started, searches = searching(True)
    started[0].fail(DIED, progressed=True)
    watching.look(0.0)
    watching.look(1.0)
    assert (len(started), searches) == (2, []), "once is an accident"
    started[1].fail(DIED, progressed=False)
    watching.look(1.0)
    await_search(watching)
    watching.look(1.1)
    assert (len(started), searches) == (3, [2]), "before the pause of two seconds is over"


def test_another_failure_makes_no_search() -> None:
    watching, started, searches = searching(True)
    for now in (0.0, 1.0):
        started[-1].fail("No space left on device", progressed=False)
        watching.look(now)
        watching.look(now + 1)
    assert searches == []


@pytest.mark.parametrize("outcome", [False, TimeoutError("no broker")])
def test_a_search_that_finds_nothing_changes_no_pause(outcome: bool | Exception) -> None:
    watching, started, searches = searching(outcome)
    for now in (0.0, 1.0):
        started[-1].fail(DIED, progressed=False)
        watching.look(now)
        if now:
            await_search(watching)
        else:
            watching.look(now + 1)
    watching.look(2.9)
    assert (len(started), searches) == (2, [2])
    watching.look(3.0)
    assert len(started) == 3


def test_too_many_of_them_end_the_job() -> None:
    watching, started, _ = searching(ClientscopeError("11 records", "update"))
    for now in (0.0, 1.0):
        started[-1].fail(DIED, progressed=False)
        watching.look(now)
        if now == 0.0:
            watching.look(1.0)
    await_search(watching)
    with pytest.raises(ClientscopeError, match="11 records"):
        watching.look(1.5)
