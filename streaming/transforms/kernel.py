"""An Arrow kernel as a column."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type


def column(kernel: Callable[[pa.Array], pa.Array], arrow_type: pa.DataType, argument: str) -> Column:
    """The kernel over a column, evaluated once.

    Args:
        arrow_type: what the kernel returns.
        argument: the name of the column it takes.
    """

    def call(values: pa.Array) -> pa.Array:
        return kernel(values)

    # Declared non-deterministic: the optimiser would otherwise push a filter on the result below, and call the kernel twice.
    return arrow_udf(call, from_arrow_type(arrow_type)).asNondeterministic()(argument)
