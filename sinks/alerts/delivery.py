"""Main program of ``clientscope deliver``: a thread and a consumer group for each receiver, so that one that is down delays no other.

A receiver's group commits the offset of a finding once its alert was delivered or given up.  Copies of deliver share the partitions.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial

from kafka.errors import KafkaError
from prometheus_client import CollectorRegistry, Counter, Gauge

from clientscope import __version__
from clientscope.background import Background
from clientscope.clock import now_ms
from clientscope.errors import RecordError
from clientscope.kafka.access import Kafka
from clientscope.kafka.group import GroupReader
from clientscope.local.process import StopRequest
from clientscope.model.codec import decode
from clientscope.model.finding import Finding
from clientscope.model.status import Condition, ProcessStatus
from clientscope.model.topics import FINDINGS
from clientscope.report.text import counted
from sinks.alerts import apprise, webhook
from sinks.alerts.alertmanager import Alerts
from sinks.alerts.message import Texts
from sinks.alerts.outbox import Outbox, Place, Round
from sinks.alerts.receivers import HttpReceiver, MessageReceiver, Receiver, WebhookReceiver

GROUP_PREFIX = "clientscope-deliver."
"""Of the receivers' consumer groups: the prefix, and the receiver's name."""

SESSION_MS = 6_000
"""A copy that says nothing for so long has lost its partitions; brokers take no less by default (group.min.session.timeout.ms)."""

_STEP_S = 0.5
_AGAIN_S = 2.0
_PATIENCE_S = 10.0

_log = logging.getLogger(__name__)


class DeliverMetrics:
    """Metrics by receiver."""

    def __init__(self, receivers: Iterable[str]) -> None:
        self.registry = CollectorRegistry()
        self.delivered = self._counter("messages_delivered", "Messages accepted by the receiver; for Alertmanager, rounds of requests.")
        self.failed = self._counter("attempts_failed", "Failed attempts.")
        self.given_up = self._counter("given_up", "Alerts that were given up after two hours, or since the receiver refused them for good.")
        self.undecodable = self._counter("undecodable_records", "Records that can't be decoded.")
        self.undelivered = self._gauge("undelivered_findings", "Findings with an undelivered alert.")
        self.oldest = self._gauge("oldest_undelivered_seconds", "Age of the oldest undelivered alert; 0 if there is none.")
        self.failing = self._gauge("receiver_failing", "1 if the last attempt failed.")
        for receiver in receivers:
            for family in (self.delivered, self.failed, self.given_up, self.undecodable):
                family.labels(receiver)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(f"clientscope_deliver_{name}", text, ["receiver"], registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"clientscope_deliver_{name}", text, ["receiver"], registry=self.registry)


class Delivery(Background):
    """One receiver's thread; other threads ask how it is.

    Attributes:
        given_up: alerts since the start, or since the last one that was delivered.
    """

    def __init__(self, kafka: Kafka, receiver: Receiver, external_url: str, metrics: DeliverMetrics) -> None:
        super().__init__(f"deliver-{receiver.name}")
        self.receiver = receiver
        self.newest_ms: int | None = None
        self.state: Condition = "starting"
        self.trouble = ""
        self.failing = ""
        self.given_up = 0
        self.has_delivered = False
        self.started_ms = now_ms()
        self._kafka = kafka
        self._texts = Texts(external_url)
        self._metrics = metrics
        self._term = 0
        self._outbox: Outbox | Alerts = self._new_outbox()
        metrics.undelivered.labels(receiver.name).set_function(self.undelivered)
        metrics.oldest.labels(receiver.name).set_function(self.oldest_s)
        metrics.failing.labels(receiver.name).set_function(lambda: bool(self.failing))

    def oldest_s(self) -> float:
        """Age of the oldest undelivered alert."""
        now = time.monotonic()
        return now - min((each.since for each in self._outbox.waiting()), default=now)

    def undelivered(self) -> int:
        """Number of findings with an undelivered alert."""
        return len(self._outbox.waiting())

    def _new_outbox(self) -> Outbox | Alerts:
        receiver = self.receiver
        if isinstance(receiver, WebhookReceiver):
            return Outbox(receiver, lambda message: webhook.send(receiver, message, self._texts))
        if isinstance(receiver, MessageReceiver):
            return Outbox(receiver, lambda message: apprise.send(receiver, message, self._texts))
        assert isinstance(receiver, HttpReceiver)
        return Alerts(receiver, self._texts)

    def _run(self) -> None:
        reader: GroupReader | None = None
        try:
            while not self._stopping.is_set():
                try:
                    if reader is None:
                        group = GROUP_PREFIX + self.receiver.name
                        reader = GroupReader(self._kafka, "clientscope-deliver", group, FINDINGS, SESSION_MS)
                    self._step(reader)
                    self.trouble = ""
                except (KafkaError, OSError) as error:  # TimeoutError is one
                    if not self.trouble:
                        _log.warning("receiver %s: Kafka is away or refuses (%s); trying again", self.receiver.name, type(error).__name__)
                    self.trouble = f"Kafka: {type(error).__name__}"
                    self._stopping.wait(_AGAIN_S)
        finally:
            if reader is not None:
                with suppress(KafkaError, OSError):
                    reader.close()

    def _step(self, reader: GroupReader) -> None:
        records = reader.poll(_STEP_S)
        if reader.term != self._term:
            self._term, self._outbox = reader.term, self._new_outbox()
        for record in records:
            self.newest_ms = max(self.newest_ms or 0, record.timestamp)
            self._take(record, reader.committed.get(record.partition))
        if reader.has_caught_up():
            self.state = "ok"
            if (sent := self._outbox.send(now_ms(), time.monotonic())) is not None:  # one at most, so that Kafka hears from this thread
                self._attempted(sent)
            reader.commit(self._unsettled())

    def _unsettled(self) -> dict[int, int]:
        """By partition, the first record that must be read again after a restart."""
        found: dict[int, int] = {}
        for (partition, offset), _ in self._outbox.waiting():
            found[partition] = min(offset, found.get(partition, offset))
        return found

    def _take(self, record: object, committed: int | None) -> None:
        key, value = record.key, record.value  # type: ignore[attr-defined]
        place = Place(record.partition, record.offset)  # type: ignore[attr-defined]
        if key is None:
            return
        try:
            finding = None if value is None else decode(Finding, value)
        except RecordError:
            self._metrics.undecodable.labels(self.receiver.name).inc()
            return
        self._outbox.take(key.decode("utf-8", "replace"), finding, place, committed, now_ms(), time.monotonic())

    def _attempted(self, sent: Round) -> None:
        name, self.failing = self.receiver.name, sent.result.reason
        if sent.result.ok:
            self.has_delivered, self.given_up = True, 0
            self._metrics.delivered.labels(name).inc()
            return
        self._metrics.failed.labels(name).inc()
        if sent.given_up:
            self.given_up += sent.given_up
            self._metrics.given_up.labels(name).inc(sent.given_up)
            _log.warning("receiver %s: %s given up: %s", name, counted(sent.given_up, "alert"), sent.result.reason)


class Deliveries:
    """All receivers' threads, and how the process is."""

    def __init__(self, kafka: Kafka, receivers: Iterable[Receiver], external_url: str = "") -> None:
        receivers = list(receivers)
        self.metrics = DeliverMetrics(receiver.name for receiver in receivers)
        self.every = [Delivery(kafka, receiver, external_url, self.metrics) for receiver in receivers]
        self._started_ms = now_ms()

    def run(self, stop: StopRequest) -> None:
        """Until it is asked to stop."""
        for each in self.every:
            each.start()
        announced = False
        while not stop.wait(_STEP_S):
            if not announced and not self.ready():
                print(f"clientscope deliver: ready, {counted(len(self.every), 'receiver')}", flush=True)
                announced = True
        for each in self.every:
            each.stop(0)  # after the attempt that is under way, all at the same time
        deadline = time.monotonic() + _PATIENCE_S
        for each in self.every:
            each.stop(max(0.0, deadline - time.monotonic()))

    def ready(self) -> str:
        """Why it isn't ready; empty where it is."""
        return "it hasn't read the findings yet" if any(each.state == "starting" for each in self.every) else ""

    def health(self) -> str:
        """What is wrong with the process itself; empty for nothing."""
        return "" if self.ready() or all(each.is_alive() for each in self.every) else "a receiver's thread has ended"

    def status(self, interval_ms: int) -> Iterator[ProcessStatus]:
        """Statuses for ``clientscope.status``: of the process, and of each receiver that has delivered or given up something.

        The job makes finding OP007 of a receiver's.

        Args:
            interval_ms: time between two such records.
        """
        told = partial(ProcessStatus, release=__version__, told_ms=now_ms(), interval_ms=interval_ms)
        troubles = sorted({each.trouble for each in self.every if each.trouble})
        failing = [f"{each.receiver.name} fails: {each.failing}" for each in self.every if each.failing]
        yield told(
            kind="deliver",
            id=socket.gethostname(),
            condition="starting" if self.ready() else "warn" if troubles or failing else "ok",
            reason="; ".join([*troubles, *failing])[:900],
            started_ms=self._started_ms,
            last_record_ms=max((each.newest_ms for each in self.every if each.newest_ms is not None), default=None),
            figures={
                "undelivered_findings": sum(each.undelivered() for each in self.every),
                "oldest_undelivered_seconds": round(max((each.oldest_s() for each in self.every), default=0.0)),
            },
        )
        for each in self.every:
            if each.given_up or each.has_delivered:
                yield told(
                    kind="receiver",
                    id=each.receiver.name,
                    condition="failed" if each.given_up else "ok",
                    reason=each.failing,
                    started_ms=each.started_ms,
                    figures={"given_up": each.given_up},
                )
