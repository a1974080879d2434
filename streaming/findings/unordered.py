"""Which connection records are news while older ones may still come after newer ones, as they do until all has been read from the start."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from clientscope.findings.conditions import gateway_subject
from clientscope.records.layouts import Kind
from streaming.findings.inputs import ConnectionChange, Gateway
from streaming.findings.number_ranges import NumberRanges
from streaming.limits import Limit, Overflow

CLOSED_RANGES = Limit(
    "closed_ranges",
    1_000_000,
    "ranges of closed connections while it reads what was there at its start",
    "of one gateway some connections that are still to be read count as closed: their clients may count as gone",
    "low",
    "look at who writes to clientscope.connections",
)


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
        if event.connection in closed or event.sequence <= sequences.get(event.connection, -1):
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
