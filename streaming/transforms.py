"""Steps: pure functions from DataFrame to DataFrame.  Each starts from `sources.records`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from pyspark.sql.functions import pandas_udf
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from clientscope.digest import DigestKey
from clientscope.model.result import SOURCE_PLACE
from clientscope.model.topics import CONFIGS
from clientscope.profiles import Thresholds
from udfs import decode
from udfs.kernels import live as kernels
from udfs.kernels.client_facts import CLIENT, COLUMNS, TOPICS, rows_of_facts
from udfs.kernels.quarantine import FIELDS, with_evidence

Kernel = Callable[..., pa.Array]
"""From one array for each column to one of as many rows."""


def computed(rows: DataFrame, kept: Sequence[str], name: str, kernel: Kernel, arrow_type: pa.DataType, argument: str) -> DataFrame:
    """Some columns of the rows, and one that the kernel computes, by ``mapInArrow``: no value becomes a Python object, and lists cost no
    more than texts. It is evaluated once, since Spark pushes no filter below it.

    Args:
        kept: the columns that stay; they go through Python too.
        name: of the new column.
        arrow_type: what the kernel returns.
        argument: the name of the column it takes.
    """

    def call(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = {column: batch.column(column) for column in kept}
            yield pa.RecordBatch.from_pydict(columns | {name: kernel(batch.column(argument))})

    read = rows.select(*dict.fromkeys((*kept, argument)))
    fields = [*(read.schema[column] for column in kept), StructField(name, from_arrow_type(arrow_type))]
    return read.mapInArrow(call, StructType(fields))


def pandas_column(kernel: Kernel, arrow_type: pa.StructType, *arguments: str | Column) -> Column:
    """A struct that the kernel computes, through pandas, of one or more columns: binary ones, and integers without null.

    Columns stay in Arrow's memory, so none may be nested: those become Python objects, which Spark converts an element at a time.
    """

    def call(*columns: pd.Series) -> pd.DataFrame:
        result = kernel(*map(_in_arrow, columns))
        # Arrays rather than series, since each series of a frame makes an index, and copies.
        return pd.DataFrame({field.name: pd.arrays.ArrowExtensionArray(result.field(field.name)) for field in result.type}, copy=False)

    # Declared non-deterministic: the optimiser would otherwise push a filter on the result below, and call the kernel twice.
    return pandas_udf(call, from_arrow_type(arrow_type)).asNondeterministic()(*arguments)


def _in_arrow(values: pd.Series) -> pa.Array:
    """Typed, so that no type is inferred from the values: a column of objects is binary."""
    return pa.array(values, pa.binary() if values.dtype == object else None)


def live(records: DataFrame, digest_key: DigestKey | None, thresholds: Thresholds | None = None) -> DataFrame:
    """Topic, key, value and headers of what follows from each record (`udfs.kernels.live`), for a Kafka sink.

    A record without a value has the place of its source in a header, since nothing else of it can say that.

    Args:
        records: of ``clientscope.configs`` and ``clientscope.connections``, with their keys.
        digest_key: digests leaks that no gateway has redacted.
        thresholds: which profile applies to which client; None for the rules' own limits.
    """
    made = pandas_column(
        partial(kernels.live, digest_key=digest_key, thresholds=thresholds),
        kernels.ROW,
        F.col("topic") == CONFIGS,
        "partition",
        "offset",
        F.unix_millis("timestamp"),
        "value",
        "key",
    )
    place = F.concat_ws("/", "partition", "offset", F.unix_millis("timestamp")).cast("binary")
    header = F.array(F.struct(F.lit(SOURCE_PLACE).alias("key"), place.alias("value")))
    rows = records.select(made.alias("made"), header.alias("header")).where(F.col("made.topic").isNotNull())
    return rows.select("made.*", F.when(F.col("made.value").isNull(), F.col("header")).alias("headers"))


_PLACE = ("topic", "partition", "offset", "timestamp")


def pushes(records: DataFrame, digest_key: DigestKey | None) -> DataFrame:
    """Every field of each Push, redacted; `kept` and `quarantine` part the good from the bad.

    ``r.decode_error`` is why a row isn't good (`clientscope.model.codec.reasons`).

    Args:
        records: of ``clientscope.configs``; its tombstones are passed over.
        digest_key: digests leaks that no gateway has redacted, and what can't be decoded.
    """
    return _decoded(records.where(F.col("value").isNotNull()), decode.decode_pushes, decode.PUSH, digest_key)


def connections(records: DataFrame, digest_key: DigestKey | None) -> DataFrame:
    """Every field of each ClientConnectionRecord, its names redacted; otherwise as `pushes`."""
    return _decoded(records, decode.decode_connections, decode.CONNECTION, digest_key)


def telemetry(records: DataFrame, digest_key: DigestKey | None) -> DataFrame:
    """The client's names and the facts of each record of clients' own metrics (`udfs.kernels.client_facts`); otherwise as `pushes`."""
    return _decoded(records, rows_of_facts, (*CLIENT, *COLUMNS, TOPICS, decode.DECODE_ERROR), digest_key)


def _decoded(records: DataFrame, kernel: Kernel, fields: Iterable[pa.Field], digest_key: DigestKey | None) -> DataFrame:
    return computed(records, _PLACE, "r", partial(with_evidence, kernel, key=digest_key), pa.struct([*fields, *FIELDS]), "value")


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
