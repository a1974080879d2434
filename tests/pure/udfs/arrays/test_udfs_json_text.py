"""JSON text of columns: `json` reads the same values back."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from udfs.arrays.json_text import arrays, literals, members

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
