"""Kafka's times of records, made to rise with the offsets of each partition.

LogAppendTime is the clock of a partition's leader. The next leader's clock may be behind it, and the same leader's may be set back: then a
record has an earlier time than those before it. Within a partition the offset decides which record is newer, and between partitions the
time (as in `clientscope.kafka.latest`). So such a record counts as appended a millisecond after the newest of those before it, and all
that compares times afterwards need not know of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from operator import itemgetter
from typing import Any

from streaming.findings.inputs import LogPosition
from udfs.kernels.finding_inputs import TOMBSTONE

Row = Mapping[str, Any]

_Partition = tuple[bool, int]
"""Whether it is one of ``clientscope.configs``, and its number."""


class _Reading:
    """How far a partition, or what it had at the start, has been read; times are those that rise."""

    def __init__(self) -> None:
        self.first: int | None = None
        self.last = -1
        self.newest_ms = 0

    def risen_ms(self, offset: int, appended_ms: int, before_ms: int) -> int:
        """The time of the next record; ``before_ms`` is the newest of those before the first."""
        if offset <= self.last:  # it was read before
            return appended_ms
        floor_ms = max(self.newest_ms, before_ms)
        self.first = offset if self.first is None else self.first
        self.last, self.newest_ms = offset, appended_ms if appended_ms >= floor_ms else floor_ms + 1
        return self.newest_ms


class AppendTimes:
    """Of the records of both topics: each partition is read by offset, what it had at the start beside what is new."""

    def __init__(self) -> None:
        self._there: defaultdict[_Partition, _Reading] = defaultdict(_Reading)
        self._new: defaultdict[_Partition, _Reading] = defaultdict(_Reading)

    def in_order(self, rows: Iterable[Row], was_there: bool) -> Iterator[Row]:
        """The rows of a batch: those of each partition by offset and with times that rise, between partitions the earlier ones first.

        Args:
            was_there: whether their records were there at the start.
        """
        partitions: defaultdict[_Partition, list[Row]] = defaultdict(list)
        for row in rows:
            partitions[row["kind"] is None or row["kind"] == TOMBSTONE, row["partition"]].append(row)
        return merge(*(self._risen(which, of, was_there) for which, of in partitions.items()), key=itemgetter("appended_ms"))

    def settled_ms(self, push: LogPosition) -> int:
        """The time of a push, once all has been read that was there at the start: before that a new one may have been given too early a
        time.
        """
        there, first = self._there[True, push.partition], self._new[True, push.partition].first
        return push.appended_ms if first is None or push.offset < first else max(push.appended_ms, there.newest_ms + 1)

    def _risen(self, which: _Partition, rows: Iterable[Row], was_there: bool) -> Iterator[Row]:
        reading, before_ms = (self._there[which], 0) if was_there else (self._new[which], self._there[which].newest_ms)
        for row in sorted(rows, key=itemgetter("offset")):
            risen_ms = reading.risen_ms(row["offset"], row["appended_ms"], before_ms)
            yield row if risen_ms == row["appended_ms"] else {**row, "appended_ms": risen_ms}
