"""Rate of records compared with the last hour, by Kafka's clock, so that catching up with a backlog doesn't change it."""

from __future__ import annotations

from collections import deque

_HOUR_MS = 3_600_000
_KNOWN_AFTER_MS = 600_000
_AS_GOOD_AS_NONE = 100.0
"""Records a minute that are added to both sides: below that, a few clients more or less are many times as many."""


class LastHour:
    """Remembers the batches of one topic's last hour."""

    def __init__(self) -> None:
        self._batches: deque[tuple[int, int, int]] = deque()  # from, until, records
        self._newest_ms: int | None = None

    def ratio(self, newest_ms: int, records: int) -> float | None:
        """Takes in a batch.

        Args:
            newest_ms: the latest of its records' timestamps, Kafka's.

        Returns:
            its records per minute divided by the last hour's; None before ten minutes are known.
        """
        since, self._newest_ms = self._newest_ms, max(newest_ms, self._newest_ms or newest_ms)
        if since is None or newest_ms <= since:
            return None
        while self._batches and self._batches[0][0] < newest_ms - _HOUR_MS:
            self._batches.popleft()
        known_ms = sum(until - begun for begun, until, _ in self._batches)
        before = sum(number for *_, number in self._batches)
        self._batches.append((since, newest_ms, records))
        if known_ms < _KNOWN_AFTER_MS:
            return None
        now = _per_minute(records, newest_ms - since)
        return (now + _AS_GOOD_AS_NONE) / (_per_minute(before, known_ms) + _AS_GOOD_AS_NONE)


def _per_minute(records: int, span_ms: int) -> float:
    # A batch of a moment says little of a minute.
    return records * 60_000 / max(span_ms, 1_000)
