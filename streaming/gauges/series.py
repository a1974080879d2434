"""Series of a gateway's newest process: their newest counts, and which of them must be written to the topic.

Two rules make them exact. The newest count by sequence wins, so order and duplicates don't matter. A complete heartbeat lists every series
that has connections, so older records of other series are void: a series that is gone needs no memory, and a lost record is corrected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from clientscope.model.series import MOST_BYTES, MOST_SERIES, OTHER, series_bytes, series_key
from clientscope.session.state import UNKNOWN

# A quotation mark within a name is escaped, so a key that ends like this is that pair.
_OTHER_END = f',"{OTHER}","{OTHER}"'.encode()
_EXEMPT_ENDS = (_OTHER_END, f',"{UNKNOWN}","{UNKNOWN}"'.encode())


class KnownCount(NamedTuple):
    """The newest counts of a series, and whether the topic has the series."""

    connections: int
    opened: int
    closed: int
    sequence: int
    timestamp_ms: int
    published: bool = False


class Beyond(NamedTuple):
    """The sum of a heartbeat's series that found no room."""

    series: int = 0
    connections: int = 0
    opened: int = 0
    closed: int = 0

    def plus(self, other: Beyond) -> Beyond:
        """Both together."""
        return Beyond(*(ours + theirs for ours, theirs in zip(self, other, strict=True)))


class SeriesTable:
    """At most `MOST_SERIES` series in `MOST_BYTES`, by the key that ``model.series.series_key`` makes.

    What finds no room is in the series ``other``, as of the last heartbeat; that one, and ``unknown``, always have room.

    Attributes:
        floor: the sequence at which the newest whole heartbeat began; older records are void.
        beyond: that heartbeat's counts of the series without room, by listener.
    """

    def __init__(self) -> None:
        self.floor = 0
        self.beyond: dict[str, Beyond] = {}
        self._counts: dict[bytes, KnownCount] = {}
        self._bytes = self._exempt_rows = self._exempt_bytes = 0
        self._dirty: set[bytes] = set()
        self._removed: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._counts)

    @property
    def size_bytes(self) -> int:
        """What it takes, by ``model.series.series_bytes``."""
        return self._bytes

    def load(self, key: bytes, count: KnownCount) -> None:
        """Takes in what was published before this process started."""
        # What found no room is in the sum of the others; the heartbeat that says how much it is may be read once more.
        sequence = count.sequence - key.endswith(_OTHER_END)
        self._set(key, count._replace(sequence=sequence, published=True))

    def merge(self, key: bytes, count: KnownCount, from_heartbeat: bool) -> bool:
        """Takes in a count, in any order, any number of times.  Returns False where a heartbeat's series finds no room."""
        known = self._counts.get(key)
        if known is not None:
            if count.sequence > known.sequence:
                self._counts[key] = count._replace(published=known.published)
                if count[:3] != known[:3]:
                    self._dirty.add(key)
            return True
        if count.sequence < self.floor:
            return True
        # What is in the sum of the others leaves it with the next heartbeat only, or it would count twice.
        if not self._has_room(key) or (self.beyond and not from_heartbeat and not _is_exempt(key)):
            return not from_heartbeat
        self._set(key, count)
        if count.connections:
            self._dirty.add(key)
        return True

    def complete(self, first: int, end: int, beyond: Mapping[str, Beyond], timestamp_ms: int) -> None:
        """A heartbeat has come whole.

        Args:
            first, end: its sequences, the last one excluded.
            beyond: its series for which `merge` had no room.
            timestamp_ms: when it was.
        """
        if first < self.floor:
            return
        self.floor = first
        others = {_other(listener) for listener in beyond}
        for key, count in list(self._counts.items()):
            if (count.sequence < first or (count.connections == 0 and count.sequence < end)) and key not in others:
                self._remove(key, count)
        for listener in beyond.keys() | self.beyond.keys():
            key = _other(listener)
            before = self._counts.get(key)
            if listener in beyond and (before is None or before.sequence < first):  # the gateway itself counts none as other
                self._set(key, KnownCount(0, 0, 0, first, timestamp_ms, before is not None and before.published))
            if key in self._counts:
                self._dirty.add(key)
        self.beyond = dict(beyond)

    def changes(self) -> dict[bytes, KnownCount | None]:
        """The records that the topic still needs, None for a tombstone; they then count as written."""
        changes: dict[bytes, KnownCount | None] = dict.fromkeys(self._removed)
        for key in self._dirty:
            count = self._counts[key]
            total = self._with_others(key, count)
            if total.connections:
                changes[key] = total
            elif count.published:
                changes[key] = None
            self._set(key, count._replace(published=total.connections > 0))
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
                self._set(key, count._replace(published=False))
        self._dirty = set(self._counts)
        return published

    def _with_others(self, key: bytes, count: KnownCount) -> KnownCount:
        if self.beyond and key.endswith(_OTHER_END):
            _, connections, opened, closed = self.beyond.get(names(key)[0], Beyond())
            return count._replace(connections=count.connections + connections, opened=count.opened + opened, closed=count.closed + closed)
        return count

    def _has_room(self, key: bytes) -> bool:
        rows, size = len(self._counts) - self._exempt_rows, self._bytes - self._exempt_bytes
        return _is_exempt(key) or (rows < MOST_SERIES and size + series_bytes(key) <= MOST_BYTES)

    def _set(self, key: bytes, count: KnownCount) -> None:
        if key not in self._counts:
            self._grow(key, 1)
        self._counts[key] = count

    def _remove(self, key: bytes, count: KnownCount) -> None:
        del self._counts[key]
        self._grow(key, -1)
        self._dirty.discard(key)
        if count.published:
            self._removed.add(key)

    def _grow(self, key: bytes, rows: int) -> None:
        size = rows * series_bytes(key)
        self._bytes += size
        if _is_exempt(key):
            self._exempt_rows += rows
            self._exempt_bytes += size


def names(key: bytes) -> tuple[str, str, str]:
    """Listener, name and version of a series' key."""
    listener, name, version = json.loads(b"[" + key + b"]")
    return listener, name, version


def _other(listener: str) -> bytes:
    return series_key(listener, OTHER, OTHER)


def _is_exempt(key: bytes) -> bool:
    return key.endswith(_EXEMPT_ENDS)
