"""Memory budget of a worker: one bound for the bytes of all connections that one side sent and the other has not taken.

Each connection stops reading from one side while anything for the other is unsent, so it holds one read of the socket at most, 256 KB.
Ten thousand slow readers are still gigabytes. Where all connections together hold more than the budget, nothing is read from
any of them until three quarters are left. Clients that take nothing meanwhile, or next to nothing, lose their connection, those that
hold most first. Halves of frames can't become fewer while nothing is read, so they cost a connection only where they alone are too
much. A broker that takes nothing does not cost its clients theirs. Envoy's overload manager acts likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

_RESUME_AT = 0.75
_LEAST_TAKEN = 0.1
"""How much of what it had a client must take between two looks: so a stop is short, however slowly clients read."""
_TRIM_FROM_BYTES = 32 * 1024 * 1024


class Holder(Protocol):
    """Something that holds bytes for a connection."""

    @property
    def held_bytes(self) -> int:
        """How many it holds now."""

    @property
    def evictable(self) -> bool:
        """Whether it is the client's doing that they are still here."""

    @property
    def needs_reading(self) -> bool:
        """Whether they become fewer only by more that is read."""

    def evict(self) -> None:
        """Ends the connection, whose bytes are dropped."""


class Budget:
    """The bytes that all connections of one process hold. No I/O; called in one event loop.

    Args:
        most_bytes: the bound.
        stop: stops reading from every connection; ``resume`` takes that back.
        count: adds one to a counter: what, and the reason.
        give_back: gives freed memory back to the system.
    """

    def __init__(
        self,
        most_bytes: int,
        stop: Callable[[], None],
        resume: Callable[[], None],
        count: Callable[[str, str], None],
        give_back: Callable[[], None],
    ) -> None:
        self.most_bytes = most_bytes
        self._stop = stop
        self._resume = resume
        self._count = count
        self._give_back = give_back
        self._held: dict[Holder, int] = {}
        self._before: dict[Holder, int] = {}
        self._peak = 0
        self.total = 0
        self.exceeded = False

    def holds(self, holder: Holder, held_bytes: int) -> None:
        """A holder has so many bytes now."""
        self.total += held_bytes - self._held.get(holder, 0)
        if held_bytes:
            self._held[holder] = held_bytes
        else:
            self._held.pop(holder, None)
        self._peak = max(self._peak, self.total)
        if not self.exceeded:
            if self.total > self.most_bytes:
                self.exceeded = True
                self._before = {}  # a client that took all and was sent as much again just now is not slow
                self._count("reads_held", "budget")
                self._stop()
        elif self.total <= self.most_bytes * _RESUME_AT:
            self.exceeded = False
            self._resume()

    def look(self) -> None:
        """Ends connections whose clients have taken next to nothing since the last look, while there is too much.

        Called once a second, and more often while there is.
        """
        for holder in list(self._held):
            self.holds(holder, holder.held_bytes)
        if self.exceeded:
            self._relieve()
        self._before = dict(self._held) if self.exceeded else {}
        if self._peak >= _TRIM_FROM_BYTES and self.total < self._peak // 4:
            self._peak = self.total
            self._give_back()

    def _relieve(self) -> None:
        """The slow readers first, as many as it takes; then halves of frames, if they alone are too much."""
        most_left = {holder: held * (1 - _LEAST_TAKEN) for holder, held in self._before.items() if holder.evictable}
        slow = [holder for holder, held in self._held.items() if not holder.needs_reading and held > most_left.get(holder, held)]
        self._evict(slow, self.total)
        halves = [holder for holder in self._held if holder.needs_reading]
        self._evict(halves, sum(self._held[holder] for holder in halves))

    def _evict(self, holders: list[Holder], total: int) -> None:
        """Ends the connections that hold most of a total, until little enough of it is left."""
        for holder in sorted(holders, key=lambda holder: -self._held[holder]):
            if total <= self.most_bytes * _RESUME_AT:
                break
            total -= self._held[holder]
            self._count("connections_evicted", "budget")
            holder.evict()
            self.holds(holder, 0)
