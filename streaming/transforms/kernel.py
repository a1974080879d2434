"""Column that an Arrow kernel computes.

`column` is what the job takes; `pandas_column` is the same as a pandas UDF, and slower (``make bench-decode``).
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf, pandas_udf
from pyspark.sql.pandas.types import from_arrow_type

Kernel = Callable[[pa.Array], pa.Array]


def column(kernel: Kernel, arrow_type: pa.DataType, argument: str) -> Column:
    """The kernel over a column, evaluated once.

    Args:
        arrow_type: what the kernel returns.
        argument: the name of the column it takes.
    """

    def call(values: pa.Array) -> pa.Array:
        return kernel(values)

    # Declared non-deterministic: the optimiser would otherwise push a filter on the result below, and call the kernel twice.
    return arrow_udf(call, from_arrow_type(arrow_type)).asNondeterministic()(argument)


def pandas_column(kernel: Kernel, arrow_type: pa.DataType, argument: str) -> Column:
    """The same through pandas; its argument is binary or a string.

    Flat columns stay in Arrow's memory (``ArrowDtype``). Nested ones become Python objects: Spark converts those an element at a time.
    """

    def series(result: pa.Array) -> pd.Series:
        if pa.types.is_nested(result.type):
            return pd.Series(result.to_pylist(), dtype=object)
        return pd.Series(result, dtype=pd.ArrowDtype(result.type))

    def call(values: pd.Series) -> pd.Series:
        return series(kernel(pa.array(values)))

    def call_for_struct(values: pd.Series) -> pd.DataFrame:
        result = kernel(pa.array(values))
        return pd.DataFrame({field.name: series(result.field(field.name)) for field in result.type})

    function = call_for_struct if pa.types.is_struct(arrow_type) else call
    return pandas_udf(function, from_arrow_type(arrow_type)).asNondeterministic()(argument)
