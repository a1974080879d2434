"""Counts of connections that clients opened in the last minutes: what a client costs that comes and goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from sinks.dashboard.rows.schema import Database

MINUTES = 5
"""How far back openings count."""

_MINUTE_MS = 60_000


class Openings:
    """Keeps ``opened`` of the clients as it should be, by the minute in which gateways saw a connection open."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._newest = 0
        self._waiting: Counter[tuple[int, str]] = Counter()
        self._moved: dict[int, int] = {}
        """Stored connections that turned out to be another client's → the minute in which they were opened."""
        self._of: dict[int, Counter[int]] = {}
        """By minute, how many each client opened."""

    def opened(self, key: str, at_ms: int, count: int = 1) -> None:
        """A client opened connections, or, if ``count`` is negative, they weren't its."""
        minute = at_ms // _MINUTE_MS
        self._newest = max(self._newest, minute)
        if minute > self._newest - MINUTES:
            self._waiting[minute, key] += count

    def moved(self, row: int, key: str, at_ms: int) -> None:
        """A connection in the table is this client's, and not the one's that it was taken for."""
        self._moved.setdefault(row, at_ms // _MINUTE_MS)
        self.opened(key, at_ms)

    def take_moved(self) -> dict[int, int]:
        """Rows that moved since the last call, each with its minute."""
        moved, self._moved = self._moved, {}
        return moved

    def not_opened(self, client: int, minute: int) -> None:
        """One of these was another client's."""
        if minute in self._of:
            self._count(client, minute, -1)

    def flush(self, numbers: Mapping[str, int]) -> None:
        """Writes what was opened.

        Args:
            numbers: of the clients by their keys; one that isn't there never had a connection that stayed its own.
        """
        for (minute, key), count in self._due():
            if key in numbers:
                self._count(numbers[key], minute, count)
        self._waiting.clear()
        self._expire()

    @property
    def waiting(self) -> set[str]:
        """Keys of the clients that `flush` will write."""
        return {key for (_, key), _ in self._due()}

    @property
    def held(self) -> int:
        """How many counts wait for `flush`."""
        return len(self._waiting)

    def _due(self) -> list[tuple[tuple[int, str], int]]:
        """What waits and still counts."""
        return [(of, count) for of, count in self._waiting.items() if count and of[0] > self._newest - MINUTES]

    def set_now(self, now_ms: int) -> bool:
        """Lets openings grow old; returns whether that changed anything."""
        self._newest = max(self._newest, now_ms // _MINUTE_MS)
        return self._expire()

    def _count(self, client: int, minute: int, count: int) -> None:
        self._of.setdefault(minute, Counter())[client] += count
        self._database.run("UPDATE clients SET opened = opened + ? WHERE id = ?", count, client)

    def _expire(self) -> bool:
        over = [minute for minute in self._of if minute <= self._newest - MINUTES]
        for minute in over:
            gone = ((count, client) for client, count in self._of.pop(minute).items() if count)
            self._database.many("UPDATE clients SET opened = opened - ? WHERE id = ?", gone)
        return bool(over)
