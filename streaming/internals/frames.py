"""Rows of a DataFrame in Arrow on the driver: all of them as a table, or as batches of which it holds a few at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from udfs.arrays.streams import as_stream

PAGE_BYTES = 128 << 20
"""What the driver takes at once."""

_PAGE = pa.schema([("task", pa.int32()), ("next", pa.int64()), ("stream", pa.binary())])
_PAGE_DDL = "task int, next long, stream binary"


def to_table(rows: DataFrame) -> pa.Table:
    """Spark 4.0's ``toArrow``; before it, what that is made of."""
    if hasattr(rows, "toArrow"):
        return rows.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - of another name where `toArrow` is

    return pa.Table.from_batches(rows._collect_as_arrow(), to_arrow_schema(rows.schema))


def record_batches(rows: DataFrame, page_bytes: int = PAGE_BYTES) -> Iterator[pa.RecordBatch]:
    """The rows, a page at a time: however much clients push, the driver's memory isn't full of it.

    Args:
        rows: that are the same each time they are computed, best persisted ones: each page begins again.
    """
    begins: dict[int, int] | None = None
    task_bytes = page_bytes // max(1, rows.rdd.getNumPartitions())
    while begins is None or begins:
        page = to_table(rows.mapInArrow(partial(_page, begins=begins, most_bytes=task_bytes), _PAGE_DDL))
        begins = {}
        for task, following, stream in zip(*(page.column(name) for name in _PAGE.names), strict=True):
            if stream.is_valid:
                yield from pa.ipc.open_stream(stream.as_buffer())
            else:
                begins[task.as_py()] = following.as_py()


def _page(batches: Iterable[pa.RecordBatch], begins: Mapping[int, int] | None, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """A task's rows as streams, from where they begin on, and at least one; then, if there are more, which is the next."""
    context = TaskContext.get()
    assert context is not None, "only in a task"
    task, left, passed = context.partitionId(), most_bytes, 0
    begin = 0 if begins is None else begins.get(task)
    if begin is None:
        return
    for batch in batches:
        rest = batch.slice(max(0, begin - passed))
        passed += batch.num_rows
        if not rest.num_rows:
            continue
        some = rest.slice(0, max(1, left * rest.num_rows // max(1, rest.nbytes))) if left > 0 else rest.slice(0, 0)
        if some.num_rows:
            stream = as_stream(some)
            left -= len(stream)
            yield pa.RecordBatch.from_pylist([{"task": task, "stream": stream}], _PAGE)
        if some.num_rows < rest.num_rows:
            yield pa.RecordBatch.from_pylist([{"task": task, "next": passed - rest.num_rows + some.num_rows}], _PAGE)
            return
