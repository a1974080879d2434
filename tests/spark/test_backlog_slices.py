"""A backlog's slices with a real session: all of them in order, the next one read while one is taken."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pyarrow as pa
import pytest
from kafka import TopicPartition
from pyspark.sql import SparkSession

from clientscope.kafka.reader import OffsetRange
from streaming import backlog
from streaming.backlog import Backlog
from streaming.turns import Stopped

PATIENCE_S = 20.0


class Followed:
    """A backlog of two topics, with the numbers of its offsets as rows.

    Attributes:
        begun: set by each slice that is begun, by its first offset.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.begun = {first: threading.Event() for first in range(0, 50, 10)}
        self.taken: list[object] = []
        self.failing: Exception | None = None
        topics = [("first", 50), ("second", 10)]
        ranges = [(topic, {TopicPartition(topic, 0): OffsetRange(0, end)}) for topic, end in topics]
        self.backlog = Backlog(spark, ranges, self._read, self._take, self.taken.append)

    def _read(self, part: Mapping[TopicPartition, OffsetRange]) -> pa.Table:
        ((_, (first, end)),) = part.items()
        self.begun[first].set()
        return pa.table({"offset": range(first, end)})

    def _take(self, rows: pa.Table) -> None:
        first, last = rows["offset"][0].as_py(), rows["offset"][-1].as_py()
        if last + 1 in self.begun and "first" not in self.taken:
            assert self.begun[last + 1].wait(PATIENCE_S), "the next one is read meanwhile"
        if self.failing is not None:
            raise self.failing
        self.taken.append((first, last))

    def run(self) -> None:
        self.backlog.start()
        self.backlog._thread.join(PATIENCE_S)
        assert not self.backlog._thread.is_alive()


@pytest.fixture
def followed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Followed:
    monkeypatch.setattr(backlog, "_SLICE", 10)
    return Followed(spark)


def test_all_slices_are_taken_in_order_and_a_topic_is_done_after_its_last_one(followed: Followed) -> None:
    followed.run()
    assert followed.backlog.failure is None
    assert followed.taken == [*((first, first + 9) for first in range(0, 50, 10)), "first", (0, 9), "second"]
    assert followed.backlog.left == 0


def test_a_slice_that_cannot_be_taken_ends_it_with_the_reason(followed: Followed) -> None:
    followed.failing = ValueError("no slice")
    followed.run()
    assert followed.backlog.failure is followed.failing
    assert (followed.taken, followed.backlog.left) == ([], 60)


def test_a_job_that_stops_is_no_failure(followed: Followed) -> None:
    followed.failing = Stopped()
    followed.run()
    assert followed.backlog.failure is None
    assert followed.taken == []
