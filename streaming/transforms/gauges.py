"""Step of gauges: connection records -> their counts."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.digest import DigestKey
from udfs.kernels.connection_counts import packed


def entries(records: DataFrame, digest_key: DigestKey | None = None) -> DataFrame:
    """What ``streaming.gauges`` takes the newest of; much that the same batch makes void is left out already.

    Args:
        records: of ``clientscope.connections``.
        digest_key: distinguishes names that no gateway has redacted.

    Returns:
        a row for each record, in the one column of which `udfs.kernels.connection_counts.packed` has put all entries of some of them.
    """

    def call(values: pd.Series, appended_ms: pd.Series, partitions: pd.Series, offsets: pd.Series) -> pd.Series:
        places = (pa.array(appended_ms, pa.int64()), pa.array(partitions, pa.int32()), pa.array(offsets, pa.int64()))
        made = packed(pa.array(values, pa.binary()), *places, digest_key=digest_key)
        return pd.Series(pd.arrays.ArrowExtensionArray(made), copy=False)

    packing = F.pandas_udf(call, "binary").asNondeterministic()
    return records.select(packing("value", F.unix_millis("timestamp"), "partition", "offset").alias("entries"))
