"""What the session has made of one side's bytes and does not do yet: it goes on later, in order, and that side is not read meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from clientscope.gateway.worker.sides import Side
from clientscope.session.session import Out


class Lane:
    """Exists only while something is held, since thousands of connections hold nothing.

    Attributes:
        waiting: iterators of the session's, the one to go on with first.
        held_bytes: of what they were made of.
        eof: whether that side sends no more, which counts once they are done.
    """

    __slots__ = ("_side", "_timer", "eof", "held_bytes", "waiting")

    def __init__(self, side: Side) -> None:
        side.pause("held")
        self._side = side
        self._timer: asyncio.Handle | None = None
        self.waiting: list[Iterator[Out]] = []
        self.held_bytes = 0
        self.eof = False

    def add(self, pieces: Iterator[Out], size: int) -> None:
        """More comes behind them."""
        self.waiting.append(pieces)
        self.held_bytes += size

    def wait(self, seconds: float, go_on: Callable[[Side], None]) -> None:
        """Goes on after so long."""
        self._timer = asyncio.get_running_loop().call_later(seconds, self._now, go_on)

    def _now(self, go_on: Callable[[Side], None]) -> None:
        self._timer = None
        go_on(self._side)

    @property
    def waits_for_time(self) -> bool:
        """Whether it goes on by itself."""
        return self._timer is not None

    def end(self) -> None:
        """The connection has ended: nothing goes on."""
        if self._timer is not None:
            self._timer.cancel()
        self.waiting.clear()
