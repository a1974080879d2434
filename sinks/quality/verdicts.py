"""Start and end of a finding about a failing expectation: it ends later than it starts, so that it doesn't flap."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

FAILING = 2
"""So many validations that failed …"""

OF = 5
"""… of the last so many begin a finding."""

PASSED = 10
"""Passed validations in a row that end it: more than twice `OF`, so that an occasional failure doesn't flap."""


@dataclass(frozen=True)
class ValidationOutcome:
    """What one expectation came to in one validation.

    Attributes:
        unexpected: rows that are otherwise.
        judged: False where the library itself failed, which says nothing of the data.
    """

    name: str
    success: bool
    unexpected: int
    judged: bool = True


class ExpectationVerdict:
    """One expectation of one topic.

    Attributes:
        failing: whether it is a finding; None while unknown, as after a start.
    """

    def __init__(self) -> None:
        self.failing: bool | None = None
        self._failed: deque[bool] = deque(maxlen=PASSED)

    def take(self, failed: bool) -> bool:
        """Adds a validation's outcome; returns whether `failing` has changed."""
        self._failed.append(failed)
        before = self.failing
        if sum(list(self._failed)[-OF:]) >= FAILING:
            self.failing = True
        elif len(self._failed) == PASSED and not any(self._failed):
            self.failing = False
        return self.failing != before
