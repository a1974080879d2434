"""Connection records -> the newest counts of each series."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from streaming.transforms import kernel
from udfs.counts import ENTRY, TYPE, counts

SERIES = ("cluster", "broker", "gateway", "listener", "software_name", "software_version")
"""What makes a series; the last three are null in a gateway's own row, which its heartbeats make."""

_ORDER = ("epoch", "sequence")
_NEWEST = tuple(name for name in ENTRY.names if name not in SERIES)


def gauges(records: DataFrame) -> DataFrame:
    """Per series its newest entry by (epoch, sequence), which duplicates and disorder don't change.

    Args:
        records: of ``clientscope.connections``.

    Returns:
        the fields of `udfs.counts.ENTRY`, and ``appended_ms``, Kafka's timestamp of that entry.
    """
    newest = F.struct(*(f"entry.{name}" for name in _NEWEST), F.unix_millis("timestamp").alias("appended_ms"))
    return (
        records.select("timestamp", F.explode(kernel.column(counts, TYPE, "value")).alias("entry"))
        .groupBy(*(F.col(f"entry.{name}").alias(name) for name in SERIES))
        .agg(F.max_by(newest, F.struct(*(f"entry.{name}" for name in _ORDER))).alias("newest"))
        .select(*SERIES, "newest.*")
    )
