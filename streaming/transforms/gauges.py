"""Connection records -> the newest counts of each series."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.records.codec import Kind
from streaming.transforms import kernel
from udfs.decode import decoder

SERIES = ("cluster", "broker", "gateway", "listener", "software_name", "software_version")
"""What makes a series; the last three are null in a gateway's own row, which its heartbeats make."""

_ORDER = ("epoch", "sequence")
_NEWEST = (*_ORDER, "timestamp_ms", "connections", "opened", "closed", "heartbeat_interval_ms", "heartbeat_part", "appended_ms")


def gauges(records: DataFrame) -> DataFrame:
    """Per series its newest row by (epoch, sequence), which duplicates and disorder don't change.

    Args:
        records: of ``clientscope.connections``; those that can't be decoded are left to the history query.

    Returns:
        `SERIES`; epoch, sequence, timestamp_ms; connections, opened, closed of a series; heartbeat_interval_ms and heartbeat_part
        of a gateway's own row; appended_ms, Kafka's timestamp.
    """
    return (
        counts(records)
        .groupBy(*SERIES)
        .agg(F.max_by(F.struct(*_NEWEST), F.struct(*_ORDER)).alias("newest"))
        .select(*SERIES, "newest.*")
    )


def counts(records: DataFrame) -> DataFrame:
    """One row per count in each record, and one per heartbeat."""
    connection = decoder("ClientConnectionRecord")
    decoded = records.withColumn("r", kernel.column(connection, connection.arrow_type, "value"))
    of_series = F.transform(
        "r.counts",
        lambda count: _entry(
            count["count_listener_name"],
            count["count_software_name"],
            count["count_software_version"],
            count["open_connections"],
            count["opened_total"],
            count["closed_total"],
        ),
    )
    of_gateway = F.when(F.col("r.kind") == int(Kind.HEARTBEAT), F.array(_entry(*[F.lit(None)] * 6)))
    return (
        decoded.where(F.col("r.decode_error").isNull())
        .withColumn("entry", F.explode(F.concat(of_series, F.coalesce(of_gateway, F.array()))))
        .select(
            F.col("r.cluster_id").alias("cluster"),
            F.col("r.broker_id").alias("broker"),
            F.col("r.gateway_id").alias("gateway"),
            "entry.*",
            F.col("r.gateway_epoch").alias("epoch"),
            "r.sequence",
            "r.timestamp_ms",
            "r.heartbeat_interval_ms",
            "r.heartbeat_part",
            F.unix_millis("timestamp").alias("appended_ms"),
        )
    )


def _entry(listener: Column, name: Column, version: Column, connections: Column, opened: Column, closed: Column) -> Column:
    return F.struct(
        listener.cast("string").alias("listener"),
        name.cast("string").alias("software_name"),
        version.cast("string").alias("software_version"),
        connections.cast("long").alias("connections"),
        opened.cast("long").alias("opened"),
        closed.cast("long").alias("closed"),
    )
