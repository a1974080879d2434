"""The job's topic in memory, and topics as a cluster says they are, for tests without a broker."""

from __future__ import annotations

from collections.abc import Iterable

from kafka import TopicPartition

from clientscope.kafka.reader import OffsetRange
from clientscope.model.codec import encode_whole
from clientscope.model.topics import CONFIGS, JOB, RESULTS
from streaming.checkpoints.job_records import JobRecord, JobState, QueryProgress, QueryStart, by_topic, new_start
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.topics_now import Offsets, TopicsNow

TOPIC_ID = "Ww1ZSzo-TK-LtLQ4MS2bUg"
READ, END = 50, 60
"""Offsets of partition 0 of each topic: up to where each query has read, and where the topic ends."""


class TopicInMemory:
    """In the place of `streaming.checkpoints.job_topic.JobTopic`."""

    replaced = None

    def __init__(self) -> None:
        self.state = JobState()
        self.written: list[JobRecord] = []
        self.restored = 0

    def read(self) -> JobState:
        return self.state

    def write(self, *records: JobRecord) -> None:
        self.written += records
        self.state.take({each.key: encode_whole(each) for each in records})

    def restore(self) -> None:
        self.restored += 1

    def note(self, progress: QueryProgress) -> None:
        self.write(progress)


def first(topic: str, offset: int) -> dict[TopicPartition, int]:
    """An offset of a topic's first partition."""
    return {TopicPartition(topic, 0): offset}


def progress(start: QueryStart, position: Offsets) -> QueryProgress:
    return QueryProgress(
        query=start.query,
        checkpoint=start.checkpoint,
        position=by_topic(position),
        clientscope_version="0.0.9",
        spark_version="4.1.3",
        at_ms=1,
    )


def begun() -> TopicInMemory:
    """Each query has read to `READ`."""
    topic = TopicInMemory()
    for query in PLANS:
        topics = PLANS[query].topics
        start = new_start(query, dict.fromkeys(topics, TOPIC_ID), {}, "it had never run")
        topic.write(start, progress(start, {TopicPartition(each, 0): READ for each in topics}))
    topic.written.clear()
    return topic


def cluster(begin: int = 0, end: int = END, topic_id: str | None = TOPIC_ID, results_end: int = END) -> TopicsNow:
    """All topics with one partition, which of ``clientscope.configs`` begins and ends there."""
    names = {JOB, RESULTS, *(topic for plan in PLANS.values() for topic in plan.topics)}
    extents = dict.fromkeys(names, OffsetRange(0, END)) | {CONFIGS: OffsetRange(begin, end), RESULTS: OffsetRange(0, results_end)}
    return TopicsNow(dict.fromkeys(names, topic_id), {TopicPartition(name, 0): extent for name, extent in extents.items()})


def only(names: Iterable[str], now: TopicsNow) -> TopicsNow:
    """What a cluster says of these topics."""
    wanted = set(names)
    ids = {name: found for name, found in now.ids.items() if name in wanted}
    return TopicsNow(ids, {place: found for place, found in now.extents.items() if place.topic in wanted})
