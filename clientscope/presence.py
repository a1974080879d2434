"""Presence: which gateways are there and which connections are open at each, by the records of ``clientscope.connections``.

Records count by (epoch, sequence) and not in the order in which they come, so repeated and late ones change nothing:

- A gateway's process is its epoch. A newer one ends all that the one before had open; what an older one says is void.
- A connection is open from its first record until its close. Its newest record says whose it is. What is closed stays closed.
- A gateway's last heartbeat says goodbye: nothing is open there any more. One that is silent for `LOST_AFTER` heartbeats is lost. It may
  have been cut off from Kafka, so its connections are kept, for it to come back with, until it has been silent for a day.
- The counts of a heartbeat are those of all its parts.

The gauges, the findings and the page keep what they need of a connection here. History has millions of rows: it asks the same of its table,
in SQL (`sinks.dashboard.past.connections`), and a test compares both. Times are ms, by a clock that the caller chooses.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from clientscope.model.gauge import GatewayKey

Whose = TypeVar("Whose")
Part = TypeVar("Part")

LOST_AFTER = 3
"""Intervals without a heartbeat after which a gateway is lost."""

FIRST_INTERVAL_MS = 30_000
"""When to expect a gateway's first heartbeat."""

FORGOTTEN_MS = 24 * 60 * 60_000
"""For how long a gateway that is gone is remembered, so that a late record of it isn't taken for its return.

A producer repeats a record for minutes at most. What comes after a day comes from reading the topic once more, to its end: the goodbye
or the silence is read again, too.
"""

MOST_GATEWAYS = 10_000
"""Made-up ones included. A further one takes the place of one that is gone or was silent for an hour."""

MOST_RANGES = 1_000_000
"""Ranges of closed connections, of all gateways."""

MOST_HEARTBEATS = 3
"""Heartbeats of one gateway that wait for parts; the next whole one has all that a forgotten one had."""

_SILENT_MS = 60 * 60_000


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


class HeartbeatParts(Generic[Part]):
    """Heartbeats of which some parts haven't come yet."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: dict[int, dict[int, Part]] = {}

    def add(self, first: int, part: int, parts: int, content: Part) -> list[Part] | None:
        """Takes in a part; returns what all of them have if it was the last that was missing. Those of older heartbeats are then forgotten.

        Args:
            first: the sequence at which the heartbeat begins.
            part: its number, of so many ``parts``.
        """
        known = self._pending.setdefault(first, {})
        known.setdefault(part, content)
        if len(known) < parts:
            return None
        self._pending = {number: pending for number, pending in self._pending.items() if number > first}
        return list(known.values())

    def forget_oldest(self) -> None:
        """Makes room where more than `MOST_HEARTBEATS` wait."""
        if len(self._pending) > MOST_HEARTBEATS:
            del self._pending[min(self._pending)]


@dataclass(slots=True, eq=False)
class GatewayProcess(Generic[Whose]):
    """The newest process of a gateway.

    Attributes:
        epoch: when it started, by its own clock.
        heard_ms: when its last heartbeat came; before the first, its first record.
        interval_ms: of its heartbeats; None before the first.
        heartbeat: the sequence at which the newest one began; -1 before the first.
        gone_ms: since when it has left or is lost; None while it is there.
        has_left: whether it has said goodbye.
        open: number of a connection → the sequence of its newest record, and whose it is.
        closed: numbers of connections.
        parts: of heartbeats that aren't whole yet.
    """

    key: GatewayKey
    epoch: int
    heard_ms: float
    interval_ms: int | None = None
    heartbeat: int = -1
    gone_ms: float | None = None
    has_left: bool = False
    open: dict[int, tuple[int, Whose]] = field(default_factory=dict)
    closed: NumberRanges = field(default_factory=NumberRanges)
    parts: HeartbeatParts[Any] = field(default_factory=HeartbeatParts)

    def due_ms(self, intervals: int = LOST_AFTER) -> float:
        """By when so many heartbeats are missing."""
        return self.heard_ms + intervals * (self.interval_ms or FIRST_INTERVAL_MS)

    def takes(self, number: int, sequence: int) -> bool:
        """Whether a record of an open connection says something new of it."""
        known = self.open.get(number)
        return not self.has_left and (known is None or sequence > known[0]) and number not in self.closed


class Presence(Generic[Whose]):
    """All gateways, each with its newest process.

    Args:
        ended: called with a process, and when, once nothing is open there any more: another has begun, it has left, or it is forgotten.
        no_room: called with a gateway for which there is none.
        narrowed: called with a gateway whose unread connections were taken for closed, for there are too many ranges.

    Attributes:
        processes: by gateway; the one that was heard last is last.
        ranges: how many there are of closed connections.
    """

    def __init__(
        self,
        ended: Callable[[GatewayProcess[Whose], float], None] = lambda *_: None,
        no_room: Callable[[GatewayKey], None] = lambda _: None,
        narrowed: Callable[[GatewayKey], None] = lambda _: None,
    ) -> None:
        self.processes: OrderedDict[GatewayKey, GatewayProcess[Whose]] = OrderedDict()
        self.ranges = 0
        self._ended, self._no_room, self._narrowed = ended, no_room, narrowed

    def process(self, gateway: GatewayKey, epoch: int, now_ms: float) -> GatewayProcess[Whose] | None:
        """The process that a record is of; None where the record is void, or there is no room for its gateway."""
        known = self.processes.get(gateway)
        if known is not None and epoch <= known.epoch:
            return known if epoch == known.epoch else None
        if known is not None:
            self._end(known, now_ms)
        elif not self._has_room(now_ms):
            self._no_room(gateway)
            return None
        found = self.processes[gateway] = GatewayProcess(gateway, epoch, now_ms)
        self.processes.move_to_end(gateway)
        return found

    def heard(self, process: GatewayProcess[Whose], first: int, interval_ms: int, now_ms: float) -> bool:
        """Takes in a heartbeat, which began at the sequence ``first``; returns whether it is the newest. An interval of 0 says goodbye."""
        is_newest, process.heartbeat = first > process.heartbeat, max(first, process.heartbeat)
        if interval_ms <= 0:
            process.gone_ms, process.has_left = process.gone_ms or now_ms, True
            self._end(process, now_ms)
        elif is_newest:
            process.heard_ms = now_ms if process.interval_ms is None else max(process.heard_ms, now_ms)
            process.interval_ms, process.gone_ms, process.has_left = interval_ms, None, False
            self.processes.move_to_end(process.key)
        return is_newest

    def close(self, process: GatewayProcess[Whose], number: int) -> bool:
        """Notes that a connection was closed; returns whether that is news. Who it was is for the caller to take from ``open``."""
        closed = process.closed
        if number in closed or process.has_left:
            return False
        before = len(closed)
        closed.add(number)
        self.ranges += len(closed) - before
        if self.ranges > MOST_RANGES and len(closed) > 1:
            closed.close_lowest_gap()
            self.ranges -= 1
            self._narrowed(process.key)
        return True

    def lose(self, process: GatewayProcess[Whose], now_ms: float) -> None:
        """Notes that a gateway is silent for too long; its next heartbeat has it back."""
        process.gone_ms = now_ms

    def forget(self, now_ms: float) -> None:
        """Forgets gateways that have been gone for a day."""
        for key, process in list(self.processes.items()):
            if process.gone_ms is not None and now_ms - process.gone_ms > FORGOTTEN_MS:
                self._remove(key, now_ms)

    def _has_room(self, now_ms: float) -> bool:
        if len(self.processes) < MOST_GATEWAYS:
            return True
        gone = (process for process in self.processes.values() if process.gone_ms is not None)
        oldest = min(gone, key=lambda process: process.gone_ms or 0, default=None) or next(iter(self.processes.values()))
        if oldest.gone_ms is None and now_ms - oldest.heard_ms < _SILENT_MS:
            return False
        self._remove(oldest.key, now_ms)
        return True

    def _remove(self, gateway: GatewayKey, now_ms: float) -> None:
        self._end(self.processes.pop(gateway), now_ms)

    def _end(self, process: GatewayProcess[Whose], now_ms: float) -> None:
        self.ranges -= len(process.closed)
        process.closed = NumberRanges()
        self._ended(process, now_ms)
        process.open.clear()
