"""Columns as lists, against Arrow's own."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from udfs.arrays.distinct import distinct_rows
from udfs.arrays.json_text import arrays, literals, members
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


@given(st.integers(0, 3).flatmap(lambda width: st.lists(st.lists(st.integers(-1, 1), min_size=width, max_size=width), max_size=9)))
def test_each_row_is_one_of_the_first(rows: list[list[int]]) -> None:
    matrix = np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if rows else 0)
    first, which = distinct_rows(matrix)
    assert first.tolist() == sorted({tuple(row): place for place, row in reversed(list(enumerate(rows)))}.values())
    assert [rows[first[each]] for each in which] == rows


def test_columns_of_a_matrix_in_any_order_of_memory() -> None:
    first, which = distinct_rows(np.array([[1, 2, 1], [3, 4, 3]], np.int8).T)
    assert (first.tolist(), which.tolist()) == ([0, 1], [0, 1, 0])


TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.sampled_from('a"\\\x00\x1f\n\x7f\u2028\u00e9'))


@given(st.lists(st.tuples(TEXT, st.none() | st.integers(-(2**63), 2**63 - 1), st.lists(TEXT, max_size=3))))
def test_values_members_and_arrays(rows: list[tuple[str | None, int | None, list[Any]]]) -> None:
    texts, numbers, lists = ([row[column] for row in rows] for column in range(3))
    flat = literals(pa.array([text for each in lists for text in each], pa.string()))
    offsets = [sum(map(len, lists[:i])) for i in range(len(lists) + 1)]
    written = arrays(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat))
    expected = [{"a": text, "b": number, 'c"': each} for text, number, each in rows]
    plain = {"a": pa.array([*texts, "behind"], pa.string()).slice(0, len(texts)), "b": pa.array(numbers, pa.int64())}
    assert [json.loads(text) for text in members(plain, {'c"': written}, "{", "}").to_pylist()] == expected
    last = members({"b": plain["b"], "a": plain["a"]}, {}, "{", "}")  # a string at the end
    assert [json.loads(text) for text in last.to_pylist()] == [{"b": each["b"], "a": each["a"]} for each in expected]


def test_what_is_null_stays_null() -> None:
    assert members({}, {"a": pa.array([None, "1"], pa.string())}).to_pylist() == [None, '"a":1']
    assert arrays(pa.array([None, [], ["1", "2"]], pa.list_(pa.string()))).to_pylist() == [None, "[]", "[1,2]"]


BATCH = pa.record_batch({"name": ["a", None], "counts": [[1, 2], None]})


def test_rows_come_back_in_order_with_their_types_and_nulls() -> None:
    later = BATCH.slice(1)
    streams = pa.chunked_array([[as_stream(BATCH), None], [], [as_stream(later)]], pa.binary())
    assert of_streams(streams, BATCH.schema).equals(pa.Table.from_batches([BATCH, later]))


def test_no_streams_are_no_rows() -> None:
    assert of_streams(pa.chunked_array([[None]], pa.binary()), BATCH.schema) == BATCH.schema.empty_table()
    assert of_streams(pa.chunked_array([], pa.binary()), BATCH.schema) == BATCH.schema.empty_table()
