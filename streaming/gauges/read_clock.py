"""Time up to which ``clientscope.connections`` has been read, by which gateways' silence is measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clientscope.model.input import InputRecord

RETURN_S = 45.0
"""For how long a gateway may stay silent once Kafka is back: kafka-python waits up to 36 s before it connects again."""

_SLOW_S = 2.0
_GAP_S = 10.0


class ReadClock:
    """Up to when all partitions have been read.  Without I/O; for one thread at a time.

    Kafka is asked every second where the partitions end. Once all are read to these ends, all has been read that was appended before the
    question was asked. So only the job's own clock measures; those of brokers and gateways may be wrong.

    An answer that took more than two seconds, or that comes ten seconds after the last one, may hide an outage, and counts as one.

    Args:
        now: by a clock that never goes back, as all times here.

    Attributes:
        read_to: all that was appended before then has been read.
        returned: when Kafka was back; at the start, since it may have been away before. Gateways not heard since may need `RETURN_S` until
            they write again.
    """

    def __init__(self, now: float) -> None:
        self.read_to = self.returned = now
        self._is_away, self._asked = True, now
        self._back: Mapping[int, int] = {}
        self._newest: dict[int, int] = {}
        self._looks: list[tuple[float, Mapping[int, int]]] = []
        self._positions: dict[int, int] = {}

    def waits(self, now: float) -> bool:
        """Whether Kafka doesn't answer, or not every gateway has had the time to write again."""
        return self._is_away or now < self.returned + RETURN_S

    def looked(self, ends: Mapping[int, int], before: float, after: float) -> None:
        """Takes in where the partitions end.

        Args:
            before, after: when Kafka was asked, and when it had answered.
        """
        # A leader that has just begun may know of less.
        self._newest = {partition: max(end, self._newest.get(partition, 0)) for partition, end in ends.items()}
        if self._is_away or before - self._asked > _GAP_S or after - before > _SLOW_S:
            self._is_away, self.returned, self._back = False, after, self._newest
        self._asked = after
        self._looks[1:] = [(before, self._newest)]  # beside the one whose ends are being read to
        self._reach()

    def missed(self) -> None:
        """Kafka didn't answer."""
        self._is_away = True

    def read(self, positions: Mapping[int, int]) -> None:
        """Takes in the offsets of the next records; what is before them was applied."""
        for partition, position in positions.items():
            self._positions[partition] = max(position, self._positions.get(partition, 0))
        self._reach()

    def applied(self, inputs: Iterable[InputRecord]) -> None:
        """Takes in a batch's records: a batch has all of a partition up to its last one."""
        for each in inputs:
            self._positions[each.partition] = max(each.offset + 1, self._positions.get(each.partition, 0))
        self._reach()

    def appended(self, partition: int, offset: int, now: float) -> float:
        """By when a record that is read now was appended: before Kafka was back, or just now."""
        return self.returned if offset < self._back.get(partition, 0) else now

    def _reach(self) -> None:
        while self._looks and all(self._positions.get(partition, 0) >= end for partition, end in self._looks[0][1].items()):
            self.read_to = self._looks.pop(0)[0]
