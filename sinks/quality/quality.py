"""Validation of each batch's sample; results become metrics, findings and Data Docs.

Nothing here can fail a batch: history is written by then, and whatever goes wrong is counted and logged.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING

import pyarrow as pa
from prometheus_client import CollectorRegistry

from clientscope.findings.conditions import Condition, Conditions
from sinks.quality.metrics import QualityMetrics
from sinks.quality.rates import LastHour
from sinks.quality.suites import SUITES, Suite
from sinks.quality.verdicts import ExpectationVerdict, ValidationOutcome

if TYPE_CHECKING:
    from sinks.quality.docs import DataDocs
    from sinks.quality.validation import Validator

MOST_ROWS = 20_000
"""Rows of a batch that are validated."""

DATA_DOCS = "data-docs"
"""The folder of the Data Docs, beside history's tables."""

CODE = "OP003"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Whole:
    """What is known of all of a batch's rows.

    Attributes:
        decoded: so many rows.
        newest_ms: the latest of Kafka's timestamps.
        broken: rows that were quarantined, by the row check that they broke.
    """

    decoded: int
    newest_ms: int
    broken: Mapping[str, int]


Batch = Callable[[Suite], tuple[Whole, Callable[[float], pa.Table]]]
"""Looks at all rows of a batch, and then gives about a share of them, 0 to 1, as ``streaming.transforms.history.sample`` has them."""


class Quality:
    """Validates the batches of all topics, one at a time.

    Args:
        docs: where Data Docs are written; made when there are some.
        conditions: receives what becomes a finding.
        registry: of the process, for the metrics.
        clock: seconds since the epoch.
    """

    def __init__(self, docs: Path, conditions: Conditions, registry: CollectorRegistry, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._conditions, self._clock = docs, conditions, clock
        self._metrics = QualityMetrics(registry)
        self._lock = threading.Lock()
        self._hours: dict[str, LastHour] = defaultdict(LastHour)
        self._verdicts: dict[tuple[str, str], ExpectationVerdict] = defaultdict(ExpectationVerdict)
        self._validators: dict[str, Validator] = {}
        self._docs: DataDocs | None = None
        self._logged: set[str] = set()

    def look(self, topic: str, batch: Batch) -> None:
        """Validates a batch; never raises.

        Args:
            topic: one of `SUITES`.
        """
        with self._lock:
            try:
                self._look(SUITES[topic], batch)
            except Exception as error:
                self._metrics.error(topic)
                self._log_once(topic, error)

    def _log_once(self, topic: str, error: Exception) -> None:
        """Type and place: its text might quote something."""
        place = extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        if what not in self._logged:
            self._logged.add(what)
            _log.warning("a batch of %s could not be validated: %s; this is said once", topic, what)

    def _look(self, suite: Suite, batch: Batch) -> None:
        begun = time.monotonic()
        whole, sample_of = batch(suite)
        if not whole.decoded:
            return
        ratio = self._hours[suite.topic].ratio(whole.newest_ms, whole.decoded)
        sample = sample_of(share_of(whole.decoded)).slice(0, MOST_ROWS)
        if not len(sample):
            return
        outcomes, result = self._validator(suite).validate(sample, ratio)
        judged = [_of_all_rows(each, whole.broken) for each in outcomes if each.judged]
        for each in judged:
            self._metrics.expectation(suite.topic, each.name, each.success, each.unexpected)
            self._judge(suite, each, whole.decoded if each.name in whole.broken else len(sample))
        success = all(each.success for each in judged)
        if self._docs is None:
            from sinks.quality.docs import DataDocs  # noqa: PLC0415  seconds, and only here

            self._docs = DataDocs(self._folder)
        self._docs.add(self._validators[suite.topic].gx_suite, result, success, self._clock())
        self._metrics.validated(suite.topic, success, len(sample), time.monotonic() - begun)
        if len(judged) < len(outcomes):
            raise RuntimeError("not every expectation could be judged")

    def _validator(self, suite: Suite) -> Validator:
        if suite.topic not in self._validators:
            from sinks.quality.validation import Validator  # noqa: PLC0415  seconds, and only here

            self._validators[suite.topic] = Validator(suite)
        return self._validators[suite.topic]

    def _judge(self, suite: Suite, outcome: ValidationOutcome, rows: int) -> None:
        verdict = self._verdicts[suite.topic, outcome.name]
        if not verdict.take(not outcome.success) or verdict.failing is None:
            return
        expected = next(each for each in suite.expectations if each.name == outcome.name)
        quarantined = expected in suite.row_checks
        where = "see clientscope.quarantine and Data Docs, and who writes to the topic" if quarantined else "see Data Docs"
        said = f"{outcome.unexpected} of {rows} rows" if verdict.failing else "all rows"
        self._conditions.report(
            Condition(
                code=CODE,
                subject=f"expectation {outcome.name} of {suite.topic}",
                failing=verdict.failing,
                severity="medium" if quarantined else "low",
                message=f"{said} of {suite.topic} {'break' if verdict.failing else 'meet'} {outcome.name} ({expected.about}); {where}.",
                at_ms=int(self._clock() * 1000),
            )
        )


def _of_all_rows(outcome: ValidationOutcome, broken: Mapping[str, int]) -> ValidationOutcome:
    """What every row was held against counts in every row."""
    if outcome.name not in broken:
        return outcome
    return replace(outcome, success=outcome.success and not broken[outcome.name], unexpected=broken[outcome.name])


def share_of(decoded: int) -> float:
    """The share of so many rows to sample, so that there are rarely more than `MOST_ROWS`, beyond which rows are cut off."""
    return 1.0 if decoded <= MOST_ROWS else (MOST_ROWS - 4 * MOST_ROWS**0.5) / decoded
