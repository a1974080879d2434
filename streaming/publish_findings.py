"""Publisher of findings: what the engine takes in -> findings over time -> ``clientscope.findings``.

Nothing lasts but what is on topics. Each start reads ``clientscope.results``, of which compaction keeps one per client. What follows is
compared with the topic of findings, and only differences are written (`streaming.findings`).
"""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

from kafka.errors import KafkaError

from clientscope import clock
from clientscope.errors import ClientscopeError, RecordError
from clientscope.findings.conditions import given_up_alerts
from clientscope.garbage import settle
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.compacted import Follower, read_compacted
from clientscope.kafka.writer import Headers, TopicWriter
from clientscope.model.codec import decode, encode_whole
from clientscope.model.decision import Decision
from clientscope.model.finding import Finding
from clientscope.model.status import ProcessStatus
from clientscope.model.topics import CONFIGS, DECISIONS, FINDINGS, STATUS
from streaming import clients_seen
from streaming.findings.engine import CONNECTIONS_BACK_MS, FindingsEngine
from streaming.findings.inputs import EngineInput
from streaming.findings.retention import Kept
from streaming.job_metrics import PASSED_OVER, JobMetrics
from streaming.queries.query import JobContext

log = logging.getLogger(__name__)

_NOTE_EVERY_MS = 60 * 60_000


class FindingsPublisher:
    """The engine, its topic, and the changes that need no input: clients leave, decisions are made, changes become known values.

    From any thread. `take` is called with what comes, `tick` every second, `close` at the end.

    Attributes:
        since_ms: what happened to connections has to be taken in from then on.
    """

    def __init__(self, job: JobContext) -> None:
        """
        Raises:
            KafkaError, TimeoutError: no broker answers.
        """
        settings = job.settings
        kafka = KafkaAccess.of(settings)
        with ExitStack() as opened:  # closed again where the rest fails
            self._writer = TopicWriter(kafka, FINDINGS)
            opened.callback(self._writer.close)
            self._decisions = Follower(kafka, DECISIONS)
            opened.callback(self._decisions.close)
            self._statuses = Follower(kafka, STATUS)
            opened.callback(self._statuses.close)
            self._conditions = job.conditions
            self._given_up: dict[str, int] = {}
            now_ms = clock.now_ms()
            self._topic = job.checkpoints.topic
            noted = clients_seen.noted(self._topic.read(), now_ms)
            self._noted_ms = now_ms
            kept = Kept(noted.seen, settings.keep_clients_days)
            self._tombstones = TopicWriter(kafka, CONFIGS)
            opened.callback(self._tombstones.close)
            self.since_ms = min(now_ms - CONNECTIONS_BACK_MS, noted.since_ms)
            published = read_compacted(kafka, FINDINGS)
            self._findings = FindingsEngine(published, job.policy, job.thresholds, job.conditions, kept, job.reports, settings.max_clients)
            self._findings.decided(_decisions(self._decisions.read_to_end()))
            self._lock = threading.Lock()
            self._caught_up = False
            self._opened = opened.pop_all()

    def take(self, inputs: Sequence[EngineInput], overtake: bool = False) -> None:
        """Takes in what comes, and writes what follows.

        Args:
            overtake: as for `FindingsEngine.apply`.
        """
        with self._lock:
            self._findings.apply(inputs, overtake)
            self._publish()
            if not self._caught_up:
                gc.freeze()  # nearly all of it stays, and each collection would go through it again: a sixth of a start's time

    def caught_up(self) -> None:
        """All has been taken in that there was at the start."""
        settle()
        with self._lock:
            self._caught_up = True

    def tick(self) -> None:
        """Publishes what has changed; new leaks and our own problems alone until all has been taken in that there was at the start."""
        self._read_statuses()
        decisions = _decisions(_news(self._decisions, DECISIONS))
        with self._lock:
            self._findings.decided(decisions)
            self._publish()
            if self._caught_up:
                self._end_clients(clock.now_ms())

    def measure(self, metrics: JobMetrics) -> None:
        """How much is kept of what, how much was left out, and whether all has been read that there was at the start."""
        metrics.catching_up(not self._caught_up)
        with self._lock:
            for topic, number in self._findings.passed_over.take().items():
                metrics.quarantined(topic, PASSED_OVER, number)
            for what, size in self._findings.sizes().items():
                metrics.set("findings_kept", size, what)
            metrics.limits(self._findings.limits)

    def close(self) -> None:
        """Notes when clients were seen, and ends."""
        with self._lock:
            self._note(clock.now_ms())
        self._opened.close()
        gc.unfreeze()  # or what it has kept would stay for good: another start reads all of it again

    def _publish(self) -> None:
        now_ms = clock.now_ms()
        try:
            changes = self._findings.changes(now_ms) if self._caught_up else self._findings.early(now_ms)
            if changes:
                values = {key: _json(finding) for key, finding in changes.items()}
                self._writer.write(values, {key: cloud_event(finding) for key, finding in changes.items() if finding})
                self._findings.written(changes, now_ms)
        except (KafkaError, TimeoutError) as error:
            log.warning("findings could not be written, and are written again: %s", error)

    def _read_statuses(self) -> None:
        """Reports the receivers of alerts that get none: the job alone writes findings, deliver says so on ``clientscope.status``."""
        for key, value in _news(self._statuses, STATUS).items():
            if value is None or not key.startswith('["receiver",'):
                continue
            with suppress(RecordError):
                status = decode(ProcessStatus, value)
                alerts = status.figures.get("given_up", 0)
                if status.condition != "stopped" and self._given_up.get(key) != alerts:  # it is written every few seconds
                    self._conditions.report(given_up_alerts(status.id, alerts, status.reason, status.told_ms))
                    self._given_up[key] = alerts

    def _end_clients(self, now_ms: int) -> None:
        """Writes tombstones for clients that are gone for long, and notes once an hour when others were seen."""
        if keys := self._findings.over(now_ms):
            try:
                self._tombstones.write(dict.fromkeys(keys))
            except (KafkaError, TimeoutError) as error:  # those that were written are read back
                log.warning("%d clients that are gone could not leave %s, and do so later: %s", len(keys), CONFIGS, error)
            else:
                self._findings.ended(keys, now_ms)
                log.info("%d clients that are gone have left %s", len(keys), CONFIGS)
        if now_ms - self._noted_ms >= _NOTE_EVERY_MS:
            self._note(now_ms)

    def _note(self, now_ms: int) -> None:
        if not self._caught_up:
            return  # less is known than the process before had noted
        self._noted_ms = now_ms
        try:
            self._topic.write(*clients_seen.records(self._findings.kept.seen(), now_ms))
        except (ClientscopeError, KafkaError, TimeoutError) as error:
            log.warning("when clients were last seen could not be noted, and is noted later: %s", error)


def _json(finding: Finding | None) -> bytes | None:
    return None if finding is None else encode_whole(finding)


def cloud_event(finding: Finding) -> Headers:
    """CloudEvents 1.0 in Kafka's binary mode: (source, id) is the same for the same state of the same finding."""
    seconds, milliseconds = divmod(finding.ended_ms or finding.last_seen_ms, 1000)
    attributes = {
        "ce_specversion": "1.0",
        "ce_id": f"{finding.fingerprint}-{finding.revision}",
        "ce_source": "clientscope/findings",
        "ce_type": f"io.clientscope.finding.{finding.state}",
        "ce_subject": finding.fingerprint,
        "ce_time": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{milliseconds:03}Z",
        "content-type": "application/json",
    }
    return [(name, value.encode()) for name, value in attributes.items()]


def _news(follower: Follower, topic: str) -> dict[str, bytes | None]:
    try:
        return follower.news()
    except (KafkaError, TimeoutError) as error:
        log.warning("%s could not be read, and is read later: %s", topic, error)
        return {}


def _decisions(values: Mapping[str, bytes | None]) -> dict[str, Decision | None]:
    return {key: _decision(value) for key, value in values.items()}


def _decision(value: bytes | None) -> Decision | None:
    """The decision in a record of the topic; None, as for a withdrawn decision, if the record is invalid."""
    if value is None:
        return None
    try:
        return decode(Decision, value)
    except RecordError as error:
        log.warning("a record on %s is invalid (%s), and skipped", DECISIONS, error.reason)
        return None
