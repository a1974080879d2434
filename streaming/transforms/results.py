"""Pushes -> what the rules say of each, as records of ``clientscope.results``."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.policy.redaction import DigestKey
from streaming.transforms import kernel
from udfs.decode import decoder
from udfs.pushes import Pushes, redact
from udfs.results import TYPE, judge

_LATER = ("application_client_id", "group_id", "settings", "redacted", "rules", "decode_error")


def results(records: DataFrame, digest_key: DigestKey | None) -> DataFrame:
    """Key and value for ``clientscope.results``; a record that can't be decoded is left to the history query.

    Args:
        records: of ``clientscope.configs``; its tombstones are passed over.
        digest_key: digests leaks that no gateway has redacted.
    """
    application = F.to_json(F.array("push.principal", "push.application_client_id", "push.group_id"))
    identity = [F.col(f"push.{name}") for name in TYPE.names if name not in _LATER]
    value = F.struct(
        "topic", "partition", "offset", *identity, F.col("key").alias("application"), "push.settings", "push.redacted", "push.rules"
    )
    return (
        records.where(F.col("value").isNotNull())
        .withColumn("push", kernel.column(partial(verdicts, digest_key=digest_key), TYPE, "value"))
        .where(F.col("push.decode_error").isNull())
        .withColumn("key", application)
        .select("key", F.to_json(value, {"ignoreNullFields": "false"}).alias("value"))
    )


def verdicts(values: pa.Array, digest_key: DigestKey | None) -> pa.StructArray:
    """The kernel of `results`."""
    return judge(Pushes(redact(decoder("ClientConfigRecord")(values), digest_key)))
