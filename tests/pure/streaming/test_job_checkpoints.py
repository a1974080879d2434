"""F23, F24: where a query begins, at first and again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from job_topics import END, READ, TOPIC_ID, TopicInMemory, begun, cluster, first, only
from kafka import TopicPartition

from clientscope.errors import EnvironmentProblem
from clientscope.kafka.reader import OffsetRange
from clientscope.model.topics import CONFIGS, CONNECTIONS, JOB
from sinks.history.batches import append
from streaming.checkpoints import topics_now
from streaming.checkpoints.topics_now import EARLIEST, TopicsNow
from streaming.job_checkpoints import Checkpoints

BOTH = first(CONFIGS, READ) | first(CONNECTIONS, READ)
"""Where the query `live` is."""


class Job:
    """Checkpoints over a cluster that says what it is told to say."""

    def __init__(self, history: Path, monkeypatch: pytest.MonkeyPatch, topic: TopicInMemory | None = None) -> None:
        self.topic, self.now, self.lost = topic or begun(), cluster(), list[tuple[str, int | None]]()
        monkeypatch.setattr(topics_now, "ask", lambda kafka, names: only(names, self.now))
        self.checkpoints = Checkpoints(
            self.topic,  # type: ignore[arg-type]
            "broker:1",
            Path("/a b"),
            str(history),
            lambda *lost: self.lost.append(lost),
            "4.2.0",
        )

    def begins(self, query: str = "live") -> Mapping[str, Mapping[str, int]]:
        """By topic and partition."""
        return json.loads(self.checkpoints.begin(query).offsets)  # type: ignore[no-any-return]

    def runs(self) -> str:
        """`live` begins and notes how far it is; returns its checkpoint."""
        checkpoint = self.checkpoints.begin("live").checkpoint
        self.checkpoints.note("live", "run", BOTH)
        return checkpoint

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


def of_configs(*partitions: tuple[int, int]) -> TopicsNow:
    """Where each partition of ``clientscope.configs`` begins and ends."""
    extents = {TopicPartition(CONFIGS, number): OffsetRange(*each) for number, each in enumerate(partitions)}
    return TopicsNow({CONFIGS: TOPIC_ID, JOB: TOPIC_ID}, extents)


def test_a_query_that_never_ran_begins_at_the_beginning_and_goes_on_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(tmp_path, monkeypatch, TopicInMemory())
    job.now = cluster(begin=10)
    begun = job.checkpoints.begin("live")
    assert (json.loads(begun.offsets), begun.checkpoint) == ({CONFIGS: {"0": 10}, CONNECTIONS: {"0": 0}}, job.start().checkpoint)
    assert (begun.location.startswith("file:/a b/live/"), job.lost) == (True, []), "it had read nothing of what was gone"
    again = job.checkpoints.begin("live")
    assert (again.offsets, again.checkpoint) == (begun.offsets, begun.checkpoint)
    assert again.location != begun.location, "Spark would go on with what it finds"
    job.now = cluster(begin=20)
    assert (job.begins()[CONFIGS], job.lost) == ({"0": 20}, [("live", 10)]), "they came and went unread"


def test_a_query_goes_on_behind_its_last_batch(job: Job) -> None:
    assert job.begins() == {CONFIGS: {"0": READ}, CONNECTIONS: {"0": READ}}
    job.checkpoints.note("live", "run", BOTH | first(CONFIGS, 57))
    assert job.begins() == {CONFIGS: {"0": 57}, CONNECTIONS: {"0": READ}}


def test_f24_records_that_are_gone_are_counted_and_the_query_begins_behind_them(job: Job) -> None:
    known = job.start()
    job.now = cluster(begin=READ)
    job.checkpoints.begin("live")
    assert (job.start(), job.lost) == (known, []), "those that went had been read"
    job.now = cluster(begin=58)
    assert job.begins() == {CONFIGS: {"0": 58}, CONNECTIONS: {"0": READ}}
    lost = {CONFIGS: {0: 58 - READ}}
    assert job.start().offsets == {CONFIGS: {0: 58}, CONNECTIONS: {0: READ}}
    assert (job.start().lost, job.lost) == (lost, [("live", 58 - READ)])
    job.now = cluster(begin=59)
    job.checkpoints.begin("live")
    assert job.start().lost == {CONFIGS: {0: 59 - READ}}, "and those that go before it has read them too"
    assert job.checkpoints.lost() == {("live", CONFIGS, 0): 59 - READ}


def test_f24_a_topic_that_ends_before_what_was_read_is_read_from_its_beginning(job: Job) -> None:
    job.now = cluster(end=READ - 10)
    assert job.begins() == {CONFIGS: {"0": 0}, CONNECTIONS: {"0": READ}}
    assert job.lost == [("live", None)]
    assert (job.checkpoints.verdicts("1"), job.topic.state.verdicts.begin) == ({0: END}, {0: END}), "what there was counts no more"


def test_verdicts_count_while_rules_and_topics_are_the_same(job: Job) -> None:
    assert (job.checkpoints.verdicts("1"), job.start().offsets) == ({0: END}, {CONNECTIONS: {0: READ}}), "nothing was known of them"
    assert job.begins() == {CONFIGS: {"0": 0}, CONNECTIONS: {"0": READ}}
    job.now = cluster(results_end=END + 10)
    known = job.start()
    assert (job.checkpoints.verdicts("1"), job.start()) == ({0: END}, known)
    job.runs()
    assert (job.checkpoints.verdicts("2"), job.start().checkpoint != known.checkpoint) == ({0: END + 10}, True)
    job.now = cluster(topic_id="another")
    assert job.checkpoints.verdicts("2") == {0: END}


def test_verdicts_of_pushes_that_the_broker_has_lost_count_no_more(job: Job) -> None:
    job.checkpoints.verdicts("1")
    job.runs()
    job.now = cluster(end=READ - 10, results_end=END + 10)
    assert job.checkpoints.verdicts("1") == {0: END + 10}, "new pushes come at their offsets"


def test_f24_a_topic_that_was_made_again_is_read_from_its_beginning(job: Job) -> None:
    known = job.runs()
    assert job.checkpoints.stale(job.now) == {}
    job.now = cluster(topic_id="another", end=READ - 10)
    assert job.checkpoints.stale(job.now) == {"live": CONFIGS, "history_pushes": CONFIGS}
    assert job.topic.restored == 1, "the job's own topic is another one as well"
    begins = job.checkpoints.begin("live")
    assert (json.loads(begins.offsets), begins.checkpoint != known) == ({CONFIGS: {"0": 0}, CONNECTIONS: {"0": 0}}, True)
    assert job.lost == [("live", None)]
    with pytest.raises(EnvironmentProblem, match="its batch isn't kept"):
        job.checkpoints.require_current("live", known)
    job.checkpoints.require_current("live", begins.checkpoint)
    assert job.checkpoints.stale(job.now) == {"history_pushes": CONFIGS}
    assert job.topic.restored == 1
    job.now = cluster(topic_id=None)
    assert job.checkpoints.begin("live").checkpoint == begins.checkpoint, "a broker without ids is believed"


def test_a_reset_makes_a_running_query_stale(job: Job) -> None:
    job.runs()
    job.topic.write(replace(job.start(), checkpoint="reset", offsets={CONFIGS: {0: 3}}))
    assert job.checkpoints.stale(job.now) == {"live": ""}
    for late in (False, True):
        if late:
            job.checkpoints.note("live", "run", BOTH)
        assert job.begins() == {CONFIGS: {"0": 3}, CONNECTIONS: {"0": 0}}
        assert job.checkpoints.stale(job.now) == {}


def test_a_partition_that_was_added_since_is_read_from_its_beginning(job: Job) -> None:
    job.now = of_configs((0, END), (0, 0))
    assert (job.begins("history_pushes"), job.lost) == ({CONFIGS: {"0": READ, "1": EARLIEST}}, [])
    job.now = of_configs((0, END), (5, 9))
    assert (job.begins("history_pushes"), job.lost) == ({CONFIGS: {"0": READ, "1": 5}}, [("history_pushes", 5)])


@pytest.mark.parametrize("end", [55, 20])
def test_f23_history_continues_behind_the_rows_that_it_has(job: Job, tmp_path: Path, end: int) -> None:
    """The job may have been killed after it had written them, and before it could note that; or the table was restored."""
    day = datetime(2026, 11, 30, tzinfo=UTC).date()
    for start, there in ((job.start("history_pushes").checkpoint, range(end - 5, end)), ("of before a reset", range(END))):
        append(iter([pa.record_batch({"date": [day], "offset": [there.stop]})]), str(tmp_path / "pushes"), start, {0: there})
    job.now = cluster(begin=52)
    assert job.begins("history_pushes") == {CONFIGS: {"0": max(52, end)}}
    assert job.start("history_pushes").lost == ({} if end > 52 else {CONFIGS: {0: 52 - end}}), "what is in history isn't lost"


def test_a_table_that_can_not_be_read_is_named(job: Job, tmp_path: Path) -> None:
    (tmp_path / "pushes" / "_delta_log").mkdir(parents=True)
    (tmp_path / "pushes" / "_delta_log" / f"{0:020}.json").write_text("junk")
    with pytest.raises(EnvironmentProblem, match=r"the Delta table \S+/pushes can't be read: [ -~]+$"):
        job.checkpoints.begin("history_pushes")


def test_f21_what_a_query_reads_next_is_each_partitions_share_of_what_is_left(job: Job) -> None:
    job.now = of_configs((READ + 2, END), (0, 24), (9, 9))
    every = {(CONFIGS, 0): (READ + 2, END), (CONFIGS, 1): (0, 24)}
    assert job.checkpoints.next_records("history_pushes", 50_000) == every
    assert job.checkpoints.next_records("history_pushes", 5) == {(CONFIGS, 0): (READ + 2, READ + 4), (CONFIGS, 1): (0, 4)}


def test_progress_is_of_the_start_that_the_query_began_with(job: Job) -> None:
    job.checkpoints.note("history_connections", "run", first(CONFIGS, 57))
    assert job.topic.written == [], "it hasn't begun"
    job.checkpoints.begin("live")
    job.checkpoints.note("live", "run", first(CONFIGS, 57))
    noted = job.topic.state.progress["live"]
    assert (noted.checkpoint, noted.position, noted.spark_version) == (job.start().checkpoint, {CONFIGS: {0: 57}}, "4.2.0")
