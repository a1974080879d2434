"""Metrics of deliver on ``/metrics``, by the official client library."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sinks.alerts.sending import SendResult

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True)
class ReceiverFigures:
    """How a receiver is now.

    Attributes:
        queue: messages that wait, or are being sent.
        undelivered: findings with a change to deliver, those that are held among them.
        held: by a silence, or since they come and go.
        oldest_s: age of the oldest of what is undelivered; 0 for nothing.
    """

    receiver: str
    queue: int = 0
    undelivered: int = 0
    held: int = 0
    oldest_s: float = 0.0
    failing: bool = False
    disabled: bool = False
    alerts: int | None = None


@dataclass(frozen=True)
class Figures:
    """How the process is now."""

    active: bool = False
    findings: int = 0
    undecodable: int = 0
    receivers: tuple[ReceiverFigures, ...] = ()


_GAUGES: tuple[tuple[str, str, Callable[[ReceiverFigures], float | None]], ...] = (
    ("queue_length", "Messages that wait or are being sent.", lambda one: one.queue),
    ("undelivered_findings", "Findings with an undelivered change, held ones included.", lambda one: one.undelivered),
    ("held_findings", "Findings held by a silence or by damping.", lambda one: one.held),
    ("oldest_undelivered_seconds", "Age of the oldest undelivered change; 0 if there is none.", lambda one: one.oldest_s),
    ("receiver_failing", "1 if the last attempt failed.", lambda one: one.failing),
    ("receiver_disabled", "1 after the receiver answered 410 Gone.", lambda one: one.disabled),
    ("alertmanager_alerts", "Firing alerts at this Alertmanager.", lambda one: one.alerts),
)


class DeliverMetrics:
    """Counters by receiver, and gauges of how things are at the scrape."""

    def __init__(self, receivers: Iterable[str]) -> None:
        self.registry = CollectorRegistry()
        self._delivered = self._counter("messages_delivered", "Messages accepted by the receiver; for Alertmanager, requests.")
        self._failed = self._counter("attempts_failed", "Failed attempts.")
        self._retries = self._counter("retries", "Attempts after a message's first.")
        self._dead = self._counter("dead_letters", "Messages given up and written to clientscope.deadletter.")
        self._seconds = Histogram(
            "clientscope_deliver_attempt_seconds",
            "Duration of attempts, from name resolution to answer.",
            ["receiver"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        for receiver in receivers:
            for family in (self._delivered, self._failed, self._retries, self._dead, self._seconds):
                family.labels(receiver)

    def attempted(self, receiver: str, result: SendResult, attempt: int, seconds: float) -> None:
        """An attempt is over; from any thread."""
        self._seconds.labels(receiver).observe(seconds)
        (self._delivered if result.outcome == "ok" else self._failed).labels(receiver).inc()
        if attempt > 1:
            self._retries.labels(receiver).inc()

    def alerted(self, receiver: str, result: SendResult, seconds: float) -> None:
        """A request to an Alertmanager is over; from any thread."""
        self.attempted(receiver, result, 1, seconds)

    def dead(self, receiver: str) -> None:
        """A message was given up."""
        self._dead.labels(receiver).inc()

    def show(self, figures: Callable[[], Figures]) -> None:
        """Shows how things are, asked at each scrape."""
        self.registry.register(_Now(figures))

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"clientscope_deliver_{name}", text, ["receiver"], registry=self.registry)


class _Now(Collector):
    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterable[Metric]:
        now = self._figures()
        yield GaugeMetricFamily("clientscope_deliver_active", "1 for the copy that delivers, 0 for a standby.", value=now.active)
        yield GaugeMetricFamily("clientscope_deliver_findings", "Known findings in all states.", value=now.findings)
        yield CounterMetricFamily("clientscope_deliver_undecodable_records", "Records that can't be decoded.", value=now.undecodable)
        for name, text, value in _GAUGES:
            family = GaugeMetricFamily(f"clientscope_deliver_{name}", text, labels=["receiver"])
            for one in now.receivers:
                if (number := value(one)) is not None:
                    family.add_metric([one.receiver], float(number))
            yield family
