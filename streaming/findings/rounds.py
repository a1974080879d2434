"""Rounds over findings without news: those that wait for time to pass, and each finding once a day."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Container

_ROUND_MS = 30_000
"""In so long all that wait are looked at once."""

_DAY_MS = 24 * 60 * 60_000


class Rounds:
    """Their fingerprints, in turns.  Times are ms since the epoch.

    All are looked at in the first round, and in one of each day (UTC): with a day suppressions and decisions end, and findings that ended
    long ago leave the topic.
    """

    def __init__(self) -> None:
        self._order: OrderedDict[str, None] = OrderedDict()
        self._looked_ms, self._day, self._thorough = 0, -1, 0

    def add(self, fingerprint: str) -> None:
        """One more."""
        self._order[fingerprint] = None

    def remove(self, fingerprint: str) -> None:
        """It is no more."""
        self._order.pop(fingerprint, None)

    def due(self, now_ms: int, waiting: Container[str]) -> list[str]:
        """Those whose turn it is."""
        if now_ms // _DAY_MS != self._day:
            self._day, self._thorough = now_ms // _DAY_MS, len(self._order)
        share = min(1.0, abs(now_ms - self._looked_ms) / _ROUND_MS)  # a clock may have been set back
        self._looked_ms = now_ms
        due = []
        for _ in range(math.ceil(len(self._order) * share)):
            fingerprint = next(iter(self._order))
            self._order.move_to_end(fingerprint)
            if self._thorough > 0 or fingerprint in waiting:
                due.append(fingerprint)
            self._thorough -= 1
        return due
