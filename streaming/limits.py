"""Limits of what the job keeps, and records that an engine fails at: each is counted in a metric and reported as a finding.

docs/operating.md lists the limits from here (`make docs`)."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from clientscope.fair_share import HeldEntry, noisiest
from clientscope.findings.conditions import Condition, Conditions
from clientscope.model.client_key import Tenant, name_of
from clientscope.severities import Severity

_OVER_AFTER_MS = 10 * 60_000
"""A limit counts as reached for so long after something was last left out."""

LOWER_THE_QUOTA = "look at its clients, and lower its quota of pushes (push_rate_per_principal, push_rate_per_address)"


@dataclass(frozen=True)
class Limit:
    """A bound.

    Attributes:
        name: the metric's label ``limit``; with it the finding's subject, so it stays the same.
        most: how many fit.
        of: of what, in the plural, as a sentence has it.
        beyond: what happens to those that don't fit.
        severity: of OP004.
        advice: what to do, in the finding.
        does: what the job does with those that fit.
    """

    name: str
    most: int
    of: str
    beyond: str
    severity: Severity = "high"
    advice: str = LOWER_THE_QUOTA
    does: str = "remembers"


class Overflow:
    """What one limit left out.

    Attributes:
        count: of all that was ever left out.
    """

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.count = 0
        self._by = ""
        self._new = False
        self._last_ms: int | None = None
        self._begun = False

    def dropped(self, gone: Sequence[HeldEntry]) -> None:
        """Takes in what was left out."""
        if gone:
            self.left_out(noisiest(gone), len(gone))

    def left_out(self, tenant: Tenant, number: int = 1) -> None:
        """So many of a tenant were left out, or counted together with others."""
        self.exceeded(f"some of {name_of(tenant)}, which has the most", number)

    def exceeded(self, by: str = "", number: int = 1) -> None:
        """The same of what is no tenant's, in words."""
        self.count += number
        self._by = by
        self._new = True

    def condition(self, now_ms: int) -> Condition | None:
        """OP004 of this limit; None if there is nothing to report."""
        limit, subject = self.limit, f"table of {self.limit.name}"
        if self._new:
            self._new, self._last_ms = False, now_ms
        elif not self._begun:  # the process before may have reported it, and its report ends as one of this process does
            self._last_ms = now_ms
        self._begun = True
        if self._last_ms is None:
            return None
        if now_ms - self._last_ms >= _OVER_AFTER_MS:
            self._last_ms = None
            return Condition("OP004", subject, False, limit.severity, "", now_ms)
        if not self._by:
            return None
        message = f"the job {limit.does} {limit.most} {limit.of} and has left out {self._by}: {limit.advice}"
        return Condition("OP004", subject, True, limit.severity, message, self._last_ms)


log = logging.getLogger(__name__)

_MOST_NAMED = 10
"""Records that the log names between two calls of `PassedOver.take`."""


class PassedOver:
    """Reports each such failure in the log and as OP002, and counts it. For one thread at a time.

    Args:
        engine: whose, as a sentence has it.
    """

    def __init__(self, engine: str, conditions: Conditions) -> None:
        self._engine, self._conditions = engine, conditions
        self._counts: Counter[str] = Counter()
        self._shown: set[tuple[str, int]] = set()

    def add(self, topic: str, what: str, error: Exception, at_ms: int) -> None:
        """Notes a failure, after which the engine continues.

        Args:
            topic: the topic of the record or finding.
            what: what was passed over, as the sentence begins.
            at_ms: the record's time, in ms since the epoch. It is the same after a restart, so a finding that a person closed stays closed.
        """
        self._counts[topic] += 1
        message = f"{what} was passed over, since {self._engine} failed at it ({type(error).__name__}): please report it."
        self._log(message, error)
        self._conditions.report(Condition("OP002", f"topic {topic}", True, "high", message, at_ms))

    def _log(self, message: str, error: Exception) -> None:
        """Logs the stack of each failing line of code once, and bounds the rest: every record of a topic may fail."""
        failed = traceback.extract_tb(error.__traceback__)[-1]
        if (place := (failed.filename, failed.lineno or 0)) not in self._shown:
            self._shown.add(place)
            # Without the error's own text, which may have what a client said.
            log.error("%s\n%s", message, "".join(traceback.format_tb(error.__traceback__)).rstrip())
        elif self._counts.total() <= _MOST_NAMED:
            log.error("%s", message)

    def take(self) -> Counter[str]:
        """How many there were since the last call, by topic."""
        counts, self._counts = self._counts, Counter()
        return counts
