"""State machine of a query's runs: running, parked after a failure, or being retried.

Pure: events in, decisions out; times are seconds of a clock that never goes back.

```
running ── failed ──► parked ── its pause is over ──► trying ── a batch is done, or it stays up ──► running
                        ▲                               │
                        └─────────── failed ────────────┘
```
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from clientscope.backoff import Backoff
from streaming.failures import Failure


class Restarts:
    """When to start again what has failed: the pause doubles from a second to a minute, without end."""

    def __init__(self, first_s: float = 1.0, longest_s: float = 60.0) -> None:
        self._backoff = Backoff(first_s, longest_s)
        self._failures = 0

    @property
    def repeated(self) -> bool:
        """Whether it has failed at the same place more than once."""
        return self._failures > 1

    def failed(self, now: float, progressed: bool) -> float:
        """When to try again.

        Args:
            progressed: whether a batch was finished since it was last started.
        """
        self._failures = 1 if progressed else self._failures + 1
        return now + self._backoff.seconds(self._failures - 1)


class QueryPhase(Enum):
    """What a query is in."""

    RUNNING = "running"
    PARKED = "parked"
    TRYING = "trying"


@dataclass(frozen=True)
class NextStep:
    """What to do now.

    Attributes:
        start: start it again.
        search: search the record that its workers die of, before it is started again.
        finding: True to say as a finding that it is parked, False that it isn't; None to say nothing new.
    """

    start: bool = False
    search: bool = False
    finding: bool | None = None


class Parking:
    """One query's state.

    Args:
        settles_s: so long after a start it counts as running where it has had nothing to do.
        pause_s: the first pause after a failure.
    """

    def __init__(self, settles_s: float = 15.0, pause_s: float = 1.0) -> None:
        self.phase = QueryPhase.RUNNING
        self.failure = Failure("")
        self._settles_s = settles_s
        self._restarts = Restarts(pause_s)
        self._started_s: float | None = None
        self._at_s = 0.0
        self._said: bool | None = None

    @property
    def settled(self) -> bool:
        """Whether it runs and that has been said: nothing comes of looking at it."""
        return self.phase is QueryPhase.RUNNING and self._said is False

    def started(self, now: float) -> None:
        """Notes that the query was started again."""
        self.phase, self._started_s = QueryPhase.TRYING, now

    def failed(self, now: float, failure: Failure, finished: bool) -> NextStep:
        """Notes that the query has failed, at its start or later.

        Args:
            finished: whether it has finished a batch since it was last started.
        """
        self._at_s = self._restarts.failed(now, finished or self.phase is QueryPhase.RUNNING)
        self.phase, self.failure, self._started_s = QueryPhase.PARKED, failure, None
        repeated = self._restarts.repeated
        return NextStep(search=repeated and failure.fatal_record, finding=self._news(repeated or failure.lasting or None))

    def waited(self, now: float) -> NextStep:
        """A second has passed while it is parked."""
        return NextStep(start=now >= self._at_s)

    def looked(self, now: float, finished: bool, idle: bool) -> NextStep:
        """A second has passed while it runs.

        Args:
            finished: as above.
            idle: whether no batch is under way; the end of one under way is unknown.
        """
        if self._started_s is None:
            self._started_s = now
        if finished or (idle and now - self._started_s >= self._settles_s):
            self.phase = QueryPhase.RUNNING
            return NextStep(finding=self._news(False))
        return NextStep()

    def hurry(self) -> None:
        """What it failed by is gone, it seems: the next look starts it."""
        self._at_s = 0.0

    def pause_s(self, now: float) -> float:
        """How long it still waits."""
        return max(0.0, self._at_s - now)

    def _news(self, parked: bool | None) -> bool | None:
        """Once for each change: findings have no use for the rest."""
        if parked is None or parked is self._said:
            return None
        self._said = parked
        return parked
