"""Metrics of validations, for Prometheus. Labels are topics and expectations' names, so they are bounded whatever the data."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sinks.quality.suites import SUITES

_SECONDS = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
_EXPECTATION = ("topic", "expectation")


class QualityMetrics:
    """On the registry of the process that validates."""

    def __init__(self, registry: CollectorRegistry) -> None:
        prefix = "clientscope_quality_"
        self._success = Gauge(
            f"{prefix}expectation_success",
            "1 if the last batch (records_valid) or the last sample met the expectation.",
            _EXPECTATION,
            registry=registry,
        )
        self._unexpected = Counter(
            f"{prefix}unexpected_rows", "Rows that did not meet the expectation: all rows for records_valid, else a sample.", _EXPECTATION,
            registry=registry,
        )  # fmt: skip
        self._sampled = Counter(f"{prefix}sampled_rows", "Rows validated.", ["topic"], registry=registry)
        self._validations = Counter(
            f"{prefix}validations", "Samples of new rows that were validated, by outcome: passed, failed, error.", ["topic", "outcome"],
            registry=registry,
        )  # fmt: skip
        self._seconds = Histogram(
            f"{prefix}seconds", "Duration of a validation, with sampling and Data Docs.", ["topic"], buckets=_SECONDS, registry=registry
        )
        self._failures = Counter(
            f"{prefix}process_failures",
            "Failures of the process that validates samples: ended, late.",
            ["cause"],
            registry=registry,
        )
        self._peak = Gauge(f"{prefix}process_peak_bytes", "Most memory that the process has had.", registry=registry)
        for cause in ("ended", "late"):
            self._failures.labels(cause)
        for topic, suite in SUITES.items():
            for outcome in ("passed", "failed", "error"):
                self._validations.labels(topic, outcome)
            for name in suite.abouts:
                self._unexpected.labels(topic, name)

    def expectation(self, topic: str, name: str, success: bool, unexpected: int) -> None:
        """One expectation of one validation."""
        self._success.labels(topic, name).set(success)
        self._unexpected.labels(topic, name).inc(unexpected)

    def validated(self, topic: str, success: bool, rows: int, seconds: float) -> None:
        """A validation has ended."""
        self._sampled.labels(topic).inc(rows)
        self._validations.labels(topic, "passed" if success else "failed").inc()
        self._seconds.labels(topic).observe(seconds)

    def process(self, peak_bytes: int) -> None:
        """The process has answered."""
        self._peak.set(peak_bytes)

    def process_failed(self, cause: str) -> None:
        """The process ended, or was late, and is started again."""
        self._failures.labels(cause).inc()

    def error(self, topic: str) -> None:
        """A sample could not be validated."""
        self._validations.labels(topic, "error").inc()
