"""Checkpoints of the job's queries: where each begins, and what happens to one that can't continue.

Spark keeps no state for these queries, so a checkpoint is a position in a topic, and a new one costs nothing but what is read twice: the
topics that come of it are written by key, and history is continued behind its newest row. So nothing is repaired. A query whose topic is
another one, whose records are gone, or whose checkpoint is damaged gets a new checkpoint, with its place from Kafka.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from clientscope import __version__
from clientscope.clock import now_ms
from clientscope.kafka.access import Kafka
from clientscope.model.topics import CONFIGS, JOB, RESULTS
from sinks.history.batches import next_offsets
from streaming.checkpoints import topics_now
from streaming.checkpoints.job_records import QueryProgress, QueryStart, VerdictsBegin, new_start
from streaming.checkpoints.job_topic import JobTopic
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.topics_now import EARLIEST, Extents, Offsets, TopicsNow, TopicWatch, lost, said, to_json
from streaming.failures import Failure

log = logging.getLogger(__name__)

RESET = "clientscope checkpoints reset"


@dataclass(frozen=True)
class Beginning:
    """Where a query begins.

    Attributes:
        location: address of its checkpoint's folder, which no other start has.
        offsets: Spark's ``startingOffsets``, which it looks at only while the folder is empty.
        last_batch: number of the last batch that is known to be done, so the next one's is higher; None for a checkpoint without any.
    """

    location: str
    offsets: str
    last_batch: int | None


class Checkpoints:
    """The checkpoints of a job; from any thread.

    Args:
        folder: of all checkpoints, a path or an address that Spark takes.
        history: of the Delta tables, likewise.
        report_lost: called with a query and how many records it continues without, None where nobody knows.
    """

    def __init__(
        self,
        topic: JobTopic,
        kafka: Kafka,
        folder: str,
        history: str,
        report_lost: Callable[[str, int | None], None],
        spark_version: str,
    ) -> None:
        self.topic = topic
        self._kafka, self._folder, self._history = kafka, folder, history
        self._spark_version = spark_version
        self._report_lost = report_lost
        self._begun: dict[str, str] = {}
        self._said_no_ids = False
        self._job_topic_id: str | None = None

    def begin(self, query: str) -> Beginning:
        """Where a query that is about to start begins.

        Raises:
            EnvironmentProblem: no broker answers.
            KafkaError, TimeoutError: the job's own topic can't be read or written.
        """
        start = self._current(query)
        extents = topics_now.ask(self._kafka, PLANS[query].topics).extents
        progress = self.topic.read().progress.get(query)
        if start.checkpoint != self._begun.get(query) and (progress is None or progress.checkpoint != start.checkpoint):
            start = self._write(replace(start, at_ms=now_ms()))  # rows that are newer are of this start alone
        self._begun[query] = start.checkpoint
        return Beginning(
            f"{self._folder.rstrip('/')}/{query}/{start.checkpoint}",
            _starting(start, extents),
            progress.batch if progress is not None and progress.checkpoint == start.checkpoint else None,
        )

    def verdicts(self, judged_by: str) -> Mapping[int, int]:
        """From which offsets of ``clientscope.results`` on verdicts count, by partition.

        Where all pushes have to be judged again, that is its end, and the live query begins anew with configurations.

        Args:
            judged_by: `streaming.checkpoints.job_records.VerdictsBegin.judged_by`.

        Raises:
            EnvironmentProblem, KafkaError, TimeoutError: as `begin`.
        """
        start, state = self._current("live"), self.topic.read()
        now = topics_now.ask(self._kafka, (CONFIGS, RESULTS))
        known = state.verdicts
        if known is not None and known.judged_by == judged_by and not _replaced(known.topic_ids, now.ids):
            return known.begin
        ends = {number: extent.end for number, extent in now.extents[RESULTS].items()}
        position = dict(state.position("live"))
        if position.pop(CONFIGS, None):
            why = "its rules, or the topic of its results, are others"
            log.info("all configurations are judged again: %s", why)
            self._write(new_start("live", start.topic_ids, position, why, start.lost))
        self.topic.write(VerdictsBegin(judged_by=judged_by, topic_ids=dict(now.ids), begin=ends))
        return ends

    def prepare(self, query: str, failure: Failure) -> None:
        """Gives a query that has failed a new checkpoint, if it can't continue with the one that it has.

        Raises:
            EnvironmentProblem, KafkaError, TimeoutError: as `begin`.
        """
        start = self._current(query)
        if start.checkpoint != self._begun.get(query):
            return  # it has a new one already
        extents = topics_now.ask(self._kafka, PLANS[query].topics).extents
        at = _over(self.topic.read().position(query), failure.position or {})
        if failure.records_gone:
            planned = failure.planned_to or {}
            # Of the batch that failed, no further: rows behind it may be of before a reset.
            done = {
                topic: {number: offset for number, offset in of_topic.items() if offset <= planned.get(topic, {}).get(number, offset)}
                for topic, of_topic in self._behind_history(query, start, at, extents).items()
            }
            self._continue_without(query, start, at, _over(at, done), extents)
        elif failure.checkpoint_damaged:
            at = self._behind_history(query, start, at, extents)
            log.error("the checkpoint of %s is damaged; a new one begins at %s: %s", query, to_json(at), failure.cause)
            self._write(new_start(query, start.topic_ids, at, "its checkpoint was damaged", start.lost))

    def lost(self) -> dict[tuple[str, str, int], int]:
        """Records that queries went on without: by query, topic and partition."""
        return {place: count for place, count in self.topic.read().lost().items() if place[0] in PLANS}

    def stale(self, now: TopicsNow) -> dict[str, str]:
        """Queries that must begin anew, each with its topic that was replaced; empty where it was reset."""
        if _differ(self._job_topic_id, now.ids[JOB]):
            self.topic.restore()
        self._job_topic_id = now.ids[JOB]
        starts = self.topic.read().starts
        begun = [(query, starts[query], checkpoint) for query, checkpoint in self._begun.items()]
        another = {query: next(iter(_replaced(start.topic_ids, now.ids)), "") for query, start, _ in begun}
        return {query: another[query] for query, start, checkpoint in begun if another[query] or start.checkpoint != checkpoint}

    def note(self, query: str, batch: int, position: Offsets) -> None:
        """Has it written, within a few seconds, that a query has done a batch. From any thread."""
        if query in self._begun:
            self.topic.note(
                QueryProgress(
                    query=query,
                    checkpoint=self._begun[query],
                    batch=batch,
                    position={topic: dict(of_topic) for topic, of_topic in position.items()},
                    clientscope_version=__version__,
                    spark_version=self._spark_version,
                    at_ms=now_ms(),
                )
            )

    def watch(self, refused: Callable[[str, str], None], back: Callable[[], None]) -> TopicWatch:
        """A watch over the topics of all queries that have begun; arguments as for `TopicWatch`."""
        names = {JOB, *(topic for query in self._begun for topic in PLANS[query].topics)}
        return TopicWatch(topics_now.Asking(self._kafka, names), self.stale, refused, back)

    def _current(self, query: str) -> QueryStart:
        """Its start; a new one where there is none, or where a topic is another one than it was then."""
        start, ids = self.topic.read().starts.get(query), topics_now.ask(self._kafka, PLANS[query].topics).ids
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
            f"{topic} was deleted and made again; of the old one {_places(position.get(topic, {}))}, the number of records is unknown"
            for topic in another
        )
        log.error("%s begins with the new topic: %s", query, what)
        self._report_lost(query, None)
        kept = {topic: of_topic for topic, of_topic in position.items() if topic not in another}
        return self._write(new_start(query, ids, kept, "its topic was made again", start.lost))

    def _continue_without(self, query: str, start: QueryStart, before: Offsets, at: Offsets, extents: Extents) -> None:
        """
        Args:
            before: where it was by Spark's word.
            at: the same, behind what is in its table already.
        """
        gone = lost(at, extents)
        places = [(topic, number, extent) for topic, of_topic in extents.items() for number, extent in of_topic.items()]
        cut = {(topic, number) for topic, number, extent in places if at.get(topic, {}).get(number, 0) > extent.end}
        if not gone and not cut:
            if at != before:  # what is gone is in the table
                self._write(new_start(query, start.topic_ids, at, "records were gone that it had read", start.lost))
            return
        what = said(gone) or f"{' and '.join(sorted({topic for topic, _ in cut}))} ends before what it has read"
        counts = {topic: dict(of_topic) for topic, of_topic in start.lost.items()}
        for each in gone:
            of_topic = counts.setdefault(each.topic, {})
            of_topic[each.partition] = of_topic.get(each.partition, 0) + each.count
        offsets: dict[str, dict[int, int]] = {}
        for topic, number, extent in places:
            known = 0 if (topic, number) in cut else at.get(topic, {}).get(number, 0)
            offsets.setdefault(topic, {})[number] = max(known, extent.begin)
        log.error("%s continues without records that are gone: %s", query, what)
        self._report_lost(query, sum(each.count for each in gone))
        self._write(new_start(query, start.topic_ids, offsets, "records were gone", counts))
        if query == "live" and CONFIGS in (topic for topic, _ in cut):  # new pushes come at offsets that have verdicts
            self.topic.write(VerdictsBegin(judged_by="", topic_ids={}, begin={}))

    def _behind_history(self, query: str, start: QueryStart, at: Offsets, extents: Extents) -> Offsets:
        """A position, moved behind the rows that its table has: a batch is in the table a moment before Spark notes it.

        Rows that Kafka took before the query's start count for nothing: they may be of a topic that was deleted since, with other offsets.
        """
        plan = PLANS[query]
        if not plan.table:
            return at
        (topic,) = plan.topics
        found, of_topic = dict(at.get(topic, {})), extents[topic]
        for number, offset in next_offsets(f"{self._history.rstrip('/')}/{plan.table}", start.at_ms).items():
            if number in of_topic and offset <= of_topic[number].end:
                found[number] = max(found.get(number, 0), offset)
        return {topic: found} if found else {}

    def _write(self, start: QueryStart) -> QueryStart:
        self.topic.write(start)
        return start


def _differ(before: str | None, now: str | None) -> bool:
    """Whether two ids are of two topics; a broker without ids says nothing."""
    return None not in (before, now) and before != now


def _replaced(before: Mapping[str, str | None], ids: Mapping[str, str | None]) -> list[str]:
    """The topics that were deleted and made again."""
    return [topic for topic, known in before.items() if topic in ids and _differ(known, ids[topic])]


def _over(below: Offsets, above: Offsets) -> Offsets:
    """Both together; where both have a partition, as ``above`` has it."""
    return {topic: {**below.get(topic, {}), **above.get(topic, {})} for topic in {**below, **above}}


def _places(position: Mapping[int, int]) -> str:
    return ", ".join(f"partition {number} from offset {offset}" for number, offset in sorted(position.items())) or "all"


def _starting(start: QueryStart, extents: Extents) -> str:
    """Where it begins, with an offset for each partition, as Spark demands."""
    if not start.offsets:
        return "earliest"
    return to_json(
        {topic: {number: start.offsets.get(topic, {}).get(number, EARLIEST) for number in of_topic} for topic, of_topic in extents.items()}
    )
