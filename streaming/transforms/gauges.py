"""Connection records -> the counts in them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from streaming.transforms import kernel
from udfs.counts import TYPE, counts


def entries(records: DataFrame) -> DataFrame:
    """What ``sinks.gauges`` takes the newest of; much that the same batch makes void is left out already.

    Args:
        records: of ``clientscope.connections``.

    Returns:
        the fields of `udfs.counts.ENTRY`, and ``appended_ms``, Kafka's timestamp of the record.
    """
    return records.select("timestamp", F.explode(kernel.column(counts, TYPE, "value")).alias("entry")).select(
        "entry.*", F.unix_millis("timestamp").alias("appended_ms")
    )
