"""JSON text of columns: what comes out is what `json` reads back."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from udfs.json_text import arrays, literals, members

TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.sampled_from('a"\\\x00\x1f\n\x7f\u2028\u00e9'))


@given(st.lists(TEXT))
def test_strings(values: list[str | None]) -> None:
    column = literals(pa.array([*values, "behind"], pa.string()).slice(0, len(values)))
    assert [json.loads(text) for text in column.to_pylist()] == values


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)))
def test_integers(values: list[int | None]) -> None:
    assert [json.loads(text) for text in literals(pa.array(values, pa.int64())).to_pylist()] == values


@given(st.lists(st.tuples(TEXT, st.lists(TEXT, max_size=3))))
def test_members_and_arrays(rows: list[tuple[str | None, list[Any]]]) -> None:
    texts, lists = [row[0] for row in rows], [row[1] for row in rows]
    flat = literals(pa.array([text for each in lists for text in each], pa.string()))
    offsets = [sum(map(len, lists[:i])) for i in range(len(lists) + 1)]
    written = arrays(pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat))
    column = members({"a": literals(pa.array(texts, pa.string())), 'b"': written})
    assert [json.loads(f"{{{text}}}") for text in column.to_pylist()] == [{"a": text, 'b"': each} for text, each in rows]


def test_what_is_null_stays_null() -> None:
    assert members({"a": pa.array([None, "1"], pa.string())}).to_pylist() == [None, '"a":1']
    assert arrays(pa.array([None, [], ["1", "2"]], pa.list_(pa.string()))).to_pylist() == [None, "[]", "[1,2]"]
