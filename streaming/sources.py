"""Where rows come from: our topics."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

_MAX_OFFSETS = 50_000


def records(spark: SparkSession, bootstrap_servers: str, topic: str) -> DataFrame:
    """A topic's records from its beginning, or from where the checkpoint stands: value, topic, partition, offset, timestamp.

    The query fails when records are gone that it has not read, rather than going on without them.
    """
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("failOnDataLoss", "true")
        .option("maxOffsetsPerTrigger", str(_MAX_OFFSETS))
        .load()
        .select("value", "topic", "partition", "offset", "timestamp")
    )
