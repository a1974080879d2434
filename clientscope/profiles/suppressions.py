"""Suppressions: findings that a person has decided not to see, until a date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from clientscope.profiles.client_patterns import ClientPattern, PatternSubject

ENDLESS = date.max
"""The last day of a suppression by a comment, which has no end."""


@dataclass(frozen=True)
class Suppression:
    """One decision.

    Attributes:
        code: the rule's.
        reason: why, for later readers.
        until: the last day, in UTC, on which it counts.
        where: its file and line.
    """

    code: str
    pattern: ClientPattern
    reason: str
    until: date
    where: str

    def expired(self, today: date) -> bool:
        """Whether it counts no longer."""
        return today > self.until


def suppressing(suppressions: Iterable[Suppression], code: str, client: PatternSubject, today: date) -> Suppression | None:
    """The first one that counts today and fits; None where there is none."""
    for suppression in suppressions:
        if suppression.code == code and not suppression.expired(today) and suppression.pattern.fits(client):
            return suppression
    return None
