"""Flow of one side of a connection: whether it is read, and which of its bytes wait."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.session.events import Pause, Resume, Side
from clientscope.session.session import Out


class Lane:
    """One side's bytes that wait; exists only while some do, since thousands of connections hold nothing.

    Attributes:
        waiting: iterators of the session, the next one first.
        held_bytes: number of bytes that they were made of.
        eof: whether that side sends no more; takes effect once they are done.
        waits_for_time: whether a `Wake` is under way.
    """

    __slots__ = ("eof", "held_bytes", "waiting", "waits_for_time")

    def __init__(self) -> None:
        self.waiting: list[Iterator[Out]] = []
        self.held_bytes = 0
        self.eof = self.waits_for_time = False

    def add(self, pieces: Iterator[Out], size: int) -> None:
        """More comes behind them."""
        self.waiting.append(pieces)
        self.held_bytes += size


_NONE: frozenset[str] = frozenset()  # one for all: each empty set of its own would take 216 bytes


class Flow:
    """What is known of one side: whether its bytes are read, and whether it takes any."""

    __slots__ = ("ended", "full", "lane", "pauses", "side")

    def __init__(self, side: Side, pauses: frozenset[str] = _NONE) -> None:
        self.side = side
        self.lane: Lane | None = None
        self.pauses = pauses
        self.ended = self.full = False

    def pause(self, why: str) -> Iterator[Pause]:
        """Stops reading until each reason is gone."""
        if not self.pauses:
            yield Pause(self.side)
        self.pauses |= {why}

    def resume(self, why: str) -> Iterator[Resume]:
        """Takes one reason back."""
        if why in self.pauses:
            self.pauses = self.pauses - {why} or _NONE
            if not self.pauses:
                yield Resume(self.side)
