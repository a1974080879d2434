"""People's decisions about findings: records of ``clientscope.decisions``, by fingerprint; the newest counts."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Literal

from clientscope.model.fields import Sentence, ShownMs, ShownName, Version, record

Resolution = Literal["rotated", "test-value", "not-a-secret", "accepted"]
"""Why a finding is closed.

- ``rotated``: the secret was replaced; if it is pushed again after the decision, the finding is reopened.
- ``test-value``, ``not-a-secret``: it stays closed, however often it is pushed.
- ``accepted``: the risk is accepted until a date; for findings of any kind.
"""

OF_LEAKS: tuple[Resolution, ...] = ("rotated", "test-value", "not-a-secret")


@record
class Decision:
    """A decision: the person, the resolution, the time and the reason.  A tombstone takes a decision back.

    Attributes:
        until: the last day, in UTC, on which ``accepted`` counts; None for the others.
    """

    version: Version = 1
    fingerprint: ShownName
    resolution: Resolution
    by: ShownName
    why: Sentence
    at_ms: ShownMs
    until: date | None = None

    def holds(self, last_pushed_ms: int, now_ms: int) -> bool:
        """Whether it still closes the finding.

        Args:
            last_pushed_ms: when a push last had what the finding is about.
        """
        if self.resolution == "rotated":
            return last_pushed_ms <= self.at_ms
        if self.resolution == "accepted":
            return self.until is None or datetime.fromtimestamp(now_ms / 1000, UTC).date() <= self.until
        return True
