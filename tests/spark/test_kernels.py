"""A kernel by mapInArrow, and as a pandas UDF: the kernel's own rows, some at a time."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from record_bytes import config_record, setting

from streaming import transforms
from streaming.releases import installed
from udfs.decode import PUSH, decode_pushes


def test_rows_are_the_kernels(spark: SparkSession) -> None:
    push = config_record(setting("acks", "0"), setting("sasl.jaas.config", None))
    for values in ([push, b"junk", None, push], [None, None]):
        rows = spark.createDataFrame([(value,) for value in values], "value binary").coalesce(1)
        found = transforms.computed(rows, ["value"], "found", decode_pushes, PUSH, "value").collect()
        expected = decode_pushes(pa.array(values, pa.binary())).to_pylist()
        assert [row.asDict(recursive=True)["found"] for row in found] == expected


def test_what_a_kernel_is_given_at_once_is_bounded_however_large_records_are(spark: SparkSession) -> None:
    def size(values: pa.Array) -> pa.Array:
        return pa.array([values.nbytes] * len(values), pa.int64())

    def as_struct(values: pa.Array) -> pa.StructArray:
        return pa.StructArray.from_arrays([size(values)], ["bytes"])

    large = 256 * 1024
    rows = spark.range(600).coalesce(1).select(F.expr(f"cast(repeat('x', {large}) as binary)").alias("value"))
    ways = {
        "computed": transforms.computed(rows, [], "bytes", size, pa.int64(), "value"),
        "pandas": rows.select(transforms.pandas_column(as_struct, pa.struct([("bytes", pa.int64())]), "value")["bytes"].alias("bytes")),
    }
    most = {name: way.agg(F.max("bytes")).first()[0] for name, way in ways.items()}
    bound = 501 * large if installed().minor == "3.5" else (32 << 20) + 2 * large  # 3.5 bounds rows alone
    assert {name: found for name, found in most.items() if found > bound} == {}
