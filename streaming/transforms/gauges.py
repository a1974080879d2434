"""Step of gauges: connection records -> their counts."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.digest import DigestKey
from streaming.transforms import kernel
from udfs.kernels.connection_counts import packed


def entries(records: DataFrame, digest_key: DigestKey | None = None) -> DataFrame:
    """What ``streaming.gauges`` takes the newest of; much that the same batch makes void is left out already.

    Args:
        records: of ``clientscope.connections``.
        digest_key: distinguishes names that no gateway has redacted.

    Returns:
        a row for each record, in the one column of which `udfs.kernels.connection_counts.packed` has put all entries of some of them.
    """
    place = (F.unix_millis("timestamp"), "partition", "offset")
    packing = kernel.pandas_column(partial(packed, digest_key=digest_key), pa.binary(), "value", *place)
    return records.select(packing.alias("entries"))
