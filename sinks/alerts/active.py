"""Delivering, for as long as it is this copy's turn: findings in, messages out, and what became of them written down."""

from __future__ import annotations

import logging
import queue
import random
import time
from collections.abc import Callable

from clientscope.kafka_access import Kafka
from clientscope.records.topics import DELIVERIES, FINDINGS
from sinks.alerts.alertmanager import Alerts, Peer
from sinks.alerts.apprise_sender import AppriseSender
from sinks.alerts.book import Book, fires
from sinks.alerts.damping import with_time
from sinks.alerts.feed import Feed
from sinks.alerts.journal import Journal
from sinks.alerts.message import Message, Texts
from sinks.alerts.metrics import DeliverMetrics, Figures, ReceiverFigures
from sinks.alerts.progress import DeadLetter, Disabled, Plan, Told, kind_of
from sinks.alerts.receivers import Receiver, Receivers
from sinks.alerts.retries import Schedule
from sinks.alerts.sending import Route
from sinks.alerts.webhook import Webhook
from sinks.alerts.worker import QUEUE_LIMIT, Send, Settled, Worker

_CLEAN_UP_S = 600.0

_LOOK_S = 0.5
"""How often it is looked at what is due: of a storm that a silence holds that is much."""

_log = logging.getLogger(__name__)


def now_ms() -> int:
    """Since the epoch."""
    return int(time.time() * 1000)


def route(receiver: Receiver) -> Route:
    """How a receiver is reached."""
    return Route(receiver.allow_networks, receiver.ca, receiver.timeout_s)


def sender(receiver: Receiver, texts: Texts) -> Send:
    """What sends a receiver's messages."""
    return AppriseSender(receiver, texts) if receiver.kind == "apprise" else Webhook(receiver, texts, route(receiver))


class Active:
    """For one thread, which calls `start` once and `step` again and again."""

    def __init__(self, kafka: Kafka, receivers: Receivers, external_url: str, metrics: DeliverMetrics) -> None:
        self._kafka = kafka
        self._book = Book(receivers)
        self._journal = Journal(kafka)
        self._metrics = metrics
        self._settled: queue.SimpleQueue[Settled] = queue.SimpleQueue()
        self._messages: dict[str, Message] = {}
        self._offered: set[str] = set()
        self._feeds: list[Feed] = []
        self._clean_up_due = 0.0
        self._look_due = 0.0
        self._workers: dict[str, Worker] = {}
        self._alerts: dict[str, Alerts] = {}
        self._peers: list[Peer] = []
        self._texts = {receiver.name: Texts(external_url, receiver.zone) for receiver in receivers.every}
        for receiver in receivers.every:
            if receiver.kind == "alertmanager":
                self._alertmanager(receiver)
            else:
                schedule: Schedule[Message] = Schedule(random.random, QUEUE_LIMIT, receiver.max_attempts)
                send = sender(receiver, self._texts[receiver.name])
                self._workers[receiver.name] = Worker(receiver.name, send, schedule, self._settled, metrics.attempted)

    def _alertmanager(self, receiver: Receiver) -> None:
        alerts = self._alerts[receiver.name] = Alerts(receiver, self._texts[receiver.name])
        told: Callable[..., None] = lambda name, result, number, seconds: self._metrics.alerted(name, result, seconds)  # noqa: E731
        for number in range(len(receiver.urls)):
            self._peers.append(Peer(number, receiver, alerts, route(receiver), told, random.random))

    def start(self) -> None:
        """Reads what was delivered and every finding, and only then begins to send.

        Raises:
            KafkaError, TimeoutError: the topics could not be read.
        """
        self._feeds = [Feed(self._kafka, DELIVERIES), Feed(self._kafka, FINDINGS)]
        progress, findings = (feed.read_to_end() for feed in self._feeds)
        self._book.take_progress(progress, now_ms())
        self._take_findings(findings)
        for plan in [plan for plan in self._book.plans.values() if plan.receiver not in self._workers]:
            self._settle(plan)  # of a receiver that is no more
        for each in self._threads():
            each.start()

    def step(self) -> None:
        """Takes in what is new, and hands out what is due; returns soon, unless Kafka is slow.

        Raises:
            KafkaError: Kafka did not take what is to be written; nothing is lost, and the next step tries again.
        """
        requests = {key: value for key, value in self._feeds[0].news().items() if kind_of(key) == "request"}
        self._book.take_progress(requests, now_ms())
        self._take_findings(self._feeds[1].news())
        self._take_requests()
        while not self._settled.empty():
            self._take_settled(self._settled.get())
        if time.monotonic() >= self._look_due:
            self._look_due = time.monotonic() + _LOOK_S
            self._plan()
        if time.monotonic() >= self._clean_up_due:
            self._clean_up_due = time.monotonic() + _CLEAN_UP_S
            self._journal.delete(*self._book.forgotten())
        self._journal.flush()
        self._offer()  # only what is written down

    def stop(self) -> None:
        """Ends, once the attempts that are under way have."""
        for each in self._threads():
            each.stop()

    def close(self, patience_s: float) -> None:
        """After `stop`: waits for attempts, and writes down what became of them."""
        deadline = time.monotonic() + patience_s
        for each in self._threads():
            each.join(max(0.0, deadline - time.monotonic()))
        try:
            while not self._settled.empty():
                self._take_settled(self._settled.get())
            self._journal.flush()
        finally:
            self._journal.close()
            for feed in self._feeds:
                feed.close()

    def _threads(self) -> list[Worker | Peer]:
        return [*self._workers.values(), *self._peers]

    def is_well(self) -> bool:
        """Whether every thread runs."""
        return all(each.is_alive() for each in self._threads())

    def problems(self) -> list[str]:
        """What a person should know of, a sentence each."""
        found = [f"{name} is disabled: {disabled.reason}" for name, disabled in list(self._book.disabled.items())]
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
            oldest = self._book.oldest_ms(name)
            every.append(
                ReceiverFigures(
                    name,
                    queue=worker.length(),
                    undelivered=self._book.to_tell(name),
                    held=self._book.held[name],
                    oldest_s=0.0 if oldest is None else max(0.0, (now_ms() - oldest) / 1000),
                    failing=worker.failing_since is not None,
                    disabled=name in self._book.disabled,
                )
            )
        for name, alerts in self._alerts.items():
            failing = any(peer.failing_since is not None for peer in self._peers if peer.name == name)
            every.append(ReceiverFigures(name, failing=failing, alerts=alerts.firing()))
        return Figures(True, len(self._book.findings), self._book.undecodable, tuple(every))

    def _take_findings(self, news: dict[str, bytes | None]) -> None:
        if not news:
            return
        for fingerprint in self._book.take_findings(news, now_ms()):
            finding = self._book.findings.get(fingerprint)
            for alerts in self._alerts.values():
                alerts.take(finding, fingerprint, finding is not None and fires(finding), now_ms())
        for peer in self._peers:
            peer.changed()

    def _plan(self) -> None:
        for name in self._workers:
            for message in self._book.due(name, now_ms()):
                self._messages[message.plan.key] = message
                self._book.plan(message.plan)
                self._journal.put(message.plan)

    def _take_requests(self) -> None:
        for key, request in list(self._book.requests.items()):
            if disabled := self._book.disabled.pop(request.receiver, None):
                self._journal.delete(disabled.key)
            for plan in request.plans:
                if plan.receiver in self._workers and plan.key not in self._book.plans:
                    self._book.plan(plan)
                    self._journal.put(plan)
            self._book.forget(key)
            self._journal.delete(key)

    def _offer(self) -> None:
        for key, plan in list(self._book.plans.items()):
            if key in self._offered or plan.receiver in self._book.disabled:
                continue
            message = self._messages.get(key) or self._book.message(plan)
            if message is None:
                self._settle(plan)
            elif self._workers[plan.receiver].offer(message):
                self._offered.add(key)

    def _take_settled(self, settled: Settled) -> None:
        plan, result = settled.message.plan, settled.result
        at = now_ms()
        if result.outcome != "ok":
            subject = self._texts[plan.receiver].title(settled.message)
            self._journal.dead(DeadLetter(**plan.model_dump(), subject=subject, reason=result.reason, attempts=settled.attempts, at_ms=at))
            self._metrics.dead(plan.receiver)
            _log.warning("receiver %s: message %s given up after %d attempts: %s", plan.receiver, plan.id, settled.attempts, result.reason)
        if result.outcome == "gone":
            disabled = Disabled(receiver=plan.receiver, reason=result.reason, at_ms=at)
            self._book.disabled[plan.receiver] = disabled
            self._journal.put(disabled)
            self._offered -= {key for key, other in self._book.plans.items() if other.receiver == plan.receiver}
        told = [one for one in (self._told(plan, *member, at, result.outcome == "ok") for member in plan.members) if one]
        self._settle(plan)
        self._book.tell(told, at)
        self._journal.put(*told)

    def _settle(self, plan: Plan) -> None:
        self._book.unplan(plan.key)
        self._messages.pop(plan.key, None)
        self._offered.discard(plan.key)
        self._journal.delete(plan.key)

    def _told(self, plan: Plan, fingerprint: str, number: int, at_ms: int, delivered: bool) -> Told | None:
        """What is known of one finding from now on; None where a later message has said more, and this one was sent again."""
        before = self._book.told(plan.receiver, fingerprint)
        finding = self._book.findings.get(fingerprint)
        is_newest = finding is not None and finding.alert is not None and finding.alert.number == number
        if before is not None and ((before.number > number and not is_newest) or (before.number == number and before.status == "ended")):
            return None
        times = list(before.times_ms) if before else []
        if delivered and plan.status == "firing":
            times = with_time(times, at_ms)
        return Told(
            receiver=plan.receiver,
            fingerprint=fingerprint,
            number=number,
            status=plan.status if delivered else "dead",
            message_id=plan.id,
            group=plan.group,
            at_ms=at_ms,
            times_ms=times,
        )
