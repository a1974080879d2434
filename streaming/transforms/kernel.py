"""Column that an Arrow kernel computes: as a pandas UDF where that costs at most a tenth more, else as an ``arrow_udf``.

DESIGN.md has the figures that decided (``make bench-udfs``). Spark has ``arrow_udf`` since 4.1; before it, ``mapInArrow`` does the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.functions import pandas_udf
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

arrow_udf: Any = getattr(functions, "arrow_udf", None)

Kernel = Callable[..., pa.Array]
"""From one array for each column to one of as many rows."""


def computed(rows: DataFrame, kept: Sequence[str], name: str, kernel: Kernel, arrow_type: pa.DataType, argument: str) -> DataFrame:
    """Some columns of the rows, and one that the kernel computes: by `column` where Spark has that, else by `mapped`.

    Args:
        kept: the columns that stay.
        name: of the new column.
        arrow_type: what the kernel returns.
        argument: the name of the column it takes.
    """
    if arrow_udf is None:
        return mapped(rows, kept, name, kernel, arrow_type, argument)
    return rows.select(*kept, column(kernel, arrow_type, argument).alias(name))


def column(kernel: Kernel, arrow_type: pa.DataType, argument: str) -> Column:
    """The kernel over a column, evaluated once: no value becomes a Python object, and lists cost no more than texts. Needs Spark 4.1.

    Args:
        arrow_type: what the kernel returns.
        argument: the name of the column it takes.
    """

    def call(values: pa.Array) -> pa.Array:
        return kernel(values)

    # Declared non-deterministic: the optimiser would otherwise push a filter on the result below, and call the kernel twice.
    return arrow_udf(call, from_arrow_type(arrow_type)).asNondeterministic()(argument)


def mapped(rows: DataFrame, kept: Sequence[str], name: str, kernel: Kernel, arrow_type: pa.DataType, argument: str) -> DataFrame:
    """`computed` by ``mapInArrow``: the kept columns go through Python too, and Spark pushes no filter below it."""

    def call(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = {column: batch.column(column) for column in kept}
            yield pa.RecordBatch.from_pydict(columns | {name: kernel(batch.column(argument))})

    read = rows.select(*dict.fromkeys((*kept, argument)))
    fields = [*(read.schema[column] for column in kept), StructField(name, from_arrow_type(arrow_type))]
    return read.mapInArrow(call, StructType(fields))


def pandas_column(kernel: Kernel, arrow_type: pa.DataType, *arguments: str | Column) -> Column:
    """The same through pandas, of one or more columns: binary ones, and integers without null.

    Flat columns stay in Arrow's memory. Nested ones become Python objects: Spark converts those an element at a time.
    """

    def call(*columns: pd.Series) -> pd.Series:
        return pd.Series(_in_pandas(kernel(*map(_in_arrow, columns))), copy=False)

    def call_for_struct(*columns: pd.Series) -> pd.DataFrame:
        result = kernel(*map(_in_arrow, columns))
        return pd.DataFrame({field.name: _in_pandas(result.field(field.name)) for field in result.type}, copy=False)

    function = call_for_struct if pa.types.is_struct(arrow_type) else call
    return pandas_udf(function, from_arrow_type(arrow_type)).asNondeterministic()(*arguments)


def _in_arrow(values: pd.Series) -> pa.Array:
    """Typed, so that no type is inferred from the values: a column of objects is binary."""
    return pa.array(values, pa.binary() if values.dtype == object else None)


def _in_pandas(column: pa.Array) -> pd.arrays.ArrowExtensionArray | pd.Series:
    """Arrays rather than series, since each series of a frame makes an index, and copies."""
    if pa.types.is_nested(column.type):
        return pd.Series(column.to_pylist(), dtype=object)
    return pd.arrays.ArrowExtensionArray(column)
