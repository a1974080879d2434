"""Start of a query: its first offsets, and its name."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from clientscope.config import StreamSettings
from clientscope.kafka.access import KafkaAccess
from clientscope.stores.store_path import AnyPath
from streaming.checkpoints import skipped
from streaming.checkpoints.plans import PLANS, folder
from streaming.checkpoints.start_file import starting_offsets
from streaming.internals.jvm import set_pool
from streaming.sources import LIVE, Pace, records

LIVE_INTERVAL_S = 0.25
"""Between batches that somebody waits for. A batch costs the same however little has come, so one at once for each push costs more."""


def source(spark: SparkSession, settings: StreamSettings, name: str, pace: Pace = LIVE) -> DataFrame:
    """The records that a query has still to read.

    Args:
        name: one of `streaming.checkpoints.plans.PLANS`.
    """
    begin, left_out = starting_offsets(settings.checkpoint_dir, name), skipped.read(settings.checkpoint_dir)
    return records(spark, KafkaAccess.of(settings), PLANS[name].topic, begin, left_out, pace)


def start(writer: DataStreamWriter, name: str, checkpoint_dir: AnyPath, interval_seconds: float = 0) -> StreamingQuery:
    """Starts a query.

    Args:
        name: one of `streaming.checkpoints.plans.PLANS`.
        interval_seconds: between the starts of its batches; 0 for as soon as there is something new.
    """
    return begin(writer, name, str(folder(checkpoint_dir, name)), interval_seconds)


def begin(writer: DataStreamWriter, name: str, checkpoint: str, interval_seconds: float) -> StreamingQuery:
    """`start` for a query of any name, with its checkpoint anywhere."""
    set_pool(writer, name)
    return writer.queryName(name).option("checkpointLocation", checkpoint).trigger(processingTime=f"{interval_seconds} seconds").start()
