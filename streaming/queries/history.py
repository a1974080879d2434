"""history_pushes and history_connections: either topic -> Delta, and ``clientscope.quarantine`` for what can't be decoded or be so."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from clientscope.config import StreamSettings
from clientscope.kafka_access import KafkaAccess
from clientscope.policy.redaction import DigestKey
from clientscope.records.topics import CONFIGS, CONNECTIONS, QUARANTINE
from sinks.history.batches import append
from sinks.quality.quality import Quality, Whole
from sinks.quality.suites import SUITES, Suite
from streaming.job_metrics import QUARANTINE as QUARANTINED
from streaming.queries.start import source, start
from streaming.sources import Pace, spark_options
from streaming.transforms import history
from streaming.turns import Turns

_MOST = 50_000
"""Records of a batch, whose decoded rows Spark keeps until both sinks have them."""

_LOOK_S = 5.0
"""How often it is looked whether a batch is full, or due."""


def start_history_of_pushes(
    spark: SparkSession, settings: StreamSettings, turns: Turns, digest_key: DigestKey | None, quality: Quality | None = None
) -> StreamingQuery:
    """Two queries rather than one, since their topics grow, expire and fail apart from each other.

    Args:
        quality: looks at a sample of each batch once it is written.
    """
    return _start(spark, settings, turns, "pushes", CONFIGS, partial(history.pushes, digest_key=digest_key), quality)


def start_history_of_connections(
    spark: SparkSession, settings: StreamSettings, turns: Turns, digest_key: DigestKey | None, quality: Quality | None = None
) -> StreamingQuery:
    """The other."""
    return _start(spark, settings, turns, "connections", CONNECTIONS, partial(history.connections, digest_key=digest_key), quality)


def _start(
    spark: SparkSession,
    settings: StreamSettings,
    turns: Turns,
    table: str,
    topic: str,
    step: Callable[[DataFrame], DataFrame],
    quality: Quality | None,
) -> StreamingQuery:
    def write(rows: DataFrame, batch_id: int) -> None:
        # Both sinks from one decoding.  Nothing sensitive is in these rows any more, should Spark spill them.
        with turns.turn():
            rows.persist()
            try:
                append(history.kept(rows), settings.history_dir / table, _query_id(rows.sparkSession), batch_id)
                history.quarantine(rows).write.format("kafka").options(**sink).save()
                if quality is not None:
                    quality.look(topic, partial(looked_at, rows, batch_id))
            finally:
                rows.unpersist()

    sink = {**spark_options(KafkaAccess.of(settings)), "topic": QUARANTINE}
    name = f"history_{table}"
    interval_s = settings.history_interval_seconds
    rows = history.observed(step(source(spark, settings, name, Pace(_MOST, interval_s))), QUARANTINED, SUITES[topic].row_checks)
    writer = rows.writeStream.foreachBatch(write)
    return start(writer, name, settings.checkpoint_dir, min(interval_s, _LOOK_S))


def looked_at(rows: DataFrame, seed: int, suite: Suite) -> tuple[Whole, Callable[[float], pa.Table]]:
    """What `Quality` wants to know of a batch."""
    found = history.summary(rows, suite.row_checks).collect()[0]
    broken = {each.name: found[each.name] for each in suite.row_checks}
    return Whole(found["decoded"], found["newest_ms"] or 0, broken), lambda share: history.sample(rows, share, seed).toArrow()


def _query_id(spark: SparkSession) -> str:
    """The id in the checkpoint of the query whose batch this is: Spark keeps it with the thread."""
    query_id = spark.sparkContext.getLocalProperty("sql.streaming.queryId")
    if query_id is None:
        raise RuntimeError("not in a query's batch")
    return str(query_id)
