"""Checkpoints of the job's queries: where each begins.

Spark keeps no state for these queries, so a checkpoint is a position in topics. That of history is in its tables, committed with the rows
(`sinks.history.batches`). The live query's is on ``clientscope.job``, some seconds behind: what it reads twice is written by key, with the
place of its source, so that changes nothing. Spark's own checkpoint has the batches of one run, and no start reads that of another.
"""

from __future__ import annotations

import json
import logging
import math
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from deltalake.exceptions import DeltaError
from kafka import TopicPartition

from clientscope import __version__
from clientscope.clock import now_ms
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import Kafka
from clientscope.kafka.reader import OffsetRange
from clientscope.model.topics import CONFIGS, JOB, RESULTS
from sinks.history.batches import next_offsets
from streaming.checkpoints import topics_now
from streaming.checkpoints.job_records import QueryProgress, QueryStart, VerdictsBegin, by_partition, by_topic, new_start
from streaming.checkpoints.job_topic import JobTopic
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.topics_now import EARLIEST, Extents, Offsets, TopicsNow, TopicWatch

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Beginning:
    """Where a query begins.

    Attributes:
        checkpoint: as in `streaming.checkpoints.job_records.QueryStart`.
        location: where Spark's own checkpoint is to be, on this machine; nothing is there.
        offsets: Spark's ``startingOffsets``.
    """

    checkpoint: str
    location: str
    offsets: str


class Checkpoints:
    """The checkpoints of a job; from any thread.

    Args:
        folder: for Spark's own checkpoints.
        history: of the Delta tables, a path or an address.
        report_lost: called with a query and how many records it continues without, None where nobody knows.
    """

    def __init__(
        self,
        topic: JobTopic,
        kafka: Kafka,
        folder: Path,
        history: str,
        report_lost: Callable[[str, int | None], None],
        spark_version: str,
    ) -> None:
        self.topic = topic
        self._kafka, self._folder, self._history = kafka, folder, history
        self._spark_version = spark_version
        self._report_lost = report_lost
        self._begun: dict[str, str] = {}
        self._runs: dict[str, str] = {}
        self._ended_runs: set[str] = set()
        self._said_no_ids = False
        self._job_topic_id: str | None = None

    def begin(self, query: str) -> Beginning:
        """Where a query that is about to start begins.

        Raises:
            EnvironmentProblem: no broker answers, or the query's table can't be read.
            KafkaError, TimeoutError: the job's own topic can't be read or written.
        """
        if (run := self._runs.pop(query, None)) is not None:
            self._ended_runs.add(run)  # a late report of it says nothing of what begins now
        now = topics_now.ask(self._kafka, PLANS[query].topics)
        start, extents = self._current(query, now), now.extents
        self._begun[query] = start.checkpoint
        at = self._read_to(query, start, extents)
        known = {place.topic for place in at}
        if unread := {place: extent.first for place, extent in extents.items() if place.topic not in known}:
            at = {**at, **unread}  # what comes after this moment, and goes unread, is lost
            self._write(replace(start, offsets=by_topic(at)))
        gone = {place: OffsetRange(at.get(place, 0), first) for place, (first, _) in extents.items() if at.get(place, 0) < first}
        cut = {place for place, extent in extents.items() if at.get(place, 0) > extent.end}
        if gone or cut:
            start = self._without(query, start, at, extents, gone, cut)
            self._begun[query], at = start.checkpoint, by_partition(start.offsets)
        # No URI, in which Hadoop would take a space's %20 for three characters.
        location = f"file:{self._folder}/{query}/{uuid.uuid4().hex}"
        # With an offset for each partition, as Spark demands.
        return Beginning(start.checkpoint, location, json.dumps(by_topic({place: at.get(place, EARLIEST) for place in extents})))

    def require_current(self, query: str, checkpoint: str) -> None:
        """Checks that a query has no newer start, so that all it has read by now is of the topics that it began with.

        Raises:
            EnvironmentProblem: it is another, or no broker answers.
            KafkaError, TimeoutError: as `begin`.
        """
        if self._current(query, topics_now.ask(self._kafka, PLANS[query].topics)).checkpoint != checkpoint:
            raise EnvironmentProblem(f"{query} has a new start, so its batch isn't kept", "it begins there within seconds")

    def verdicts(self, judged_by: str) -> Mapping[int, int]:
        """From which offsets of ``clientscope.results`` on verdicts count, by partition.

        Where all pushes have to be judged again, that is its end, and the live query begins anew with configurations.

        Args:
            judged_by: `streaming.checkpoints.job_records.VerdictsBegin.judged_by`.

        Raises:
            EnvironmentProblem, KafkaError, TimeoutError: as `begin`.
        """
        self.begin("live")  # may find that these don't count
        state = self.topic.read()
        start, now = state.starts["live"], topics_now.ask(self._kafka, (CONFIGS, RESULTS))
        known = state.verdicts
        if known is not None and known.judged_by == judged_by and not _replaced(known.topic_ids, now.ids):
            return known.begin
        ends = {place.partition: extent.end for place, extent in now.extents.items() if place.topic == RESULTS}
        position = state.position("live")
        if any(offset for place, offset in position.items() if place.topic == CONFIGS):
            why = "its rules, or the topic of its results, are others"
            log.info("all configurations are judged again: %s", why)
            others = {place: offset for place, offset in position.items() if place.topic != CONFIGS}
            self._write(new_start("live", start.topic_ids, others, why, by_partition(start.lost)))
        self.topic.write(VerdictsBegin(judged_by=judged_by, topic_ids=dict(now.ids), begin=ends))
        return ends

    def next_records(self, query: str, most: int) -> dict[TopicPartition, OffsetRange]:
        """What a query would read in one batch of so many records, where each partition has its share; a few more rather than fewer.

        Raises:
            EnvironmentProblem, KafkaError, TimeoutError: as `begin`.
        """
        extents = topics_now.ask(self._kafka, PLANS[query].topics).extents
        at = self._read_to(query, self.topic.read().starts[query], extents)
        left = {
            place: OffsetRange(max(at.get(place, 0), first), end)
            for place, (first, end) in extents.items()
            if max(at.get(place, 0), first) < end
        }
        share = min(1.0, most / max(1, sum(each.end - each.first for each in left.values())))
        return {place: OffsetRange(first, first + math.ceil(share * (end - first))) for place, (first, end) in left.items()}

    def lost(self) -> dict[tuple[str, str, int], int]:
        """Records that queries went on without: by query, topic and partition."""
        return {place: count for place, count in self.topic.state.lost().items() if place[0] in PLANS}

    def stale(self, now: TopicsNow) -> dict[str, str]:
        """Queries that must begin anew, each with its topic that was replaced; empty where it was reset."""
        if _differ(self._job_topic_id, now.ids[JOB]):
            self.topic.restore()
        self._job_topic_id = now.ids[JOB]
        starts = self.topic.read().starts
        begun = [(query, starts[query], checkpoint) for query, checkpoint in self._begun.items()]
        another = {query: next(iter(_replaced(start.topic_ids, now.ids)), "") for query, start, _ in begun}
        return {query: another[query] for query, start, checkpoint in begun if another[query] or start.checkpoint != checkpoint}

    def note(self, query: str, run: str, position: Offsets) -> None:
        """Has it written, within a few seconds, up to where a run of a query has done its batches. From any thread."""
        if query in self._begun and position and run not in self._ended_runs:
            self._runs[query] = run
            self.topic.note(
                QueryProgress(
                    query=query,
                    checkpoint=self._begun[query],
                    position=by_topic(position),
                    clientscope_version=__version__,
                    spark_version=self._spark_version,
                    at_ms=now_ms(),
                )
            )

    def watch(self, queries: Iterable[str], refused: Callable[[str, str], None], back: Callable[[], None]) -> TopicWatch:
        """A watch over the topics of these queries; arguments as for `TopicWatch`."""
        names = {JOB, *(topic for query in queries for topic in PLANS[query].topics)}
        return TopicWatch(topics_now.Asking(self._kafka, names), self.stale, refused, back)

    def _current(self, query: str, now: TopicsNow) -> QueryStart:
        """Its start; a new one where there is none, or where a topic is another one than it was then."""
        start, ids = self.topic.read().starts.get(query), now.ids
        if None in ids.values() and not self._said_no_ids:
            self._said_no_ids = True
            log.warning(
                "the brokers give topics no ids (KIP-516, Kafka 2.8): a topic that was deleted and made again is recognised only while it"
                " holds fewer records than were read of the old one"
            )
        if start is None:
            return self._write(new_start(query, ids, {}, "it had never run"))
        another = _replaced(start.topic_ids, ids)
        if not another:
            return start
        position = self.topic.read().position(query)
        what = "; ".join(
            f"{topic} was deleted and made again; of the old one {_places(position, topic)}, the number of records is unknown"
            for topic in another
        )
        log.error("%s begins with the new topic: %s", query, what)
        self._report_lost(query, None)
        kept = {place: offset for place, offset in position.items() if place.topic not in another}
        return self._write(new_start(query, ids, kept, "its topic was made again", by_partition(start.lost)))

    def _read_to(self, query: str, start: QueryStart, extents: Extents) -> Offsets:
        """Up to where a query has read since its start: by its table, which may have been restored; else by what was written last."""
        at, plan = self.topic.read().position(query), PLANS[query]
        if not plan.table:
            return at
        (topic,) = plan.topics
        table = f"{self._history.rstrip('/')}/{plan.table}"
        try:
            there = next_offsets(table, start.checkpoint, (place.partition for place in extents))
        except DeltaError as error:
            why = str(error)[:300]
            raise EnvironmentProblem(f"the Delta table {table} can't be read: {why}", "restore it from a backup; docs/history.md") from None
        return {**at, **{TopicPartition(topic, number): offset for number, offset in there.items()}}

    def _without(self, query: str, start: QueryStart, at: Offsets, extents: Extents, gone: Extents, cut: set[TopicPartition]) -> QueryStart:
        """A start without the records that are gone; a partition that ends before what was read of it has others since."""
        counts = {place: end - first for place, (first, end) in gone.items()}
        ranges = (
            f"{place.topic}, partition {place.partition}: offsets from {first} to {end - 1}, {end - first} records"
            for place, (first, end) in gone.items()
        )
        what = "; ".join(ranges) or f"{' and '.join(sorted({place.topic for place in cut}))} ends before what it has read"
        offsets = {place: first if place in cut else max(at.get(place, 0), first) for place, (first, _) in extents.items()}
        log.error("%s continues without records that are gone: %s", query, what)
        self._report_lost(query, None if cut else sum(counts.values()))
        if query == "live" and CONFIGS in {place.topic for place in cut}:  # new pushes come at offsets that have verdicts
            self.topic.write(VerdictsBegin(judged_by="", topic_ids={}, begin={}))
        lost = Counter(by_partition(start.lost)) + Counter(counts)
        return self._write(new_start(query, start.topic_ids, offsets, "records were gone", lost))

    def _write(self, start: QueryStart) -> QueryStart:
        self.topic.write(start)
        return start


def _differ(before: str | None, now: str | None) -> bool:
    """Whether two ids are of two topics; a broker without ids says nothing."""
    return None not in (before, now) and before != now


def _replaced(before: Mapping[str, str | None], ids: Mapping[str, str | None]) -> list[str]:
    """The topics that were deleted and made again."""
    return [topic for topic, known in before.items() if topic in ids and _differ(known, ids[topic])]


def _places(position: Offsets, topic: str) -> str:
    places = (place for place in sorted(position) if place.topic == topic)
    return ", ".join(f"partition {place.partition} from offset {position[place]}" for place in places) or "all"
