"""Rows that leave Spark's Python worker for the driver as one binary value: an Arrow IPC stream.

Spark passes on a binary value as it is. Rows of their own it would copy three times, field by field.
"""

from __future__ import annotations

import pyarrow as pa


def as_stream(rows: pa.RecordBatch) -> bytes:
    """The batch with its schema, as one stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    return bytes(sink.getvalue())


def of_streams(streams: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """The rows of all streams, in this order; nulls are passed over.

    Args:
        schema: of each of them.
    """
    tables = [pa.ipc.open_stream(stream.as_buffer()).read_all() for stream in streams.drop_null()]
    return pa.concat_tables(tables) if tables else schema.empty_table()
