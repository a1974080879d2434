"""Columns as lists, against Arrow's own."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from udfs.arrays.lists import as_list
from udfs.arrays.streams import as_stream, of_streams

TYPES = {
    pa.string(): st.text(max_size=2), pa.int32(): st.integers(-(2**31), 2**31 - 1), pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.bool_(): st.booleans(),
}  # fmt: skip


@given(st.sampled_from(list(TYPES)).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(st.lists(st.none() | TYPES[kind])))))
def test_they_are_those_of_arrow(column: tuple[pa.DataType, list[list[object]]]) -> None:
    kind, parts = column
    chunks = pa.chunked_array([pa.array(part, kind) for part in parts], kind)
    listed = as_list(chunks)
    assert listed == chunks.to_pylist()
    assert [type(value) for value in listed] == [type(value) for value in chunks.to_pylist()]


BATCH = pa.record_batch({"name": ["a", None], "counts": [[1, 2], None]})


def test_rows_come_back_in_order_with_their_types_and_nulls() -> None:
    later = BATCH.slice(1)
    streams = pa.chunked_array([[as_stream(BATCH), None], [], [as_stream(later)]], pa.binary())
    assert of_streams(streams, BATCH.schema).equals(pa.Table.from_batches([BATCH, later]))


def test_no_streams_are_no_rows() -> None:
    assert of_streams(pa.chunked_array([[None]], pa.binary()), BATCH.schema) == BATCH.schema.empty_table()
    assert of_streams(pa.chunked_array([], pa.binary()), BATCH.schema) == BATCH.schema.empty_table()
