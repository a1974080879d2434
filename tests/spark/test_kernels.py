"""A kernel by mapInArrow, and as a pandas UDF: the same rows."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from record_bytes import config_record, setting

from streaming import transforms
from streaming.releases import installed
from udfs.decode import PUSH, decode_pushes


def test_each_way_has_the_kernels_rows(spark: SparkSession) -> None:
    push = config_record(setting("acks", "0"), setting("sasl.jaas.config", None))
    for values in ([push, b"junk", None, push], [None, None]):
        check(spark, decode_pushes, PUSH, values)


def check(spark: SparkSession, function: transforms.Kernel, arrow_type: pa.DataType, values: list[bytes | None]) -> None:
    rows = spark.createDataFrame([(value,) for value in values], "value binary").coalesce(1)
    by_arrow = transforms.computed(rows, ["value"], "found", function, arrow_type, "value").select("found")
    ways = [by_arrow, rows.select(transforms.pandas_column(function, arrow_type, "value").alias("found"))]
    expected = function(pa.array(values, pa.binary())).to_pylist()
    for way in ways:
        assert [row.asDict(recursive=True)["found"] for row in way.collect()] == expected


def test_what_a_kernel_is_given_at_once_is_bounded_however_large_records_are(spark: SparkSession) -> None:
    def size(values: pa.Array) -> pa.Array:
        return pa.array([values.nbytes] * len(values), pa.int64())

    large = 256 * 1024
    rows = spark.range(600).coalesce(1).select(F.expr(f"cast(repeat('x', {large}) as binary)").alias("value"))
    ways = {
        "computed": transforms.computed(rows, [], "bytes", size, pa.int64(), "value"),
        "pandas": rows.select(transforms.pandas_column(size, pa.int64(), "value").alias("bytes")),
    }
    most = {name: way.agg(F.max("bytes")).first()[0] for name, way in ways.items()}
    bound = 501 * large if installed().minor == "3.5" else (32 << 20) + 2 * large  # 3.5 bounds rows alone
    assert {name: found for name, found in most.items() if found > bound} == {}
