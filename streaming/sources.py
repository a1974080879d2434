"""Where rows come from: our topics."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from clientscope.kafka_access import KafkaAccess

_MAX_OFFSETS = 50_000


def spark_options(kafka: KafkaAccess) -> dict[str, str]:
    """For a Kafka source or sink.  They are part of the plan, which Spark shows and logs, so no secret is among them."""
    return {f"kafka.{key}": value for key, value in kafka.java_options().items()}


def records(spark: SparkSession, kafka: KafkaAccess, topic: str, starting_offsets: str = "earliest") -> DataFrame:
    """A topic's records from where the checkpoint stands: value, topic, partition, offset, timestamp.

    The query fails when records are gone that it has not read, rather than going on without them.

    Args:
        starting_offsets: where to begin without a checkpoint, as `streaming.checkpoints.start_file.starting_offsets` has it.
    """
    return (
        spark.readStream.format("kafka")
        .options(**spark_options(kafka))
        .option("subscribe", topic)
        .option("startingOffsets", starting_offsets)
        .option("failOnDataLoss", "true")
        .option("maxOffsetsPerTrigger", str(_MAX_OFFSETS))
        .load()
        .select("value", "topic", "partition", "offset", "timestamp")
    )
