"""Check before a query starts, or is restarted after a failure: whether it may continue from its checkpoint."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from clientscope import __version__
from clientscope.kafka.access import Kafka
from clientscope.records.layouts import schema
from clientscope.stores.store_path import AnyPath
from streaming.checkpoints import broker, delta, manifest, skip, start_file
from streaming.checkpoints.broker import TopicsNow
from streaming.checkpoints.compare import RESET, RecordsLost, StartDecision, decide
from streaming.checkpoints.lock import locked
from streaming.checkpoints.manifest import Manifest, Refused
from streaming.checkpoints.offsets import EARLIEST, Lost, said, to_json
from streaming.checkpoints.plans import PLANS, QueryPlan, folder, versions
from streaming.checkpoints.unread import unread
from streaming.checkpoints.watch import TopicWatch
from streaming.internals import spark_files
from streaming.internals.spark_files import SparkFiles

log = logging.getLogger(__name__)

_LOOKS, _BETWEEN_LOOKS_S = 3, 0.7


class _Beginning(NamedTuple):
    """How a query will begin; nothing is written yet.

    Attributes:
        start: what it leaves in its start file; None where its checkpoint says it, or it begins at the beginning.
        replaced: whether that comes in its checkpoint's place.
        skipped: the records that it continues without, if that is new.
    """

    decision: StartDecision
    start: start_file.StartOffsets | None = None
    replaced: bool = False
    skipped: Sequence[Lost] = ()


@dataclass(frozen=True)
class Checkpoints:
    """A job's checkpoints.

    Attributes:
        history_dir: where the Delta tables are.
        spark_version: that is about to run.
        shuffle_partitions: that a new checkpoint gets.
        on_lost_records: whether a query whose records are gone continues without them, or is refused.
        still_held: the check of `locked`, once it is held: whether no other process can have the directory.
        skipping: called with a query and the records that it continues without, once that is written.
        queries: those that the job runs; checkpoints of others aren't looked at.
    """

    checkpoint_dir: AnyPath
    history_dir: AnyPath
    kafka: Kafka
    spark_version: str
    shuffle_partitions: int
    on_lost_records: Literal["skip", "stop"] = "stop"
    skipping: Callable[[str, Sequence[Lost]], None] = lambda *_: None
    queries: Collection[str] = tuple(PLANS)
    still_held: Callable[[], float | None] = lambda: None

    @contextmanager
    def held(self) -> Iterator[Checkpoints]:
        """Has the directory to itself, and each checkpoint compared and its manifest written, for as long as the context lasts.

        Raises:
            Locked: another process has the directory.
            Refused: one can't be gone on with; nothing was written, of any.
            EnvironmentProblem: no broker answers.
        """
        with locked(self.checkpoint_dir, "clientscope stream") as check:
            known = broker.ask(self.kafka, {PLANS[query].topic for query in self.queries})
            if any(topic.topic_id is None for topic in known.topics.values()):
                log.warning(
                    "the brokers give topics no ids (KIP-516, Kafka 2.8): a topic that was deleted and created again is recognised only"
                    " while it holds fewer records than were read of the old one"
                )
            beginnings = {query: self._decide(query, known) for query in self.queries}
            for query, beginning in beginnings.items():
                self._write(query, beginning)
            yield replace(self, still_held=check)

    def examine(self, query: str) -> None:
        """Checks one query whose topic seems to have been replaced; writes nothing.

        Raises:
            Refused: it can't continue; says why.
            EnvironmentProblem: no broker answers.
        """
        self._decide(query, broker.ask(self.kafka, {PLANS[query].topic}))

    def prepare(self, query: str) -> None:
        """Prepares the restart of one query that has failed: the same checks as at the job's start, for it alone.

        Raises:
            Refused: it can't continue; says why.
            EnvironmentProblem: no broker answers.
            OSError: what it is to begin with can't be written.
        """
        beginning = self._decide(query, broker.ask(self.kafka, {PLANS[query].topic}))
        if beginning.start is not None:
            self._write(query, beginning)

    def watch(self, refused: Callable[[str, Refused], None], back: Callable[[], None]) -> TopicWatch:
        """A watch over the topics of all queries, as in their manifests; arguments as for `TopicWatch`."""
        written = (manifest.read(folder(self.checkpoint_dir, query)) for query in self.queries)
        topics = {topic: seen for each in written if each is not None for topic, seen in each.topics.items()}
        return TopicWatch(topics, broker.Asking(self.kafka, topics), self.examine, refused, back)

    def unread(self, query: str) -> int:
        """How many records a query has still to read, before it is started; those that compaction has removed count too.

        Raises:
            Refused: its start file is damaged.
            EnvironmentProblem: no broker answers.
        """
        topic = PLANS[query].topic
        return unread(self.checkpoint_dir, query, broker.ask(self.kafka, {topic}).extents[topic])

    def lost(self, *queries: str) -> dict[tuple[str, str, int], int]:
        """How many records these queries, or all, passed over when they were started anew: by query, topic and partition."""
        found: dict[tuple[str, str, int], int] = {}
        for query in queries or self.queries:
            written = manifest.read(folder(self.checkpoint_dir, query))
            for topic, partitions in (written.lost if written else {}).items():
                for number, ranges in partitions.items():
                    found[query, topic, int(number)] = sum(end - begin for begin, end in ranges)
        return found

    def _decide(self, query: str, known: TopicsNow) -> _Beginning:
        plan, checkpoint = PLANS[query], folder(self.checkpoint_dir, query)
        skip.complete(checkpoint)
        notes = _require_none_newer(self.checkpoint_dir, query, plan)
        before, files = manifest.read(checkpoint), _settled(checkpoint)
        extents = {plan.topic: known.extents[plan.topic]}
        now = self._manifest(query, plan, known)
        if files.begun and plan.table:
            delta.require_not_ahead(query, self.history_dir / plan.table, files)
        replaced = False
        try:
            decision = decide(now, before, files, extents)
            if files.position or files.unknown:
                return _Beginning(decision)
            start = start_file.read(checkpoint)
        except RecordsLost as error:
            if self.on_lost_records == "stop" or any(each.end is None for each in error.lost):
                raise
            position = skip.position_of(query, files, self.history_dir)
            decision, replaced = StartDecision(now), True
            start = skip.start_after(query, position, extents[plan.topic], before)
        if start is None:
            return _Beginning(StartDecision(decision.manifest, notes))
        start = start.model_copy(
            update={
                "offsets": start.offsets and start_file.completed(start.offsets, {plan.topic: len(known.extents[plan.topic])}, EARLIEST)
            }
        )
        there = skip.still_there(query, start, extents[plan.topic]) if self.on_lost_records == "skip" else start
        news, start = replaced or there != start, there
        passed = _passed_over(query, start, known)
        notes.append(f"{query}: begins anew, at {to_json(start.offsets) if start.offsets else 'the beginning of its topic'}")
        notes += [f"{query}: passes over {topic}, partition {number}, offsets {b} to {e - 1}" for topic, number, b, e in passed]
        written = decision.manifest.model_copy(update={"lost": skip.added(start.lost, passed)})
        return _Beginning(StartDecision(written, notes), start, replaced, [Lost(*each) for each in passed] if news else ())

    def _write(self, query: str, beginning: _Beginning) -> None:
        checkpoint = folder(self.checkpoint_dir, query)
        for note in beginning.decision.notes:
            log.warning("%s", note)
        if beginning.start is not None and beginning.replaced:
            skip.replace(checkpoint, beginning.start, beginning.decision.manifest)
        else:
            if beginning.start is not None:
                start_file.write(checkpoint, beginning.start)
            manifest.write(checkpoint, beginning.decision.manifest)
        if beginning.skipped:
            log.error("%s continues without records that are gone: %s", query, said(beginning.skipped))
            self.skipping(query, beginning.skipped)

    def _manifest(self, query: str, plan: QueryPlan, known: TopicsNow, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> Manifest:
        return Manifest(
            query=query,
            state_version=plan.version,
            record_versions={plan.record: newest_version(plan.record)} if plan.record else {},
            shuffle_partitions=self.shuffle_partitions,
            topics={plan.topic: known.topics[plan.topic]},
            spark_version=self.spark_version,
            clientscope_version=__version__,
            written_at=now().isoformat(timespec="seconds"),
        )


def _settled(checkpoint: AnyPath) -> SparkFiles:
    """Spark's files, once nothing seems wrong with them, or still is a moment later: the JVM of a job that was killed ends after it."""
    for _ in range(_LOOKS - 1):
        files = spark_files.read(checkpoint)
        if not files.problems:
            return files
        time.sleep(_BETWEEN_LOOKS_S)
    return spark_files.read(checkpoint)


def newest_version(record: str) -> int:
    """The newest version of a record that this clientscope reads."""
    return int(str(schema(record)["validVersions"]).rpartition("-")[2])


def _require_none_newer(checkpoint_dir: AnyPath, query: str, plan: QueryPlan) -> list[str]:
    there = {number for number, path in versions(checkpoint_dir, query).items() if spark_files.begun(path)}
    if newer := max((number for number in there if number > plan.version), default=0):
        raise Refused(
            f"{query} has a checkpoint of version {newer}, and this clientscope ({__version__}) knows version {plan.version}",
            f"run the newer clientscope again, or go back for good: {RESET} {query} --to-earliest",
        )
    if plan.version not in there and (older := max(there, default=0)):
        return [f"{query}: begins anew with version {plan.version} of its checkpoint; version {older} isn't read any more, and stays"]
    return []


def _passed_over(query: str, start: start_file.StartOffsets, known: TopicsNow) -> list[tuple[str, int, int, int]]:
    """What lies between where the query was and where it begins anew."""
    topic = PLANS[query].topic
    found = []
    for number, extent in known.extents[topic].items():
        given = (start.offsets or {}).get(topic, {}).get(number, EARLIEST)
        first = extent.begin if given == EARLIEST else given
        if not extent.begin <= first <= extent.end:
            raise Refused(
                f"{query} is to begin at offset {first} of {topic}, partition {number}, which holds {extent.begin} to {extent.end - 1}",
                f"choose another place: {RESET} {query}",
            )
        was = start.position.get(topic, {}).get(number)
        if was is not None and first > was:
            found.append((topic, number, was, first))
    return found
