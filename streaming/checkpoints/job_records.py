"""Records of ``clientscope.job``: where each query began and has read to, which records are skipped, when clients were last seen.

Each record's key is a JSON list that begins with its kind. The newest of a key counts; the topic is compacted.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, ClassVar, TypeVar

from kafka import TopicPartition
from pydantic import Field

from clientscope.clock import now_ms
from clientscope.errors import RecordError
from clientscope.model.codec import decode
from clientscope.model.fields import Id32, Id64, Ms, ShownMs, ShownName, Version, record
from streaming.checkpoints.topics_now import Extents, Offsets

log = logging.getLogger(__name__)


OffsetsByTopic = dict[str, dict[Id32, Id64]]
"""`streaming.checkpoints.topics_now.Offsets` as JSON has them, and Spark's ``startingOffsets``."""


def by_topic(offsets: Offsets) -> OffsetsByTopic:
    """Offsets for a record."""
    found: OffsetsByTopic = {}
    for (topic, number), offset in offsets.items():
        found.setdefault(topic, {})[number] = offset
    return found


def by_partition(offsets: OffsetsByTopic) -> Offsets:
    """Offsets of a record."""
    return {TopicPartition(topic, number): offset for topic, of_topic in offsets.items() for number, offset in of_topic.items()}


@record
class JobRecord:
    """Any record of the topic.

    Attributes:
        named_by: the fields that say what it is of, among those of its kind.
    """

    kind: ClassVar[str]
    named_by: ClassVar[tuple[str, ...]] = ()
    version: Version = 1

    @property
    def key(self) -> str:
        """Its key."""
        return json.dumps([self.kind, *(getattr(self, name) for name in self.named_by)], separators=(",", ":"))


@record
class JobOwner(JobRecord):
    """The job that runs, or ran last.

    Attributes:
        run: differs for each start of a job.
        process: what to call it, with its process id and host.
        running: False once it has stopped by itself.
    """

    kind: ClassVar[str] = "owner"
    run: str
    process: ShownName
    started_ms: ShownMs
    running: bool


@record
class QueryStart(JobRecord):
    """Where a query began anew: at first, after a reset, with another topic, or behind records that are gone.

    Attributes:
        checkpoint: its name, which progress since then has too.
        topic_ids: of the topics that it reads. Kafka gives another to a topic that is made again (KIP-516); None where brokers give none.
        offsets: of the first record to read, by topic and partition; a topic that isn't named begins at its beginning.
        lost: records that Kafka no longer had and the query went on without, by topic and partition, since its last reset.
        reason: why it began anew, in words.
    """

    kind: ClassVar[str] = "start"
    named_by: ClassVar[tuple[str, ...]] = ("query",)
    query: str
    checkpoint: Annotated[str, Field(pattern=r"^[0-9A-Za-z-]{1,64}$")]
    topic_ids: dict[str, str | None]
    offsets: OffsetsByTopic = field(default_factory=dict)
    lost: OffsetsByTopic = field(default_factory=dict)
    reason: ShownName
    at_ms: ShownMs


def new_start(
    query: str, topic_ids: Mapping[str, str | None], offsets: Offsets, reason: str, lost: Offsets = MappingProxyType({})
) -> QueryStart:
    """A start, whose name says when it was made.

    Args:
        offsets, lost: as in `QueryStart`.
    """
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"
    return QueryStart(
        query=query,
        checkpoint=name,
        topic_ids=dict(topic_ids),
        offsets=by_topic(offsets),
        lost=by_topic(lost),
        reason=reason,
        at_ms=now_ms(),
    )


@record
class QueryProgress(JobRecord):
    """How far a query has read, written every few seconds while that changes.

    Attributes:
        checkpoint: of the start since which it has.
        position: of the next record to read, by topic and partition.
    """

    kind: ClassVar[str] = "progress"
    named_by: ClassVar[tuple[str, ...]] = ("query",)
    query: str
    checkpoint: str
    position: OffsetsByTopic
    clientscope_version: ShownName
    spark_version: ShownName
    at_ms: ShownMs


@record
class VerdictsBegin(JobRecord):
    """From where on ``clientscope.results`` has verdicts that count: those before are of other rules, or of topics that are gone.

    Attributes:
        judged_by: `udfs.fingerprint` of what they follow from; where it changes, all pushes are judged again.
        topic_ids: of the topics of configurations and of results, as in `QueryStart`.
        begin: by partition; one that isn't named counts from its beginning.
    """

    kind: ClassVar[str] = "verdicts"
    judged_by: str
    topic_ids: dict[str, str | None]
    begin: dict[Id32, Id64]


@record
class SkippedRecord(JobRecord):
    """A record that every query skips, since decoding it kills the process.

    Attributes:
        timestamp_ms: Kafka's own, when it was appended: a topic that is made again has the same offsets again.
        found_ms: when it was found, in milliseconds since the epoch.
    """

    kind: ClassVar[str] = "skipped"
    named_by: ClassVar[tuple[str, ...]] = ("topic", "partition", "offset")
    topic: str
    partition: Id32
    offset: Id64
    timestamp_ms: Ms
    found_ms: ShownMs = 0


@record
class ClientsSeen(JobRecord):
    """When clients were last seen: one of the parts that `streaming.clients_seen` makes of all.

    Attributes:
        written_ms: what happened later is on ``clientscope.connections``.
        times: client → ms since the epoch.
    """

    kind: ClassVar[str] = "seen"
    named_by: ClassVar[tuple[str, ...]] = ("shard",)
    shard: Id32
    written_ms: ShownMs
    times: dict[str, Ms]


_KINDS: Mapping[str, type[JobRecord]] = {
    each.kind: each for each in (JobOwner, QueryStart, QueryProgress, VerdictsBegin, SkippedRecord, ClientsSeen)
}


_Kind = TypeVar("_Kind", bound=JobRecord)


@dataclass
class JobState:
    """The newest of all records, by key."""

    records: dict[str, JobRecord] = field(default_factory=dict)

    def take(self, news: Mapping[str, bytes | None]) -> None:
        """Takes in what was read; what is no record of a known kind is logged and left out."""
        for key, value in news.items():
            try:
                record = None if value is None else decode(_KINDS[json.loads(key)[0]], value)
            except (RecordError, ValueError, LookupError, TypeError, RecursionError) as error:
                log.warning("a record of clientscope.job with the key %.80s can't be read (%s), and is left out", key, error)
                continue
            if record is None:
                self.records.pop(key, None)
            else:
                self.records[key] = record

    def all(self, kind: type[_Kind]) -> list[_Kind]:
        """Those of one kind."""
        return [each for each in self.records.values() if isinstance(each, kind)]

    @property
    def owner(self) -> JobOwner | None:
        """The job that runs, or ran last; None where none ever did."""
        return next(iter(self.all(JobOwner)), None)

    @property
    def verdicts(self) -> VerdictsBegin | None:
        """From where on verdicts count; None where nobody has judged."""
        return next(iter(self.all(VerdictsBegin)), None)

    @property
    def starts(self) -> dict[str, QueryStart]:
        """By query."""
        return {each.query: each for each in self.all(QueryStart)}

    @property
    def progress(self) -> dict[str, QueryProgress]:
        """By query."""
        return {each.query: each for each in self.all(QueryProgress)}

    def position(self, query: str) -> Offsets:
        """Up to where a query has read since its start, as far as was written; where it began if nothing was."""
        start, progress = self.starts.get(query), self.progress.get(query)
        if start is None:
            return {}
        if progress is None or progress.checkpoint != start.checkpoint:
            return by_partition(start.offsets)
        return by_partition(progress.position)

    def lost(self) -> dict[tuple[str, str, int], int]:
        """Records that queries went on without, by query, topic and partition."""
        return {(start.query, *place): count for start in self.all(QueryStart) for place, count in by_partition(start.lost).items()}


_LOOK_S = 1.0
_PATIENCE_S = 600.0
"""Without progress: a batch of history may wait so long for its turn."""


def await_read(
    look: Callable[[], JobState],
    extents: Mapping[str, Extents],
    waits: Callable[[str], None],
    patience_s: float = _PATIENCE_S,
) -> str:
    """Waits until queries have read to the ends of these and have written what came of it.

    Args:
        look: reads the job's topic.
        extents: of each query's topics.
        waits: called with what it waits for, at first and then when that has become less.

    Returns:
        What isn't read and will not be, in words; empty where all is.  That is so at once where no job runs.
    """
    best: int | None = None
    deadline = 0.0
    while True:
        state = look()
        unread = {query: _unread(state.position(query), of_query) for query, of_query in extents.items()}
        left = {query: number for query, number in unread.items() if number}
        if not left:
            return ""
        behind = " and ".join(f"{query} has {number} record{'s' * (number != 1)} still to read" for query, number in left.items())
        if state.owner is None or not state.owner.running:
            return f"{behind}, and no job runs"
        now, total = time.monotonic(), sum(left.values())
        if best is None or total < best:
            best, deadline = total, now + patience_s
            waits(behind)
        elif now > deadline:
            return f"{behind}, and has read nothing for {patience_s:.0f} s"
        time.sleep(_LOOK_S)


def _unread(position: Offsets, extents: Extents) -> int:
    """Records that a query hasn't finished with; those that compaction has removed count too."""
    return sum(max(0, end - max(first, position.get(place, 0))) for place, (first, end) in extents.items())
