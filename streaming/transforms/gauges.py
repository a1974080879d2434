"""Step of gauges: connection records -> their counts."""

from __future__ import annotations

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.digest import DigestKey
from streaming.transforms import kernel
from udfs.kernels.connection_counts import TYPE, counts


def entries(records: DataFrame, digest_key: DigestKey | None = None) -> DataFrame:
    """What ``streaming.gauges`` takes the newest of; much that the same batch makes void is left out already.

    Args:
        records: of ``clientscope.connections``.
        digest_key: distinguishes names that no gateway has redacted.

    Returns:
        the fields of `udfs.kernels.connection_counts.ENTRY`; ``appended_ms``, Kafka's timestamp of the record; its partition and offset.
    """
    lists = kernel.column(partial(counts, digest_key=digest_key), TYPE, "value")
    place = (F.unix_millis("timestamp").alias("appended_ms"), "partition", "offset")
    return records.select("timestamp", "partition", "offset", F.explode(lists).alias("entry")).select("entry.*", *place)
