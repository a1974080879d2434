"""Sources: records of clientscope's topics as rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kafka import TopicPartition
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.reader import OffsetRange
from clientscope.kafka.writer import MOVED
from streaming.checkpoints.job_records import SkippedRecord

_FETCH_WAIT_MS = 5
"""How long a broker holds a fetch that finds nothing new.

Spark asks for a partition's first and last offset after each poll, on the connection on which the consumer has just sent its next fetch.
A broker answers in order, so by default a task waits for up to 500 ms once it has read what is there. No consumer polls between tasks, so
a short wait costs no requests.
"""

_POLL_TIMEOUT_MS = 15_000
"""A task waits so long for a record that was there when its batch was planned.

Spark's own 120 s are too long: a task that waits takes the place of others, can't be interrupted, and so holds up all queries where the
topic of one is deleted under it.  It is more than a broker's death takes: 9 s of ``broker.session.timeout.ms``, and an election.
"""


@dataclass(frozen=True)
class Pace:
    """How much a batch takes, and when it begins.

    Attributes:
        most: records that a batch takes at most.
        full_or_after_s: a batch begins once as many wait, or so many seconds have passed since the last one; 0 for as soon as there is one.
    """

    most: int
    full_or_after_s: float = 0

    def options(self) -> dict[str, str]:
        """For Spark's Kafka source."""
        options = {"maxOffsetsPerTrigger": str(self.most)}
        if self.full_or_after_s:
            options |= {"minOffsetsPerTrigger": str(self.most), "maxTriggerDelay": f"{self.full_or_after_s * 1000:.0f}ms"}
        return options


READ = "read"
"""The observed metrics of each query that reads topics: ``newest_ms``, when Kafka took the newest record of a batch, since the epoch."""

LIVE = Pace(50_000)
"""Pace of the query that somebody waits for. Only a backlog is ever as large; such a batch takes some ten seconds of a core."""


def sink_options(kafka: KafkaAccess) -> dict[str, str]:
    """For a Kafka sink.  They are part of the plan, which Spark shows and logs, so no secret is among them."""
    return {f"kafka.{key}": value for key, value in kafka.java_options().items()}


def source_options(kafka: KafkaAccess, with_keys: bool = False) -> dict[str, str]:
    """For a Kafka source, streaming or not; a test sees to it that each is made here. A partition is one task's, so its order stays."""
    return {
        **sink_options(kafka),
        "kafka.fetch.max.wait.ms": str(_FETCH_WAIT_MS),
        "failOnDataLoss": "true",
        "kafkaConsumer.pollTimeoutMs": str(_POLL_TIMEOUT_MS),
        "includeHeaders": str(with_keys).lower(),
    }


def records(
    spark: SparkSession,
    kafka: KafkaAccess,
    topic: str,
    starting_offsets: str = "earliest",
    skipped: Iterable[SkippedRecord] = (),
    pace: Pace = LIVE,
    with_keys: bool = False,
) -> DataFrame:
    """A topic's records from the checkpoint's position: value, topic, partition, offset, timestamp; and key, if asked for.

    Tombstones that only clear a key's old place (`clientscope.kafka.compacted`) are left out where keys are asked for.

    The query fails if records that it has not read are gone, rather than continue without them.

    Args:
        topic: or several, with commas between them.
        starting_offsets: where to begin without a checkpoint, as Spark's option of that name.
        skipped: what is left out before any Python process sees it (`streaming.fatal_records`).
    """
    source = spark.readStream.format("kafka").options(**source_options(kafka, with_keys), **pace.options())
    read = _columns(source.option("subscribe", topic).option("startingOffsets", starting_offsets).load(), with_keys)
    observed = read.observe(READ, F.unix_millis(F.max("timestamp")).alias("newest_ms"))
    return without(observed, [place for place in skipped if place.topic in topic.split(",")])


def between(
    spark: SparkSession, kafka: KafkaAccess, ranges: Mapping[TopicPartition, OffsetRange], skipped: Iterable[SkippedRecord] = ()
) -> DataFrame:
    """The records of these ranges, with their keys, as `records` has them; one read, by as many tasks as there are cores.

    Reading fails if a record is gone that was there, rather than continue without it.
    """
    offsets: dict[str, dict[str, dict[str, int]]] = {"first": {}, "end": {}}
    for (topic, number), (first, end) in ranges.items():
        offsets["first"].setdefault(topic, {})[str(number)] = first
        offsets["end"].setdefault(topic, {})[str(number)] = end
    source = (
        spark.read.format("kafka")
        .options(**source_options(kafka, with_keys=True))
        .option("assign", json.dumps({topic: sorted(map(int, of)) for topic, of in offsets["first"].items()}))
        .option("startingOffsets", json.dumps(offsets["first"]))
        .option("endingOffsets", json.dumps(offsets["end"]))
        .option("minPartitions", str(spark.sparkContext.defaultParallelism))
    )
    topics = {topic for topic, _ in ranges}
    return without(_columns(source.load(), with_keys=True), [place for place in skipped if place.topic in topics])


def _columns(read: DataFrame, with_keys: bool) -> DataFrame:
    kept = read.where(~_clears_old_place()) if with_keys else read
    return kept.select("value", "topic", "partition", "offset", "timestamp", *(["key"] if with_keys else []))


def _clears_old_place() -> Column:
    marked = F.exists("headers", lambda header: header["key"] == MOVED)
    return F.col("value").isNull() & F.coalesce(marked, F.lit(False))  # without headers the column is null


def without(rows: DataFrame, skipped: Iterable[SkippedRecord]) -> DataFrame:
    """The rows of all other places; a place is one only together with Kafka's timestamp."""
    for place in skipped:
        is_it = (F.col("topic") == place.topic) & (F.col("partition") == place.partition) & (F.col("offset") == place.offset)
        rows = rows.where(~(is_it & (F.unix_millis("timestamp") == place.timestamp_ms)))
    return rows
