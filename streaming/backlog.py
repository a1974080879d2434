"""What topics had at a query's start, read a slice at a time beside the query, which reads what is new."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from kafka import TopicPartition
from pyspark.sql import SparkSession

from clientscope.kafka.reader import OffsetRange
from streaming.findings.inputs import EngineInput

log = logging.getLogger(__name__)

Ranges = Mapping[TopicPartition, OffsetRange]

_SLICE = 20_000
"""Offsets of a slice: its rows come to the driver, some 3 KB each."""

_MOST_IN_SLICE = 8 * _SLICE
"""The same where compaction has left so little that most offsets are gone."""


class Backlog:
    """Reads topics one after another, in a thread of its own.

    Args:
        topics: in the order in which they are read, each with what there is to read.
        read: reads a slice, by a job of Spark.
        take: called with what a slice has.
        done: called with each topic once all of it was taken.

    Attributes:
        failure: why it ended before the end; None where it didn't.
        left: offsets that are still to be read.
    """

    def __init__(
        self,
        spark: SparkSession,
        topics: Sequence[tuple[str, Ranges]],
        read: Callable[[Ranges], Sequence[EngineInput]],
        take: Callable[[Sequence[EngineInput]], None],
        done: Callable[[str], None],
    ) -> None:
        self.failure: Exception | None = None
        self.left = sum(end - first for _, ranges in topics for first, end in ranges.values())
        self._spark, self._topics, self._read, self._take, self._done = spark, topics, read, take, done
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="clientscope-backlog", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self, patience_s: float = 10.0) -> None:
        """Ends it; a slice that is being read is thrown away."""
        self._stopping.set()
        if self._thread.is_alive():
            self._spark.sparkContext.cancelJobGroup(self._thread.name)
            self._thread.join(patience_s)

    def _run(self) -> None:
        context = self._spark.sparkContext
        try:
            context.setJobGroup(self._thread.name, "what was there at the start", interruptOnCancel=True)
            context.setLocalProperty("spark.scheduler.pool", self._thread.name)
            for topic, ranges in self._topics:
                self._read_all({partition: each for partition, each in ranges.items() if each.first < each.end})
                if not self._stopping.is_set():
                    self._done(topic)
        except Exception as error:  # the query's own thread says so, and starts it again
            if not self._stopping.is_set():
                self.failure = error

    def _read_all(self, ranges: Ranges) -> None:
        size = _SLICE
        while ranges and not self._stopping.is_set():
            part, ranges = cut(ranges, size)
            found = self._read(part)
            self._take(found)
            offsets = sum(end - first for first, end in part.values())
            self.left -= offsets
            size = min(2 * size, _MOST_IN_SLICE) if len(found) < offsets // 4 else _SLICE


def cut(ranges: Ranges, size: int) -> tuple[dict[TopicPartition, OffsetRange], dict[TopicPartition, OffsetRange]]:
    """The first offsets of each partition, by its part in all of them, and what is left; no range of either is empty.

    Args:
        size: how many offsets to take of all partitions together, and up to one more of each.
    """
    total = sum(end - first for first, end in ranges.values())
    part: dict[TopicPartition, OffsetRange] = {}
    left: dict[TopicPartition, OffsetRange] = {}
    for partition, (first, end) in ranges.items():
        middle = min(end, first + -(-(end - first) * size // total))
        part[partition] = OffsetRange(first, middle)
        if middle < end:
            left[partition] = OffsetRange(middle, end)
    return part, left
