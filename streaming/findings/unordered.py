"""Which connection records are news while older ones may still come after newer ones, as they do until all has been read from the start."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace

from clientscope.findings.conditions import gateway_subject
from clientscope.records.enums import Kind
from streaming.findings.inputs import ConnectionChange, Gateway
from streaming.limits import Limit, Overflow

CLOSED_RANGES = Limit(
    "closed_ranges",
    1_000_000,
    "ranges of closed connections while it reads what was there at its start",
    "of one gateway some connections that are still to be read count as closed: their clients may count as gone",
    "low",
    "look at who writes to clientscope.connections",
)


class NumberRanges:
    """Numbers, kept as ranges: those that follow one another, however many, take the room of one."""

    __slots__ = ("_ends", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []  # each the number after its range's last

    def __len__(self) -> int:
        """How many ranges there are."""
        return len(self._firsts)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number)
        return at > 0 and number < self._ends[at - 1]

    def add(self, number: int) -> None:
        """Takes in one number."""
        at = bisect_right(self._firsts, number)
        if at and number < self._ends[at - 1]:
            return
        follows, leads = at > 0 and self._ends[at - 1] == number, at < len(self._firsts) and self._firsts[at] == number + 1
        if follows and leads:
            self._ends[at - 1] = self._ends[at]
            del self._firsts[at], self._ends[at]
        elif follows:
            self._ends[at - 1] = number + 1
        elif leads:
            self._firsts[at] = number
        else:
            self._firsts.insert(at, number)
            self._ends.insert(at, number + 1)

    def close_lowest_gap(self) -> None:
        """Takes in all numbers between the lowest two ranges, of which there are two at the least."""
        del self._firsts[1], self._ends[0]


class UnorderedEvents:
    """Of each gateway's newest process: the last record of each open connection, and which connections were closed.

    A connection's number is never used again by the same process, and numbers are counted up. So closed connections are a few ranges of
    numbers, with a gap for each connection that is open or still to be read, however many there were.
    """

    def __init__(self, most_ranges: int = CLOSED_RANGES.most) -> None:
        self.full = Overflow(replace(CLOSED_RANGES, most=most_ranges))
        self.ranges = 0
        self._most = most_ranges
        self._open: defaultdict[Gateway, dict[int, int]] = defaultdict(dict)
        self._closed: defaultdict[Gateway, NumberRanges] = defaultdict(NumberRanges)

    def takes(self, gateway: Gateway, event: ConnectionChange) -> bool:
        """Notes a record; whether it is newer than all that came of its connection before."""
        sequences, closed = self._open[gateway], self._closed[gateway]
        last = sequences.get(event.connection)
        if event.connection in closed if last is None else event.sequence <= last:
            return False
        if event.kind != Kind.CLOSED:
            sequences[event.connection] = event.sequence
            return True
        sequences.pop(event.connection, None)
        before = len(closed)
        closed.add(event.connection)
        self.ranges += len(closed) - before
        if self.ranges > self._most and len(closed) > 1:
            closed.close_lowest_gap()
            self.ranges -= 1
            self.full.exceeded(gateway_subject(*gateway)[:200])
        return True

    def forget(self, gateway: Gateway, connection: int) -> None:
        """An open connection isn't known any more."""
        self._open[gateway].pop(connection, None)

    def ended(self, gateway: Gateway) -> None:
        """A gateway's process has ended: none of its records counts any more."""
        self._open.pop(gateway, None)
        self.ranges -= len(self._closed.pop(gateway, ()))
