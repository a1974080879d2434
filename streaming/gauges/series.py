"""Series of a gateway's newest process: their newest counts, and which of them must be written to the topic.

Two rules make them exact. The newest count by sequence wins, so order and duplicates don't matter. A complete heartbeat lists every series
that has connections, so older records of other series are void: a series that is gone needs no memory, and a lost record is corrected.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from clientscope.model.series import MOST_SERIES


class KnownCount(NamedTuple):
    """The newest counts of a series."""

    connections: int
    opened: int
    closed: int
    sequence: int
    timestamp_ms: int


class SeriesTable:
    """Series by the key that ``model.series.series_key`` makes, and what the topic has of them.

    A gateway reports at most `MOST_SERIES`, and the rest as one. Those that it has forgotten since its last heartbeat are still here beside
    new ones, so there is room for twice as many.

    Attributes:
        floor: the sequence at which the newest whole heartbeat began; older records are void.
    """

    def __init__(self) -> None:
        self.floor = 0
        self._counts: dict[bytes, KnownCount] = {}
        self._published: dict[bytes, KnownCount | None] = {}  # None of an older epoch
        self._touched: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._counts)

    def load(self, key: bytes, count: KnownCount | None) -> None:
        """Takes in what was published before this process started; None of an older epoch, which the topic is to lose."""
        self._published[key] = count
        if count is None:
            self._touched.add(key)
        else:
            self._counts[key] = count

    def merge(self, key: bytes, count: KnownCount) -> bool:
        """Takes in a count, in any order, any number of times.  Returns False where there is no room for its series."""
        known = self._counts.get(key)
        if count.sequence < (self.floor if known is None else known.sequence + 1):
            return True
        if known is None and len(self._counts) >= 2 * MOST_SERIES:
            return False
        self._counts[key] = count
        self._touched.add(key)
        return True

    def complete(self, first: int, end: int) -> None:
        """A heartbeat has come whole.

        Args:
            first, end: its sequences, the last one excluded.
        """
        if first < self.floor:
            return
        self.floor = first
        for key, count in list(self._counts.items()):
            if count.sequence < first or (count.connections == 0 and count.sequence < end):
                del self._counts[key]
                self._touched.add(key)

    def clear(self) -> None:
        """Another epoch begins: nothing is known of it, and the topic is to lose what it has of older ones."""
        self.floor = 0
        self._counts.clear()
        self._published = dict.fromkeys(self._published)
        self._touched = set(self._published)

    def changes(self) -> dict[bytes, KnownCount | None]:
        """The records that the topic still needs, None for a tombstone; they then count as written."""
        changes: dict[bytes, KnownCount | None] = {}
        for key in self._touched:
            count, before = self._counts.get(key), self._published.get(key)
            if count is None or not count.connections:
                if key in self._published:
                    del self._published[key]
                    changes[key] = None
            elif before is None or count[:3] != before[:3]:
                self._published[key] = changes[key] = count
        self._touched.clear()
        return changes

    def withdraw(self) -> dict[bytes, None]:
        """A tombstone for each that the topic has; should its gateway come back, all that is known is written again."""
        changes = dict.fromkeys(self._published)
        self._published.clear()
        self._touched = set(self._counts)
        return changes


def names(key: bytes) -> tuple[str, str, str]:
    """Listener, name and version of a series' key."""
    listener, name, version = json.loads(b"[" + key + b"]")
    return listener, name, version
