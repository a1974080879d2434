"""Delivery during this copy's turn: findings in, messages out, outcomes recorded."""

from __future__ import annotations

import logging
import queue
import random
import time

from clientscope.clock import now_ms
from clientscope.kafka.access import Kafka
from clientscope.kafka.compacted import Follower
from clientscope.records.topics import DELIVERIES, FINDINGS
from sinks.alerts.book import DeliveryBook, fires
from sinks.alerts.damping import with_time
from sinks.alerts.journal import Journal
from sinks.alerts.message import Message, Texts
from sinks.alerts.metrics import DeliverMetrics, Figures, ReceiverFigures
from sinks.alerts.peer import Peer, RepeatedAlerts
from sinks.alerts.progress import DeadLetter, DeliveryPlan, Disabled, LastDelivery, kind_of
from sinks.alerts.receivers import Receivers
from sinks.alerts.retries import Schedule
from sinks.alerts.sending import SendResult
from sinks.alerts.worker import QUEUE_LIMIT, Delivered, ReceiverWorker

_CLEAN_UP_S = 600.0

_LOOK_S = 0.5
"""How often it is looked at what is due: of a storm that a silence holds that is much."""

_log = logging.getLogger(__name__)


class Active:
    """For one thread, which calls `start` once and `step` again and again.

    Attributes:
        book: what was delivered, and what is planned.
        journal: what is still to be written of that.
    """

    def __init__(self, kafka: Kafka, receivers: Receivers, external_url: str, metrics: DeliverMetrics) -> None:
        self._kafka = kafka
        self.book = DeliveryBook(receivers)
        self.journal = Journal(kafka)
        self._metrics = metrics
        self._settled: queue.SimpleQueue[Delivered] = queue.SimpleQueue()
        self._messages: dict[str, Message] = {}
        self._offered: set[str] = set()
        self._feeds: list[Follower] = []
        self._clean_up_due = 0.0
        self._look_due = 0.0
        self._workers: dict[str, ReceiverWorker] = {}
        self._alerts: dict[str, RepeatedAlerts] = {}
        self._peers: list[Peer] = []
        self._texts = {receiver.name: Texts(external_url, receiver.zone) for receiver in receivers.every}
        for receiver in receivers.every:
            name, texts = receiver.name, self._texts[receiver.name]
            if receiver.kind.sender:
                schedule: Schedule[Message] = Schedule(random.random, QUEUE_LIMIT, receiver.max_attempts)
                send = receiver.kind.sender(receiver, texts)
                self._workers[name] = ReceiverWorker(name, send, schedule, self._settled, metrics.attempted)
            elif receiver.kind.follow:
                self._alerts[name], peers = receiver.kind.follow(receiver, texts, self._alerted)
                self._peers += peers

    def _alerted(self, name: str, result: SendResult, alerts: int, seconds: float) -> None:
        self._metrics.alerted(name, result, seconds)

    def start(self) -> None:
        """Reads what was delivered and every finding, and only then begins to send.

        Raises:
            KafkaError, TimeoutError: the topics could not be read.
        """
        self._feeds = [Follower(self._kafka, topic, "clientscope-deliver") for topic in (DELIVERIES, FINDINGS)]
        progress, findings = (feed.read_to_end() for feed in self._feeds)
        self.book.take_progress(progress, now_ms())
        self._take_findings(findings)
        for plan in [plan for plan in self.book.plans.values() if plan.receiver not in self._workers]:
            self._settle(plan)  # of a receiver that is no more
        for each in self._threads():
            each.start()

    def step(self) -> None:
        """Takes in what is new, and hands out what is due; returns soon, unless Kafka is slow.

        Raises:
            KafkaError: Kafka did not take what is to be written; nothing is lost, and the next step tries again.
        """
        requests = {key: value for key, value in self._feeds[0].news().items() if kind_of(key) == "request"}
        self.book.take_progress(requests, now_ms())
        self._take_findings(self._feeds[1].news())
        self._take_requests()
        while not self._settled.empty():
            self.take_settled(self._settled.get())
        if time.monotonic() >= self._look_due:
            self._look_due = time.monotonic() + _LOOK_S
            self._plan()
        if time.monotonic() >= self._clean_up_due:
            self._clean_up_due = time.monotonic() + _CLEAN_UP_S
            self.journal.delete(*self.book.forgotten())
        self.journal.flush()
        self._offer()  # only what is written down

    def stop(self) -> None:
        """Ends, once the attempts that are under way have."""
        for each in self._threads():
            each.stop()

    def close(self, patience_s: float) -> None:
        """After `stop`: waits for attempts, and records their results."""
        deadline = time.monotonic() + patience_s
        for each in self._threads():
            each.join(max(0.0, deadline - time.monotonic()))
        try:
            while not self._settled.empty():
                self.take_settled(self._settled.get())
            self.journal.flush()
        finally:
            self.journal.close()
            for feed in self._feeds:
                feed.close()

    def _threads(self) -> list[ReceiverWorker | Peer]:
        return [*self._workers.values(), *self._peers]

    def is_well(self) -> bool:
        """Whether every thread runs."""
        return all(each.is_alive() for each in self._threads())

    def problems(self) -> list[str]:
        """What a person should know of, a sentence each."""
        found = [f"{name} is disabled: {disabled.reason}" for name, disabled in list(self.book.disabled.items())]
        for each in self._threads():
            if each.failing_since is not None:
                found.append(f"{each.name} fails: {each.reason}")
        return found

    def newest_ms(self) -> int | None:
        """Kafka's time of the newest record that was read."""
        return max((feed.newest_ms for feed in self._feeds if feed.newest_ms is not None), default=None)

    def figures(self) -> Figures:
        """For metrics; from the thread of `step`."""
        every = []
        for name, worker in self._workers.items():
            oldest = self.book.oldest_ms(name)
            every.append(
                ReceiverFigures(
                    name,
                    queue=worker.length(),
                    undelivered=self.book.undelivered(name),
                    held=self.book.held[name],
                    oldest_s=0.0 if oldest is None else max(0.0, (now_ms() - oldest) / 1000),
                    failing=worker.failing_since is not None,
                    disabled=name in self.book.disabled,
                )
            )
        for name, alerts in self._alerts.items():
            failing = any(peer.failing_since is not None for peer in self._peers if peer.name == name)
            every.append(ReceiverFigures(name, failing=failing, alerts=alerts.firing()))
        return Figures(True, len(self.book.findings), self.book.undecodable, tuple(every))

    def _take_findings(self, news: dict[str, bytes | None]) -> None:
        if not news:
            return
        for fingerprint in self.book.take_findings(news, now_ms()):
            finding = self.book.findings.get(fingerprint)
            for alerts in self._alerts.values():
                alerts.take(finding, fingerprint, finding is not None and fires(finding), now_ms())
        for peer in self._peers:
            peer.changed()

    def _plan(self) -> None:
        for name in self._workers:
            for message in self.book.due(name, now_ms()):
                self._messages[message.plan.key] = message
                self.book.plan(message.plan)
                self.journal.put(message.plan)

    def _take_requests(self) -> None:
        for key, request in list(self.book.requests.items()):
            if disabled := self.book.disabled.pop(request.receiver, None):
                self.journal.delete(disabled.key)
            for plan in request.plans:
                if plan.receiver in self._workers and plan.key not in self.book.plans:
                    self.book.plan(plan)
                    self.journal.put(plan)
            self.book.forget(key)
            self.journal.delete(key)

    def _offer(self) -> None:
        for key, plan in list(self.book.plans.items()):
            if key in self._offered or plan.receiver in self.book.disabled:
                continue
            message = self._messages.get(key) or self.book.message(plan)
            if message is None:
                self._settle(plan)
            elif self._workers[plan.receiver].offer(message):
                self._offered.add(key)

    def take_settled(self, settled: Delivered) -> None:
        """Records the result of a message."""
        plan, result = settled.message.plan, settled.result
        at = now_ms()
        if result.outcome != "ok":
            subject = self._texts[plan.receiver].subject(settled.message)
            self.journal.dead(DeadLetter(**plan.model_dump(), subject=subject, reason=result.reason, attempts=settled.attempts, at_ms=at))
            self._metrics.dead(plan.receiver)
            _log.warning("receiver %s: message %s given up after %d attempts: %s", plan.receiver, plan.id, settled.attempts, result.reason)
        if result.outcome == "gone":
            disabled = Disabled(receiver=plan.receiver, reason=result.reason, at_ms=at)
            self.book.disabled[plan.receiver] = disabled
            self.journal.put(disabled)
            self._offered -= {key for key, other in self.book.plans.items() if other.receiver == plan.receiver}
        deliveries = [one for one in (self._last_delivery(plan, *member, at, result.outcome == "ok") for member in plan.members) if one]
        self._settle(plan)
        self.book.delivered(deliveries, at)
        self.journal.put(*deliveries)

    def _settle(self, plan: DeliveryPlan) -> None:
        self.book.unplan(plan.key)
        self._messages.pop(plan.key, None)
        self._offered.discard(plan.key)
        self.journal.delete(plan.key)

    def _last_delivery(self, plan: DeliveryPlan, fingerprint: str, number: int, at_ms: int, delivered: bool) -> LastDelivery | None:
        """What is known of one finding from now on; None where a later message has said more, and this one was sent again."""
        before = self.book.last_delivery(plan.receiver, fingerprint)
        finding = self.book.findings.get(fingerprint)
        is_newest = finding is not None and finding.alert is not None and finding.alert.number == number
        if before is not None and ((before.number > number and not is_newest) or (before.number == number and before.status == "ended")):
            return None
        times = list(before.times_ms) if before else []
        if delivered and plan.status == "firing":
            times = with_time(times, at_ms)
        return LastDelivery(
            receiver=plan.receiver,
            fingerprint=fingerprint,
            number=number,
            status=plan.status if delivered else "dead",
            message_id=plan.id,
            group=plan.group,
            at_ms=at_ms,
            times_ms=times,
        )
