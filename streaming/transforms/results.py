"""Step of results: pushes -> verdicts of the rules, as records of ``clientscope.results``."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.digest import DigestKey
from clientscope.profiles import Thresholds
from clientscope.records.topics import CONFIGS
from streaming.transforms import kernel
from udfs.decode import decode_pushes
from udfs.kernels import results as kernels
from udfs.pushes import Pushes


def results(records: DataFrame, digest_key: DigestKey | None, thresholds: Thresholds | None = None) -> DataFrame:
    """Key and value for ``clientscope.results``; a record that can't be decoded is left to the history query.

    Args:
        records: of ``clientscope.configs``; its tombstones are passed over.
        digest_key: digests leaks that no gateway has redacted.
        thresholds: which profile applies to which client; None for the rules' own limits.
    """
    judged = kernel.pandas_column(partial(verdicts, digest_key=digest_key, thresholds=thresholds), kernels.TYPE, "value")
    # One concatenation of few parts, since each part costs a short copy; the kernel wrote all of them except the place.
    place = (
        F.lit(f'{{"version":1,"topic":"{CONFIGS}","partition":'),
        F.col("partition").cast("string"),
        F.lit(',"offset":'),
        F.col("offset").cast("string"),
    )
    return (
        records.where(F.col("value").isNotNull())
        .withColumn("push", judged)
        .where(F.col("push.decode_error").isNull())
        .select("push.key", F.concat(*place, "push.rest").alias("value"))
    )


def verdicts(values: pa.Array, digest_key: DigestKey | None, thresholds: Thresholds | None = None) -> pa.StructArray:
    """The kernel of `results`."""
    return kernels.results(Pushes(decode_pushes(values, digest_key)), thresholds)
