"""Rows of a DataFrame as an Arrow table on the driver."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame


def to_table(rows: DataFrame) -> pa.Table:
    """Spark 4.0's ``toArrow``; before it, what that is made of."""
    if hasattr(rows, "toArrow"):
        return rows.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - of another name where `toArrow` is

    return pa.Table.from_batches(rows._collect_as_arrow(), to_arrow_schema(rows.schema))
