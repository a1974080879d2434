"""Data quality as the job sees it: row checks' counts, and samples that another process validates, become metrics and findings.

Nothing here can fail a batch: history is written by then, and whatever goes wrong is counted and logged.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from clientscope.background import Background
from clientscope.backoff import Backoff
from clientscope.clock import now_ms
from clientscope.findings.conditions import Condition, Conditions
from clientscope.local.answering import AnsweringProcess, NoReply
from sinks.quality.process import Looked, Validated, checking_process
from sinks.quality.samples import next_version
from sinks.quality.suites import SUITES, VALID, ExpectationVerdict, Suite

CODE = "OP003"

_RESTARTS = Backoff(1.0, 300.0)

_PATIENCE_S = 2.0

_CAUSES = {"ended": "ended without an answer", "late": "gave no answer in time"}
"""Causes of `NoReply`, in words."""

_log = logging.getLogger(__name__)


class Quality(Background):
    """Takes in batches of history, and has a process look at what they have written, as soon as it has answered the look before.

    Args:
        history: the folder of the tables.
        conditions: receives what becomes a finding.
        registry: of the process, for the metrics.
        process: validates samples; None for one of `history`.
        restarts: pauses before the process is asked again after it has failed.
    """

    def __init__(
        self,
        history: str,
        conditions: Conditions,
        registry: CollectorRegistry,
        process: AnsweringProcess | None = None,
        restarts: Backoff = _RESTARTS,
    ) -> None:
        super().__init__("quality")
        self._history, self._conditions, self._restarts = history, conditions, restarts
        self._process = process or checking_process(history)
        self._metrics = QualityMetrics(registry)
        self._verdicts: dict[tuple[str, str], ExpectationVerdict] = defaultdict(ExpectationVerdict)
        self._versions = self._newest()
        self._failures = 0
        self._logged: set[str] = set()
        self._written = threading.Event()

    def stop(self, patience_s: float = _PATIENCE_S) -> None:
        """Ends the process, and with it a look that is under way."""
        self._stopping.set()
        self._written.set()
        self._process.close()
        super().stop(patience_s)

    def batch(self, topic: str, rows: int, quarantined: int) -> None:
        """Takes in a batch of history that has been written. From any thread.

        Args:
            topic: one of `SUITES`.
            rows: records of the batch.
            quarantined: how many of them are no records by their topic's schema.
        """
        if not rows:
            return
        self._judge(SUITES[topic], VALID, not quarantined, quarantined, rows)
        self._written.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._written.wait()
            self._written.clear()
            if not self._stopping.is_set() and not self._look():
                self._stopping.wait(self._restarts.seconds(self._failures - 1))
                self._written.set()

    def _look(self) -> bool:
        """Whether there was an answer."""
        try:
            looked: Looked = self._process.ask(self._versions)
        except NoReply as problem:
            if not self._stopping.is_set():
                self._failed(problem.cause)
            return False
        self._versions |= looked["next_versions"]
        self._metrics.peak.set(looked["peak_bytes"])
        for each in looked["validated"]:
            self._failures = 0
            self._take(each)
        return True

    def _failed(self, cause: str) -> None:
        self._failures += 1
        self._metrics.failures.labels(cause).inc()
        if self._failures > 1:  # what it fails at may be in these rows
            self._versions = self._newest()
        _log.warning("the process that validates samples of history is started again: it %s", _CAUSES[cause])

    def _newest(self) -> dict[str, int]:
        return {topic: next_version(f"{self._history}/{suite.table}") for topic, suite in SUITES.items()}

    def _take(self, validated: Validated) -> None:
        topic, rows = validated["topic"], validated["rows"]
        if validated["error"]:
            self._metrics.validations.labels(topic, "error").inc()
            self._log_once(topic, validated["error"])
        for name, success, unexpected in validated["outcomes"]:
            self._judge(SUITES[topic], name, success, unexpected, rows)
        if validated["outcomes"]:
            passed = all(success for _, success, _ in validated["outcomes"])
            self._metrics.sampled.labels(topic).inc(rows)
            self._metrics.validations.labels(topic, "passed" if passed else "failed").inc()
            self._metrics.seconds.labels(topic).observe(validated["seconds"])

    def _log_once(self, topic: str, what: str) -> None:
        if what not in self._logged:
            self._logged.add(what)
            _log.warning("a sample of %s could not be validated: %s; this is said once", topic, what)

    def _judge(self, suite: Suite, name: str, success: bool, unexpected: int, rows: int) -> None:
        self._metrics.success.labels(suite.topic, name).set(success)
        self._metrics.unexpected.labels(suite.topic, name).inc(unexpected)
        verdict = self._verdicts[suite.topic, name]
        if not verdict.take(not success) or verdict.failing is None:
            return
        quarantined = name == VALID
        where = "see clientscope.quarantine, and who writes to the topic" if quarantined else "see Data Docs"
        said = f"{unexpected} of {rows} rows" if verdict.failing else "all rows"
        self._conditions.report(
            Condition(
                code=CODE,
                subject=f"expectation {name} of {suite.topic}",
                failing=verdict.failing,
                severity="medium" if quarantined else "low",
                message=f"{said} of {suite.topic} {'break' if verdict.failing else 'meet'} {name} ({suite.abouts[name]}); {where}.",
                at_ms=now_ms(),
            )
        )


_SECONDS = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
_EXPECTATION = ("topic", "expectation")


class QualityMetrics:
    """On the registry of the process that validates."""

    def __init__(self, registry: CollectorRegistry) -> None:
        prefix = "clientscope_quality_"
        self.success = Gauge(
            f"{prefix}expectation_success",
            "1 if the last batch (records_valid) or the last sample met the expectation.",
            _EXPECTATION,
            registry=registry,
        )
        self.unexpected = Counter(
            f"{prefix}unexpected_rows", "Rows that did not meet the expectation: all rows for records_valid, else a sample.", _EXPECTATION,
            registry=registry,
        )  # fmt: skip
        self.sampled = Counter(f"{prefix}sampled_rows", "Rows validated.", ["topic"], registry=registry)
        self.validations = Counter(
            f"{prefix}validations", "Samples of new rows that were validated, by outcome: passed, failed, error.", ["topic", "outcome"],
            registry=registry,
        )  # fmt: skip
        self.seconds = Histogram(
            f"{prefix}seconds", "Duration of a validation, with sampling and Data Docs.", ["topic"], buckets=_SECONDS, registry=registry
        )
        self.failures = Counter(
            f"{prefix}process_failures",
            "Failures of the process that validates samples: ended, late.",
            ["cause"],
            registry=registry,
        )
        self.peak = Gauge(f"{prefix}process_peak_bytes", "Most memory that the process has had.", registry=registry)
        for cause in ("ended", "late"):
            self.failures.labels(cause)
        for topic, suite in SUITES.items():
            for outcome in ("passed", "failed", "error"):
                self.validations.labels(topic, outcome)
            for name in suite.abouts:
                self.unexpected.labels(topic, name)
