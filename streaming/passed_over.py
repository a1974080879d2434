"""Records that an engine failed at. It passes over them: otherwise it would fail at the same record after each restart."""

from __future__ import annotations

import logging
import traceback
from collections import Counter

from clientscope.findings.conditions import Condition, Conditions

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
