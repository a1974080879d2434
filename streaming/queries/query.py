"""Interface between the job and a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from clientscope.config import StreamSettings
from clientscope.digest import DigestKey
from clientscope.findings.conditions import Conditions
from clientscope.kafka.access import KafkaAccess
from clientscope.profiles import Thresholds
from streaming.checkpoints.job_records import SkippedRecord
from streaming.checkpoints.plans import PLANS
from streaming.findings.entry import Policy
from streaming.findings.fact_reports import FactReports
from streaming.job_checkpoints import Beginning, Checkpoints
from streaming.sources import LIVE, Pace, records
from streaming.spark import set_pool
from streaming.supervision import Running


@dataclass(frozen=True, slots=True)
class JobContext:
    """What the job passes to each of its queries.

    Attributes:
        digest_key: digests leaks that no gateway has redacted; None makes no digests.
        thresholds: which profile applies to which client.
        policy: owners and suppressions of findings.
        conditions: takes problems of clientscope's own processes, which become findings.
        reports: what one query reads in clients' metrics, and another judges.
        checkpoints: where each query begins, and the topic that keeps it.
    """

    spark: SparkSession
    settings: StreamSettings
    digest_key: DigestKey | None
    thresholds: Thresholds
    policy: Policy
    conditions: Conditions
    reports: FactReports
    checkpoints: Checkpoints

    def skipped(self) -> list[SkippedRecord]:
        """Records that no query reads."""
        return self.checkpoints.topic.read().all(SkippedRecord)


@dataclass(frozen=True, slots=True)
class JobQuery:
    """A query with its sink.

    Its name, and what its checkpoint depends on, is its line in `streaming.checkpoints.plans.PLANS`. Supervision, checkpoints, their
    commands, metrics and `clientscope.status` take it from there.

    Attributes:
        start: starts the query, and again after each failure, from then on in a thread of the query's own. It raises what Kafka and Spark
            raise, and leaves nothing open then.
        reads, writes: topics; the job checks at its start that it may.
        step: what its workers do to its topics' records; a record that kills them is searched with it.
        is_wanted: whether a job of these settings runs it.
        is_live: whether somebody waits for what it writes: the job is ready once it has begun.
    """

    start: Callable[[JobContext], Running]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    step: Callable[[JobContext, DataFrame], DataFrame]
    is_wanted: Callable[[StreamSettings], bool] = lambda settings: True
    is_live: bool = False


def source(job: JobContext, name: str, beginning: Beginning, pace: Pace = LIVE, with_keys: bool = False) -> DataFrame:
    """The records that a query has still to read.

    Args:
        name: one of `streaming.checkpoints.plans.PLANS`.
    """
    topics = ",".join(PLANS[name].topics)
    return records(job.spark, KafkaAccess.of(job.settings), topics, beginning.offsets, job.skipped(), pace, with_keys)


def start(writer: DataStreamWriter, name: str, checkpoint: str, interval_seconds: float = 0) -> StreamingQuery:
    """Starts a query.

    Args:
        checkpoint: address of its folder.
        interval_seconds: between the starts of its batches; 0 for as soon as there is something new.
    """
    set_pool(writer, name)
    return writer.queryName(name).option("checkpointLocation", checkpoint).trigger(processingTime=f"{interval_seconds} seconds").start()
