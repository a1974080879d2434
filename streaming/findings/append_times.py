"""Order of records within a partition, where Kafka's times of them go back.

LogAppendTime is the clock of a partition's leader. The next leader's clock may be behind it, and the same leader's may be set back: then a
record has an earlier time than those before it. Within a partition the offset decides which record is newer, and between partitions the
time (`LogPosition.is_after`, as in `clientscope.kafka.latest`). Lists need one order of all pushes. So each record has an ordering time
beside its own: the newest time of its partition up to there. Durations are those of Kafka's own times: a clock that was ahead for a moment
must not hold up a whole partition until true time has caught up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from operator import itemgetter
from typing import Any

from udfs.kernels.finding_inputs import TOMBSTONE

Row = Mapping[str, Any]

_Partition = tuple[bool, int]
"""Whether it is one of ``clientscope.configs``, and its number."""


class AppendTimes:
    """The newest time so far of each partition of both topics.

    A partition's records are read by offset. What it had at the start is read beside what is new, so each has a newest time of its own.
    """

    def __init__(self) -> None:
        self._newest_ms: defaultdict[tuple[bool, _Partition], int] = defaultdict(int)

    def in_order(self, rows: Iterable[Row], was_there: bool) -> list[tuple[int, Row]]:
        """Ordering time and row of each record of a batch: by offset within a partition, between partitions the earlier ones first.

        Args:
            was_there: whether their records were there at the start.
        """
        partitions: defaultdict[_Partition, list[Row]] = defaultdict(list)
        for row in rows:
            partitions[row["kind"] is None or row["kind"] == TOMBSTONE, row.get("partition", 0)].append(row)
        ordered = (self._ordered(which, of, was_there) for which, of in partitions.items())
        return sorted(chain.from_iterable(ordered), key=itemgetter(0))  # merges what is in order already

    def _ordered(self, which: _Partition, rows: Iterable[Row], was_there: bool) -> Iterator[tuple[int, Row]]:
        # What was there at the start comes before what is new.
        newest_ms = max(self._newest_ms[True, which], self._newest_ms[was_there, which])
        for row in sorted(rows, key=lambda row: row.get("offset", 0)):
            newest_ms = max(newest_ms, row["appended_ms"])
            yield newest_ms, row
        self._newest_ms[was_there, which] = newest_ms
