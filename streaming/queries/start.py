"""Start of a query: its first offsets, its checkpoint, and its name."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from clientscope.kafka.access import KafkaAccess
from streaming.checkpoints.plans import PLANS
from streaming.internals.jvm import set_pool
from streaming.job_checkpoints import Beginning
from streaming.queries.query import JobContext
from streaming.sources import LIVE, Pace, records

LIVE_INTERVAL_S = 0.25
"""Between batches that somebody waits for. A batch costs the same however little has come, so one at once for each push costs more."""


def source(job: JobContext, name: str, beginning: Beginning, pace: Pace = LIVE) -> DataFrame:
    """The records that a query has still to read.

    Args:
        name: one of `streaming.checkpoints.plans.PLANS`.
    """
    return records(job.spark, KafkaAccess.of(job.settings), PLANS[name].topic, beginning.offsets, job.skipped(), pace)


def start(writer: DataStreamWriter, name: str, checkpoint: str, interval_seconds: float = 0) -> StreamingQuery:
    """Starts a query.

    Args:
        checkpoint: address of its folder.
        interval_seconds: between the starts of its batches; 0 for as soon as there is something new.
    """
    set_pool(writer, name)
    return writer.queryName(name).option("checkpointLocation", checkpoint).trigger(processingTime=f"{interval_seconds} seconds").start()
