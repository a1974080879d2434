"""Rows as streams, and back."""

from __future__ import annotations

import pyarrow as pa

from udfs.arrays.streams import as_stream, of_streams

BATCH = pa.record_batch({"name": ["a", None], "counts": [[1, 2], None]})


def test_rows_come_back_in_order_with_their_types_and_nulls() -> None:
    later = BATCH.slice(1)
    streams = pa.chunked_array([[as_stream(BATCH), None], [], [as_stream(later)]], pa.binary())
    assert of_streams(streams, BATCH.schema).equals(pa.Table.from_batches([BATCH, later]))


def test_no_streams_are_no_rows() -> None:
    assert of_streams(pa.chunked_array([[None]], pa.binary()), BATCH.schema) == BATCH.schema.empty_table()
    assert of_streams(pa.chunked_array([], pa.binary()), BATCH.schema) == BATCH.schema.empty_table()
