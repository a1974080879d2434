"""One client's closes of idle connections, which show ``connections.max.idle.ms``.

A client that closes one connection by itself after a long silence, and no other within some seconds before and after, has found it idle for
too long. An application that ends closes all of its connections at once. Of two applications with the same names it can't be said which
has ended, so only a client with exactly one connection that speaks for a consumer group counts, which stays: each of two members of a
group has such a connection to the group's coordinator.

No I/O; time is passed in.
"""

from __future__ import annotations

from typing import NamedTuple

from clientscope.catalog.request_settings import idle_text

APART_S = 5.0
"""How long before and after a close the client closes no other connection."""
LEAST_IDLE_MS = 10_000
"""What is idle for less may have been closed for anything else."""
_ONE_START_MS = 10_000
"""Connections that are opened within so long of each other are of one start of a client."""
MOST_COUNTED = 8
"""Closes of a client that count; later ones cause no further record."""


class IdleClose(NamedTuple):
    """A connection that its client has closed.

    Attributes:
        idle_ms: how long it was idle.
        opened_ms: when it was opened, since the epoch.
        member: id of the client's connection that speaks for its group; ``member_opened_ms`` as above.
    """

    idle_ms: int
    opened_ms: int
    member: int
    member_opened_ms: int


class IdleCloses:
    """Those of one client."""

    __slots__ = ("_closed_s", "_count", "_last", "_least_ms", "_most_ms", "_of_one_start")

    def __init__(self) -> None:
        self._closed_s = float("-inf")
        self._last: IdleClose | None = None
        self._least_ms = self._most_ms = self._count = 0
        self._of_one_start = False

    def closed(self, close: IdleClose | None, now_s: float) -> bool:
        """A connection of the client has ended; whether to `settle` in `APART_S`.

        Args:
            close: None where it can't be for idleness.
        """
        alone = now_s - self._closed_s >= APART_S
        self._closed_s = now_s
        self._last = close if alone and self._count < MOST_COUNTED else None
        return self._last is not None

    def settle(self, member: int | None) -> bool:
        """Counts the last close, if no other has followed it; whether something new is known.

        Args:
            member: the connection that speaks for the client's group now.
        """
        close, self._last = self._last, None
        if close is None or close.member != member:
            return False
        self._least_ms = min(self._least_ms or close.idle_ms, close.idle_ms)
        self._most_ms = max(self._most_ms, close.idle_ms)
        self._count += 1
        self._of_one_start |= abs(close.opened_ms - close.member_opened_ms) <= _ONE_START_MS
        return True

    def text(self, library: str | None) -> str | None:
        """What that says of ``connections.max.idle.ms``; None for nothing.

        One close is enough if the connection is of the same start as the one that stays: it may else be of an earlier client.
        """
        return idle_text(self._least_ms, self._most_ms, self._count, library) if self._of_one_start or self._count > 1 else None
