"""Tables rebuilt from topics: records in, tables out. No I/O; time is passed in."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from clientscope.api.common import Feed
from clientscope.api.overview import Progress
from clientscope.errors import RecordError
from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.enums import rank_of
from clientscope.model.fields import clean
from clientscope.model.principals import authenticated
from clientscope.model.push import Push
from clientscope.model.result import PushResult
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES, RESULTS, STATUS
from clientscope.policy.redaction import ClientNames
from clientscope.profiles.owners import NO_OWNERS, Owners
from clientscope.readiness.seen import SeenClients
from sinks.dashboard.rows.judging import IndexedPush, PushIndex
from sinks.dashboard.rows.sql import Database
from sinks.dashboard.state.connections import ConnectionTable, event
from sinks.dashboard.state.findings import FindingTable
from sinks.dashboard.state.gauges import GaugeTable
from sinks.dashboard.state.pushes import PushTable, pack
from sinks.dashboard.state.status import StatusTable
from udfs.kernels.applications import application_of


@dataclass(frozen=True)
class TopicRecord:
    """One record of a topic.

    Attributes:
        timestamp_ms: LogAppendTime.
        partition, offset: where it lies.
    """

    topic: str
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    partition: int = 0
    offset: int = 0


class FeedStatus(NamedTuple):
    """The progress of reading.

    Attributes:
        detail: why it isn't live; None where it is.
        progress: while it catches up.
    """

    now: Feed = "starting"
    detail: str | None = None
    progress: Progress | None = None


MAX_KEY_BYTES = 1_024

_names = ClientNames()


def push(record: TopicRecord) -> IndexedPush:
    """What the index has of a record, which is no tombstone.

    Raises:
        RecordError: it is no push, or its key is none.
    """
    read = _names.of_record(decode(Push, record.value))
    return _indexed(read, key_text(record.key), record.partition, record.offset, record.timestamp_ms)


def key_text(key: bytes | None) -> str:
    """A record's key as text.

    Raises:
        RecordError: the key is too long or missing.
    """
    if key is None or len(key) > MAX_KEY_BYTES:
        raise RecordError("key")
    return key.decode("utf-8", "replace")


def judged(value: PushResult, arrived_ms: int) -> IndexedPush:
    """The index entry of the push that a result is about."""
    found = _indexed(value, value.client, value.partition, value.offset, arrived_ms)
    return found._replace(judged=bool(value.rules or value.passed), not_judged_by=pack(value.not_evaluable))


def _indexed(of: Push | PushResult, key: str, partition: int, offset: int, pushed_ms: int) -> IndexedPush:
    client_id = clean(of.client_id or "")
    return IndexedPush(
        key=key,
        partition=partition,
        offset=offset,
        pushed_ms=pushed_ms,
        client_id=client_id,
        address=clean(of.address),
        principal=clean(authenticated(of.principal) or ""),
        application=application_of(client_id),
        instance=of.instance_id,
        software=clean(of.software_name),
        version=clean(of.software_version),
        rank=rank_of(of.origin),
    )


_Decoded = ClientConnectionRecord | PushResult | IndexedPush | RecordError | None


class Known:
    """The tables, the lock around them, and the progress of reading.  Every method may be called from any thread.

    Attributes:
        owners: the teams that clients belong to.
        version: rises with every change.
        feed: the progress of reading.
    """

    def __init__(
        self,
        gauge_limit: int = 100_000,
        connection_limit: int = 100_000,
        finding_limit: int = 10_000,
        push_limit: int = 200_000,
        owners: Owners = NO_OWNERS,
    ) -> None:
        self.owners = owners
        self._lock = threading.RLock()
        self._gauges = GaugeTable(gauge_limit)
        self._connections = ConnectionTable(connection_limit, owners)
        judging = self._connections.writing.judging
        self._index = PushIndex(self._connections.database, judging, push_limit)
        self._pushes = PushTable(is_counting=False)
        self._findings = FindingTable(judging, finding_limit)
        self._status = StatusTable()
        self._series = self._connections.minutes
        self._seen = SeenClients()
        self._records: Counter[str] = Counter()
        """Records that were read, by topic."""
        self._undecodable: Counter[tuple[str, str]] = Counter()
        """Those that can't be decoded, by topic and reason."""
        self._versions: Counter[str] = Counter()
        """By topic, and ``checks``, a number that rises with each change, so that a caller that asks again knows whether there is news."""
        self.version = 0
        self._last_change_ms: int | None = None
        """Kafka's time of the newest change that people look for."""
        self._last_record_ms: int | None = None
        self.feed = FeedStatus()
        self._was_live = False
        """Whether all was ever read; before that tables are incomplete."""

    @property
    def database(self) -> Database:
        """Connections, pushes and what was found about them, as tables of SQLite."""
        return self._connections.database

    def apply(self, records: Iterable[TopicRecord]) -> None:
        """Takes records, in the order of their partitions.  One that can't be decoded is counted, by reason, and skipped."""
        taken = list(records)
        decoded = [_decoded(record) for record in taken]  # which takes longest, and needs no lock
        with self._lock, self.database.batch():
            for record, value in zip(taken, decoded, strict=True):
                self._records[record.topic] += 1
                self._last_record_ms = max(record.timestamp_ms, self._last_record_ms or 0)
                try:
                    changed = self._apply(record, value)
                except RecordError as error:
                    self._undecodable[record.topic, error.reason] += 1
                    self._touch("checks", record.timestamp_ms)
                else:
                    if changed:
                        self._touch(record.topic, record.timestamp_ms)
            writing = self._connections.writing
            if self._was_live or writing.is_due:  # before that there are no requests, and much at once is faster
                writing.flush()

    def catching_up(self, read: int, total: int) -> None:
        """The topics are being read, from the start or after they could not be reached."""
        with self._lock:
            self._set_feed(FeedStatus("catching_up", progress=Progress(read=min(read, total), total=total)))

    def live(self) -> None:
        """Every topic has been read to its end."""
        with self._lock:
            if not self._was_live:
                self._connections.writing.flush()
                self._was_live = True
                self._pushes.is_counting = True
            self._set_feed(FeedStatus("live"))

    def unreachable(self, detail: str) -> None:
        """The topics can't be read; ``detail`` says why.  What is known stays, marked as stale."""
        with self._lock:
            self._set_feed(FeedStatus("unreachable", detail))

    def tick(self, now_ms: int) -> None:
        """Lets time do its work; about once a second."""
        with self._lock:
            if self._pushes.expire(now_ms):
                self._touch(RESULTS, now_ms)
            self._series.expire(now_ms)
            self._seen.expire(now_ms)
            if self.feed.now != "live":  # not reading, so silence says nothing about others
                return
            with self.database.batch():
                if self._connections.expire(now_ms):
                    self._touch(CONNECTIONS, now_ms)
                writing = self._connections.writing
                if writing.judging.set_now(now_ms) | writing.set_now(now_ms):
                    self._touch(CONNECTIONS, now_ms)
            if self._status.tick(now_ms):
                self._touch(STATUS, now_ms)

    def _apply(self, record: TopicRecord, value: _Decoded) -> bool:
        if isinstance(value, RecordError):
            raise value
        if record.topic == GAUGES:
            return self._gauges.apply(record.key, record.value)
        if record.topic == FINDINGS:
            return self._findings.apply(key_text(record.key), record.value)
        if record.topic == STATUS:
            return self._status.apply(record.key, record.value, record.timestamp_ms)
        if isinstance(value, IndexedPush):
            self._index.put(value)
            return False  # what is shown of it changes with its result
        if isinstance(value, PushResult):
            self._index.put(judged(value, record.timestamp_ms))
            return self._pushes.apply(value, record.timestamp_ms)
        if record.topic in (CONFIGS, RESULTS):
            self._index.remove(key_text(record.key))
            return False
        assert value is not None
        new = self._seen.apply(value, record.timestamp_ms)
        return self._connections.apply(value, record.timestamp_ms) or new

    def _dropped(self) -> Counter[str]:
        tables = self._gauges, self._series, self._connections, self._findings, self._index, self._status, self._seen
        return sum((table.dropped for table in tables), Counter())

    def _touch(self, what: str, at_ms: int) -> None:
        self.version += 1
        self._versions[what] += 1
        if what != STATUS:  # a repeated status is no news to people
            self._last_change_ms = max(at_ms, self._last_change_ms or 0)

    def _set_feed(self, feed: FeedStatus) -> None:
        self.version += feed != self.feed
        self.feed = feed


def _decoded(record: TopicRecord) -> _Decoded:
    """Its value, or why it has none; None where its table reads it itself."""
    try:
        if record.topic == CONNECTIONS:
            return event(record.value)
        if record.topic == CONFIGS:
            return None if record.value is None else push(record)
        if record.topic == RESULTS:
            return None if record.value is None else decode(PushResult, record.value)
    except RecordError as error:
        return error
    return None
