"""F23, F24: where a query begins, and what it continues with once it can't continue with what it has."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from job_topics import END, READ, TOPIC_ID, TopicInMemory, begun, cluster, only

from clientscope.model.topics import CONFIGS, CONNECTIONS, JOB
from streaming.checkpoints import topics_now
from streaming.checkpoints.topics_now import EARLIEST, Extent, TopicsNow, to_json
from streaming.failures import Failure
from streaming.job_checkpoints import Checkpoints

GONE = Failure("it failed", records_gone=True)
DAMAGED = Failure("it failed", checkpoint_damaged=True)
BOTH = {CONFIGS: {0: READ}, CONNECTIONS: {0: READ}}
"""Where the query `live` is."""


class Job:
    """Checkpoints over a cluster that says what it is told to say."""

    def __init__(self, history: Path, monkeypatch: pytest.MonkeyPatch, topic: TopicInMemory | None = None) -> None:
        self.topic, self.now, self.lost = topic or begun(), cluster(), list[tuple[str, int | None]]()
        monkeypatch.setattr(topics_now, "ask", lambda kafka, names: only(names, self.now))
        self.checkpoints = Checkpoints(
            self.topic,
            "broker:1",
            "/c",
            str(history),
            lambda *lost: self.lost.append(lost),
            "4.2.0",  # type: ignore[arg-type]
        )

    def start(self, query: str = "live") -> Any:
        return self.topic.state.starts[query]


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """`live` and `history_pushes` run."""
    job = Job(tmp_path, monkeypatch)
    for query in ("live", "history_pushes"):
        job.checkpoints.begin(query)
    job.topic.written.clear()
    return job


def test_a_query_that_never_ran_begins_at_the_beginning_and_goes_on_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(tmp_path, monkeypatch, TopicInMemory())
    first = job.checkpoints.begin("live")
    assert (first.offsets, first.location) == ("earliest", f"/c/live/{job.start().checkpoint}")
    assert job.checkpoints.begin("live") == first
    other = Job(tmp_path, monkeypatch, TopicInMemory()).checkpoints.begin("live")
    assert other.location != first.location, "jobs of two clusters never meet in one folder"


@pytest.mark.parametrize(("position", "first"), [(None, READ), ({CONFIGS: {0: 55}}, 55)])
def test_f24_records_that_are_gone_are_counted_and_the_query_begins_behind_them(job: Job, position: Any, first: int) -> None:
    job.checkpoints.prepare("live", GONE)
    assert (job.topic.written, job.lost) == ([], []), "they are there after all"
    job.now = cluster(first=58)
    job.checkpoints.prepare("live", GONE._replace(position=position))
    lost = {CONFIGS: {0: 58 - first}}
    assert (job.start().offsets, job.start().lost, job.lost) == (BOTH | {CONFIGS: {0: 58}}, lost, [("live", 58 - first)])
    assert json.loads(job.checkpoints.begin("live").offsets) == {CONFIGS: {"0": 58}, CONNECTIONS: {"0": READ}}
    job.now = cluster(first=59)
    job.checkpoints.prepare("live", GONE)
    assert job.start().lost == {CONFIGS: {0: 59 - first}}, "and those that go before it has read them too"
    assert job.checkpoints.lost() == {("live", CONFIGS, 0): 59 - first}


def test_f24_a_topic_that_ends_before_what_was_read_is_read_from_its_beginning(job: Job) -> None:
    job.now = cluster(end=READ - 10)
    job.checkpoints.prepare("live", GONE)
    assert (job.start().offsets, job.lost) == (BOTH | {CONFIGS: {0: 0}}, [("live", 0)])
    assert (job.checkpoints.verdicts("1"), job.start().offsets) == ({0: END}, {CONNECTIONS: {0: READ}})


def test_verdicts_count_while_rules_and_topics_are_the_same(job: Job) -> None:
    assert (job.checkpoints.verdicts("1"), job.start().offsets) == ({0: END}, {CONNECTIONS: {0: READ}}), "nothing was known of them"
    job.now = cluster(results_end=END + 10)
    known = job.start()
    assert (job.checkpoints.verdicts("1"), job.start()) == ({0: END}, known)
    job.checkpoints.begin("live")
    job.checkpoints.note("live", 0, BOTH)
    assert (job.checkpoints.verdicts("2"), job.start().checkpoint != known.checkpoint) == ({0: END + 10}, True)
    job.now = cluster(topic_id="another")
    assert job.checkpoints.verdicts("2") == {0: END}


def test_f24_a_topic_that_was_made_again_is_read_from_its_beginning(job: Job) -> None:
    known = job.checkpoints.begin("live").location
    assert job.checkpoints.stale(job.now) == {}
    job.now = cluster(topic_id="another", end=READ - 10)
    assert job.checkpoints.stale(job.now) == {"live": CONFIGS, "history_pushes": CONFIGS}
    assert job.topic.restored == 1, "the job's own topic is another one as well"
    job.checkpoints.prepare("live", GONE._replace(position={CONFIGS: {0: 55}}))
    assert (job.start().offsets, job.lost) == ({}, [("live", None)]), "the old topic's offsets say nothing of the new one"
    begins = job.checkpoints.begin("live")
    assert (begins.offsets, begins.location != known, job.lost) == ("earliest", True, [("live", None)])
    assert job.checkpoints.stale(job.now) == {"history_pushes": CONFIGS}
    assert job.topic.restored == 1
    job.now = cluster(topic_id=None)
    assert job.checkpoints.begin("live") == begins, "a broker without ids is believed"


def test_a_reset_makes_a_running_query_stale(job: Job) -> None:
    job.checkpoints.begin("live")
    job.topic.write(replace(job.start(), checkpoint="reset", offsets={CONFIGS: {0: 3}}))
    assert job.checkpoints.stale(job.now) == {"live": ""}
    assert json.loads(job.checkpoints.begin("live").offsets) == {CONFIGS: {"0": 3}, CONNECTIONS: {"0": EARLIEST}}
    assert job.checkpoints.stale(job.now) == {}


def test_a_partition_that_was_added_since_a_start_is_read_from_its_beginning(job: Job) -> None:
    job.topic.write(replace(job.start("history_pushes"), offsets={CONFIGS: {0: 3}}))
    job.now = TopicsNow({CONFIGS: TOPIC_ID, JOB: TOPIC_ID}, {CONFIGS: {0: Extent(0, END), 1: Extent(0, 0)}})
    assert json.loads(job.checkpoints.begin("history_pushes").offsets) == {CONFIGS: {"0": 3, "1": EARLIEST}}


def test_f23_a_damaged_checkpoint_is_replaced_by_one_that_begins_where_it_was(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    before = job.start().checkpoint
    job.checkpoints.prepare("live", DAMAGED)
    assert (job.start().offsets, job.start().reason, job.lost) == (BOTH, "its checkpoint was damaged", [])
    assert job.start().checkpoint != before
    assert f"the checkpoint of live is damaged; a new one begins at {to_json(BOTH)}: it failed" in caplog.messages


def has_row(job: Job, history: Path, offset: int, age_ms: int = 0) -> None:
    """A row of pushes, which came so long before the query's start."""
    at = datetime.fromtimestamp((job.start("history_pushes").at_ms - age_ms) / 1000, UTC)
    rows = pa.table({"date": [at.date()], "timestamp": [at], "partition": pa.array([0], pa.int32()), "offset": [offset]})
    write_deltalake(history / "pushes", rows, partition_by=["date"])


@pytest.mark.parametrize(("offset", "age_ms", "expected"), [(54, 0, 55), (54, 10_000, READ), (END + 40, 0, READ), (20, 0, READ)])
def test_f23_history_continues_behind_the_rows_that_it_has(job: Job, tmp_path: Path, offset: int, age_ms: int, expected: int) -> None:
    """Rows of before its start may be of a topic that was deleted since."""
    has_row(job, tmp_path, offset, age_ms)
    job.checkpoints.prepare("history_pushes", DAMAGED)
    assert job.start("history_pushes").offsets == {CONFIGS: {0: expected}}


@pytest.mark.parametrize(("planned", "expected"), [(56, 55), (54, 52)])
def test_f24_records_that_are_gone_but_in_history_are_not_waited_for(job: Job, tmp_path: Path, planned: int, expected: int) -> None:
    """Rows behind the batch that failed may be of before a reset, and count for nothing."""
    has_row(job, tmp_path, 54)
    job.now = cluster(first=52)
    job.checkpoints.prepare("history_pushes", GONE._replace(position={CONFIGS: {0: READ}}, planned_to={CONFIGS: {0: planned}}))
    assert job.start("history_pushes").offsets == {CONFIGS: {0: expected}}
    assert job.start("history_pushes").lost == ({} if expected == 55 else {CONFIGS: {0: 2}})


def test_progress_is_of_the_checkpoint_that_the_query_began_with(job: Job) -> None:
    job.checkpoints.note("history_connections", 5, {CONFIGS: {0: 57}})
    assert job.topic.written == [], "it hasn't begun"
    job.checkpoints.begin("live")
    job.checkpoints.note("live", 5, {CONFIGS: {0: 57}})
    noted = job.topic.state.progress["live"]
    assert job.checkpoints.begin("live").last_batch == 5
    assert (noted.checkpoint, noted.batch, noted.position, noted.spark_version) == (job.start().checkpoint, 5, {CONFIGS: {0: 57}}, "4.2.0")
