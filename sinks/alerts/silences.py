"""Silence windows: the times at which findings are held. Held findings are delivered afterwards, if they are still true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fnmatch import fnmatchcase

from clientscope.findings.record import Finding

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True)
class Match:
    """Which findings are meant: patterns as `clientscope.profiles.client_patterns` has them; an empty field means all."""

    code: tuple[str, ...] = ()
    principal: tuple[str, ...] = ()
    client_id: tuple[str, ...] = ()
    team: tuple[str, ...] = ()

    def fits(self, finding: Finding) -> bool:
        """Whether this one is meant.  A leak is by any of the applications that have the secret."""
        application = finding.application
        principals = [application.principal, *(place.application.principal for place in finding.places)]
        clients = [application.client_id, *(place.application.client_id for place in finding.places)]
        return (
            _any(self.code, [finding.code])
            and _any(self.principal, principals)
            and _any(self.client_id, clients)
            and _any(self.team, [finding.owner.team if finding.owner else None])
        )


def _any(patterns: Sequence[str], values: Sequence[str | None]) -> bool:
    return not patterns or any(value is not None and fnmatchcase(value, pattern) for value in values for pattern in patterns)


@dataclass(frozen=True)
class Silence:
    """One window.

    Attributes:
        receivers: names; empty is all but Alertmanager's, which has silences of its own.
        begins, ends: of a window that comes once; None is without an end on that side.
        days: of one that comes again, as numbers from Monday = 0, by the day on which it starts; empty for one that comes once.
        start, end: time of day in ``zone``; where the end isn't after the start, it is on the next day.
    """

    match: Match
    reason: str
    receivers: tuple[str, ...] = ()
    begins: datetime | None = None
    ends: datetime | None = None
    days: tuple[int, ...] = ()
    start: time = time.min
    end: time = time.min
    zone: tzinfo = UTC

    def holds(self, receiver: str, finding: Finding, now: datetime) -> bool:
        """Whether this silence holds a finding's messages now.

        Args:
            now: with a zone.
        """
        if self.receivers and receiver not in self.receivers:
            return False
        return self._is_on(now) and self.match.fits(finding)

    def _is_on(self, now: datetime) -> bool:
        if (self.begins is not None and now < self.begins) or (self.ends is not None and now >= self.ends):
            return False
        if not self.days:
            return True
        local = now.astimezone(self.zone)
        return any(self._window(day, local) for day in (local.date(), local.date() - timedelta(days=1)))

    def _window(self, day: date, local: datetime) -> bool:
        """By the clock on the wall, so a window of a night in which clocks are set is an hour shorter or longer."""
        if day.weekday() not in self.days:
            return False
        next_day = day if self.end > self.start else day + timedelta(days=1)
        return datetime.combine(day, self.start) <= local.replace(tzinfo=None) < datetime.combine(next_day, self.end)
