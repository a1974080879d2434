"""How long a producer's batches gathered records: the least and the most that ``linger.ms`` can be, by the times in their heads.

A batch's first and last record have times of the client's clock (CreateTime). Two things hold of a client that sets no times by itself:

- It begins no batch of a partition before the one before was sent, so ``linger.ms`` is not above the time between the beginnings of two.
- A batch is sent when ``linger.ms`` is over, unless it waits for an answer. So if the last answer has long been there, ``linger.ms`` is not
  below the time from its first record to its last.

A batch that is full, flushed, or sent along with another one begins the next one early: then the two contradict each other, and nothing
follows. What would make all batches alike is ruled out by their numbers of records, which have to differ. No I/O, no clock.
"""

from __future__ import annotations

from operator import itemgetter

AGREEING = 6
"""Batches that have to have waited for about the same time, and batches after which the next one began as soon."""
_MOST_SPAN_MS = 60_000
"""Beyond that the times are hardly those of a client that gathers records."""
_LEAST_MS = 8
"""Threads that start late make batches of some milliseconds with ``linger.ms=0``, too."""
_NEAR = 0.15
_SLACK_MS = 3
"""How near to each other times have to be, of the time and at least; records come at intervals of their own, so some are twice as far."""
_LAGS_MS = 5
"""How differently long batches may take from client to gateway."""
_DIFFER = 1.5
_MORE = 1
"""By how many times, and then by how many, the numbers of records have to differ. Full batches differ by less."""


class Lingered:
    """Of one connection.

    Attributes:
        _waited: of batches of several records that waited for no answer, those that gathered records for longest: for how long, and their
            lag, which is the time from the first record to the gateway, less the same of the first one: clocks differ.
        _ended: of batches after which the next one of their partition began soonest: after how long, and the number of their records.
        _spoiled: the times are not of a clock, or are set by the application.
    """

    __slots__ = ("_before", "_ended", "_first_lag_ms", "_spoiled", "_waited")

    def __init__(self) -> None:
        self._before: tuple[str, int, int, int] | None = None
        self._first_lag_ms: int | None = None
        self._waited: tuple[tuple[int, int], ...] = ()
        self._ended: tuple[tuple[int, int], ...] = ()
        self._spoiled = False

    def take(self, times: str, now_s: float, is_idle: bool) -> None:
        """Takes the next request's first batch.

        Args:
            times: as `clientscope.wire.request_fields` has them: of the first and the last record, the number of records and the partition.
            is_idle: whether the client waited for no answer when it sent it, nor shortly before.
        """
        first, last, count, partition = times.split(" ")
        base_ms, last_ms, records = int(first), int(last), int(count)
        before, self._before = self._before, (partition, base_ms, last_ms, records)
        if base_ms <= 0 or not 0 <= last_ms - base_ms <= _MOST_SPAN_MS:
            self._spoiled = True
        elif before is not None and before[0] == partition and before != self._before:  # the same batch once more has been refused
            ended = base_ms - before[1], before[3]
            self._ended = tuple(sorted((*self._ended, ended), key=itemgetter(0))[:AGREEING])
        if is_idle and last_ms > base_ms:
            lag_ms = round(now_s * 1000) - base_ms
            if self._first_lag_ms is None:
                self._first_lag_ms = lag_ms
            waited = last_ms - base_ms, lag_ms - self._first_lag_ms
            self._waited = tuple(sorted((*self._waited, waited), key=itemgetter(0), reverse=True)[:AGREEING])

    def range_ms(self) -> tuple[int, int] | None:
        """The least and the most; None where they contradict each other, or are far apart, or batches may have been full."""
        if self._spoiled or len(self._waited) < AGREEING or len(self._ended) < AGREEING:
            return None
        spans, lags = zip(*self._waited, strict=True)
        ends, counts = zip(*self._ended, strict=True)
        most_ms = ends[0]
        near_ms = max(_SLACK_MS, round(most_ms * _NEAR))
        longest_ms = spans[AGREEING // 2]  # of those that are longer, threads may have started late
        if longest_ms > most_ms + _SLACK_MS or spans[-1] < max(_LEAST_MS, most_ms - 2 * near_ms) or ends[-1] > most_ms + 2 * near_ms:
            return None
        if max(lags) - min(lags) > max(_LAGS_MS, near_ms) or max(counts) < min(counts) * _DIFFER + _MORE:
            return None
        return min(longest_ms, most_ms) - _SLACK_MS, most_ms + _SLACK_MS
