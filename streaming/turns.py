"""Turns of batches that keep a core busy for seconds: history's queries wait for each other, and for the live queries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from streaming.internals.progress_reports import last_report
from streaming.progress import all_unread

_FAR_BEHIND = 50_000
"""Records: more than a second's work."""

_PATIENCE_S = 600.0
LOOK_S = 1.0
"""Seconds between two looks at how far behind live queries are."""


class Stopped(Exception):
    """The job stops: the batch is written after its next start."""


class Turns:
    """Gives a turn to one batch at a time, and none while live queries are far behind.

    A backlog would otherwise be read by all queries at once, and what comes in new would wait for history too. After ten minutes a batch
    still gets its turn: a job that is always behind must not lose history to the topic's retention.
    """

    def __init__(self, behind: Callable[[], bool], patience_s: float = _PATIENCE_S, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Args:
            behind: whether a live query is; asked every second while somebody waits.
        """
        self._behind, self._patience_s, self._clock = behind, patience_s, clock
        self._one = threading.Lock()
        self._stopped = threading.Event()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits for a turn, and has it while in here.

        Raises:
            Stopped: instead of a turn.
        """
        since = self._clock()
        while True:
            with self._one:
                if not self._behind() or self._clock() - since >= self._patience_s:
                    yield
                    return
            if self._stopped.wait(LOOK_S):
                raise Stopped

    def stop(self) -> None:
        """Ends the wait for a turn."""
        self._stopped.set()


def live_queries_behind(spark: SparkSession, live: Container[str]) -> bool:
    """Whether a live query has much to read, by its last report; before its first it is unknown, and it counts.

    Args:
        live: names of those that somebody waits for.
    """
    for query in spark.streams.active:
        if query.name in live:
            report = last_report(query)
            if report is None or all_unread(report) > _FAR_BEHIND:
                return True
    return False
