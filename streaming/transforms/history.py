"""Steps of history: records of either topic -> rows to keep, rows to quarantine, and counts of both."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.digest import DigestKey
from streaming.transforms import kernel
from udfs import decode
from udfs.decode import decode_connections, decode_pushes
from udfs.kernels.client_facts import CLIENT, COLUMNS, TOPICS, rows_of_facts
from udfs.kernels.quarantine import FIELDS, with_evidence

_PLACE = ("topic", "partition", "offset", "timestamp")


def pushes(records: DataFrame, digest_key: DigestKey | None) -> DataFrame:
    """Every field of each ClientConfigRecord, redacted; `kept` and `quarantine` part the good from the bad.

    ``r.decode_error`` is why a row isn't good (`clientscope.records.codec.reasons`).

    Args:
        records: of ``clientscope.configs``; its tombstones are passed over.
        digest_key: digests leaks that no gateway has redacted, and what can't be decoded.
    """
    rows = partial(push_rows, digest_key=digest_key)
    arrow_type = pa.struct([*decode.PUSH, *FIELDS])
    return kernel.computed(records.where(F.col("value").isNotNull()), _PLACE, "r", rows, arrow_type, "value")


def connections(records: DataFrame, digest_key: DigestKey | None) -> DataFrame:
    """Every field of each ClientConnectionRecord, its names redacted; otherwise as `pushes`."""
    rows = partial(connection_rows, digest_key=digest_key)
    arrow_type = pa.struct([*decode.CONNECTION, *FIELDS])
    return kernel.computed(records, _PLACE, "r", rows, arrow_type, "value")


def telemetry(records: DataFrame, digest_key: DigestKey | None) -> DataFrame:
    """The client's names and the facts of each record of clients' own metrics (`udfs.kernels.client_facts`); otherwise as `pushes`."""
    rows = partial(telemetry_rows, digest_key=digest_key)
    arrow_type = pa.struct([*CLIENT, *COLUMNS, TOPICS, decode.DECODE_ERROR, *FIELDS])
    return kernel.computed(records, _PLACE, "r", rows, arrow_type, "value")


def push_rows(values: pa.Array, digest_key: DigestKey | None) -> pa.StructArray:
    """The kernel of `pushes`."""
    return with_evidence(decode_pushes(values, digest_key), values, digest_key)


def connection_rows(values: pa.Array, digest_key: DigestKey | None) -> pa.StructArray:
    """The kernel of `connections`."""
    return with_evidence(decode_connections(values, digest_key), values, digest_key)


def telemetry_rows(values: pa.Array, digest_key: DigestKey | None) -> pa.StructArray:
    """The kernel of `telemetry`."""
    return with_evidence(rows_of_facts(values, digest_key), values, digest_key)


def observed(rows: DataFrame, name: str, reasons: Iterable[str]) -> DataFrame:
    """The same rows; the query's progress counts those that are not kept, by reason, under ``name``."""
    return rows.observe(name, *(F.count_if(F.col("r.decode_error") == reason).alias(reason) for reason in reasons))


def kept(rows: DataFrame) -> DataFrame:
    """The decoded rows as the Delta tables have them: ``date`` (UTC, of Kafka's timestamp), the record's place, its fields."""
    return (
        rows.where(F.col("r.decode_error").isNull())
        .select(F.to_date("timestamp").alias("date"), *_PLACE, "r.*")
        .drop("decode_error", "written", *(field.name for field in FIELDS))
    )


def quarantine(rows: DataFrame) -> DataFrame:
    """Key and value for ``clientscope.quarantine``: the same again whenever the same record is read again."""
    value = F.struct(
        F.lit(1).alias("version"),
        "topic",
        "partition",
        "offset",
        F.unix_millis("timestamp").alias("timestamp_ms"),
        F.col("r.decode_error").alias("reason"),
        "r.length",
        "r.digest",
    )
    return rows.where(F.col("r.decode_error").isNotNull()).select(
        # to_json of an array can't mix types.
        F.concat(
            F.regexp_replace(F.to_json(F.array("topic")), r"\]$", ""), F.lit(","), "partition", F.lit(","), "offset", F.lit("]")
        ).alias("key"),
        F.to_json(value, {"ignoreNullFields": "false"}).alias("value"),
    )
