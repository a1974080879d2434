"""Fresh lane: while a query is far behind, a second query beside it reads new records.

A backlog is read in its order, so a new push would wait for all that lies before it.  The query itself still reads everything, the new
records too: nothing depends on the lane, and what both have read is written twice, which readers are made for (at least once).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol

from streaming.parking import Restarts

log = logging.getLogger(__name__)

BEGINS_ABOVE, ENDS_BELOW = 200_000, 20_000
"""Records that the query has still to read: more than a batch of its own; and what it reads in less than a second."""

SKIPS_ABOVE = 50_000
"""Records that the lane itself has still to read: what comes in is more than it can take, and it begins again at the end."""


class StartedLane(Protocol):
    """A lane that was started."""

    def failure(self) -> str | None:
        """Why it has ended; None while it runs."""

    def progressed(self) -> bool:
        """Whether it has finished a batch."""

    def unread(self) -> int:
        """Records that it has still to read."""

    def stop(self) -> None:
        """Ends it, if it hasn't ended, and removes what it has written for itself."""


class FreshLane:
    """Begins and ends the lane.  For one thread; never raises.

    Args:
        start: starts a lane at its topic's end.
        clock: seconds, never going back.

    Attributes:
        starts: how often it was started.
        failures: how often it has failed, or couldn't be started.
    """

    def __init__(self, start: Callable[[], StartedLane], clock: Callable[[], float] = time.monotonic) -> None:
        self.starts = self.failures = 0
        self._start, self._clock = start, clock
        self._lane: StartedLane | None = None
        self._wanted = False
        self._restarts = Restarts()
        self._at = 0.0

    @property
    def running(self) -> bool:
        """Whether there is one now."""
        return self._lane is not None

    def set_unread(self, unread: int) -> None:
        """How many records the query itself has still to read."""
        self._wanted = unread > (ENDS_BELOW if self._wanted else BEGINS_ABOVE)

    def look(self) -> None:
        """To be called every second."""
        try:
            self._look()
        except Exception as error:  # whatever it is: the query does without
            self._failed(_first_line(error), progressed=False)

    def stop(self) -> None:
        """The job stops, or the lane isn't needed any more."""
        lane, self._lane = self._lane, None
        if lane is None:
            return
        try:
            lane.stop()
        except Exception as error:
            log.warning("the lane of new pushes could not be ended: %s", _first_line(error))

    def _look(self) -> None:
        if self._lane is None:
            if self._wanted and self._clock() >= self._at:
                self._lane = self._start()
                self.starts += 1
                log.warning("results are far behind: new pushes have a lane of their own meanwhile")
        elif (failure := self._lane.failure()) is not None:
            self._failed(failure, self._lane.progressed())
        elif not self._wanted:
            self.stop()
            log.warning("results have caught up: the lane of new pushes has ended")
        elif self._lane.unread() > SKIPS_ABOVE:
            log.warning("more new pushes come than their own lane can read: it begins again with the newest")
            self.stop()
            self._at = self._clock()

    def _failed(self, text: str, progressed: bool) -> None:
        self.failures += 1
        now = self._clock()
        self._at = self._restarts.failed(now, progressed)
        log.warning("the lane of new pushes failed, and is tried again in %.0f s: %s", self._at - now, _first_line(text))
        self.stop()


def _first_line(said: object) -> str:
    return next(iter(str(said).strip().splitlines()), type(said).__name__)[:500]
