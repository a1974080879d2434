"""Column that an Arrow kernel computes: as a pandas UDF where that costs at most a tenth more, else as an ``arrow_udf``.

DESIGN.md has the figures that decided (``make bench-udfs``).
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf, pandas_udf
from pyspark.sql.pandas.types import from_arrow_type

Kernel = Callable[..., pa.Array]
"""From one array for each column to one of as many rows."""


def column(kernel: Kernel, arrow_type: pa.DataType, argument: str) -> Column:
    """The kernel over a column, evaluated once: no value becomes a Python object, and lists cost no more than texts.

    Args:
        arrow_type: what the kernel returns.
        argument: the name of the column it takes.
    """

    def call(values: pa.Array) -> pa.Array:
        return kernel(values)

    # Declared non-deterministic: the optimiser would otherwise push a filter on the result below, and call the kernel twice.
    return arrow_udf(call, from_arrow_type(arrow_type)).asNondeterministic()(argument)


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
