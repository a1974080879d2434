"""Read clock: how far ``clientscope.connections`` has been read, as a time, by which gateways' silence is measured."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from clientscope.model.input import InputRecord

RETURN_S = 45.0
"""For how long a gateway may stay silent once Kafka is back: kafka-python waits up to 36 s before it connects again."""

MOST_LOOKS = 512
"""Answers that are kept of partitions that are not read to their ends. Beyond, every second one of the older half is dropped, but for the
first one since Kafka was back: it says which records are older than that."""

_SLOW_S = 2.0
_GAP_S = 10.0


class _Look(NamedTuple):
    """Where the partitions ended: not before ``before``, and not after ``after``."""

    before: float
    after: float
    ends: Mapping[int, int]


class ReadClock:
    """The time up to which each partition has been read.  Without I/O; for one thread at a time.

    Kafka is asked every second where the partitions end. A record below an end was appended before the answer came. Of a partition that is
    read to an end, all has been read that was appended before the question was asked. So only the job's own clock measures; those of
    brokers and gateways may be wrong.

    The clock counts seconds in which gateways could write, and never goes back: it stops when Kafka stops answering, until the next answer.
    An answer that took more than two seconds, or that comes ten seconds after the last one, may hide an outage, and counts as one.

    Attributes:
        returned: the clock's time when Kafka was back; 0 at the start, since it may have been away before. Gateways whose records are
            not newer may need `RETURN_S` until they write again.
    """

    def __init__(self) -> None:
        self.returned = 0.0
        self._counted, self._runs_from = 0.0, math.inf
        self._newest = 0.0
        self._asked = -math.inf
        self._looks: list[_Look] = [_Look(0.0, 0.0, {})]
        self._positions: dict[int, int] = {}
        self._partitions: frozenset[int] = frozenset()

    def now(self, at: float) -> float:
        """The clock's time.

        Args:
            at: by the caller's clock, which never goes back.
        """
        now = self._counted + max(0.0, at - self._runs_from)
        self._newest = max(self._newest, now)
        return now

    @property
    def looks(self) -> int:
        """How many answers are kept."""
        return len(self._looks)

    @property
    def waits(self) -> bool:
        """Whether Kafka doesn't answer, or not every gateway has had the time to write again."""
        return self._runs_from == math.inf or self.now(self._asked) < self.returned + RETURN_S

    def looked(self, ends: Mapping[int, int], before: float, after: float) -> None:
        """Takes in where the partitions end.

        Args:
            before, after: when Kafka was asked, and when it had answered, by the caller's clock.
        """
        if self._runs_from == math.inf or before - self._asked > _GAP_S or after - before > _SLOW_S:
            self.missed()
            self.returned, self._runs_from = self._counted, after
        self._partitions, self._asked = frozenset(ends), after
        newest = self._looks[-1].ends  # a leader that has just begun may know of less
        ends = {partition: max(end, newest.get(partition, 0)) for partition, end in ends.items()}
        self._looks.append(_Look(self.now(before), self.now(after), ends))
        if len(self._looks) > MOST_LOOKS:
            back = bisect_right(self._looks, self.returned, key=lambda look: look.after) - 1
            dropped = set(range(1, MOST_LOOKS // 2, 2)) - {back}
            self._looks = [look for place, look in enumerate(self._looks) if place not in dropped]

    def missed(self) -> None:
        """Kafka didn't answer."""
        self._counted, self._runs_from = self._newest, math.inf

    def read(self, positions: Mapping[int, int]) -> None:
        """Takes in the offsets of the next records; what is before them was applied."""
        for partition, position in positions.items():
            self._positions[partition] = max(position, self._positions.get(partition, 0))

    def applied(self, inputs: Iterable[InputRecord]) -> None:
        """Takes in a batch's records: a batch has all of a partition up to its last one."""
        for each in inputs:
            self._positions[each.partition] = max(each.offset + 1, self._positions.get(each.partition, 0))

    def appended(self, partition: int, offset: int, at: float) -> float:
        """By when a record that is read now was appended, by this clock."""
        place = bisect_right(self._looks, offset, key=lambda look: look.ends.get(partition, 0))
        return self._looks[place].after if place < len(self._looks) else self.now(at)

    def read_to(self) -> tuple[float, dict[int, float]]:
        """The time up to which all partitions have been read, and that of each."""
        reached = {partition: self._last_read(partition) for partition in self._partitions}
        del self._looks[: min(reached.values(), default=0)]
        first = min(reached.values(), default=0)
        times = {partition: self._looks[place - first].before for partition, place in reached.items()}
        return self._looks[0].before, times

    def _last_read(self, partition: int) -> int:
        """The place of the last look at whose end the partition has arrived."""
        position = self._positions.get(partition, 0)
        return max(0, bisect_right(self._looks, position, key=lambda look: look.ends.get(partition, 0)) - 1)
