"""Series of a gateway's newest process: their newest counts, and which of them must be written to the topic.

Two rules make them exact. The newest count by sequence wins, so order and duplicates don't matter. A complete heartbeat lists every series
that has connections, so older records of other series are void: a series that is gone needs no memory, and a lost record is corrected.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from clientscope.model.series import MOST_SERIES


class KnownCount(NamedTuple):
    """The newest counts of a series, and whether the topic has the series."""

    connections: int
    opened: int
    closed: int
    sequence: int
    timestamp_ms: int
    published: bool = False


class SeriesTable:
    """Series by the key that ``model.series.series_key`` makes.

    A gateway reports at most `MOST_SERIES`, and the rest as one. Those that it has forgotten since its last heartbeat are still here beside
    new ones, so there is room for twice as many.

    Attributes:
        floor: the sequence at which the newest whole heartbeat began; older records are void.
    """

    def __init__(self) -> None:
        self.floor = 0
        self._counts: dict[bytes, KnownCount] = {}
        self._dirty: set[bytes] = set()
        self._removed: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._counts)

    def load(self, key: bytes, count: KnownCount) -> None:
        """Takes in what was published before this process started."""
        self._counts[key] = count._replace(published=True)

    def merge(self, key: bytes, count: KnownCount) -> bool:
        """Takes in a count, in any order, any number of times.  Returns False where there is no room for its series."""
        known = self._counts.get(key)
        if known is not None:
            if count.sequence > known.sequence:
                self._counts[key] = count._replace(published=known.published)
                if count[:3] != known[:3]:
                    self._dirty.add(key)
            return True
        if count.sequence < self.floor:
            return True
        if len(self._counts) >= 2 * MOST_SERIES:
            return False
        self._counts[key] = count
        if count.connections:
            self._dirty.add(key)
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
                self._dirty.discard(key)
                if count.published:
                    self._removed.add(key)

    def changes(self) -> dict[bytes, KnownCount | None]:
        """The records that the topic still needs, None for a tombstone; they then count as written."""
        changes: dict[bytes, KnownCount | None] = dict.fromkeys(self._removed)
        for key in self._dirty:
            count = self._counts[key]
            if count.connections:
                changes[key] = count
            elif count.published:
                changes[key] = None
            self._counts[key] = count._replace(published=count.connections > 0)
        self._removed.clear()
        self._dirty.clear()
        return changes

    def withdraw(self) -> list[bytes]:
        """The keys that the topic names; from now on it counts as naming none."""
        published = list(self._removed)
        self._removed.clear()
        for key, count in self._counts.items():
            if count.published:
                published.append(key)
                self._counts[key] = count._replace(published=False)
        self._dirty = set(self._counts)
        return published


def names(key: bytes) -> tuple[str, str, str]:
    """Listener, name and version of a series' key."""
    listener, name, version = json.loads(b"[" + key + b"]")
    return listener, name, version
