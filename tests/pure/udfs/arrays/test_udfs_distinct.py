"""Distinct rows, against the plain way to find them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from udfs.arrays.distinct import distinct_rows


@given(st.integers(0, 3).flatmap(lambda width: st.lists(st.lists(st.integers(-1, 1), min_size=width, max_size=width), max_size=9)))
def test_each_row_is_one_of_the_first(rows: list[list[int]]) -> None:
    matrix = np.array(rows, np.int64).reshape(len(rows), len(rows[0]) if rows else 0)
    first, which = distinct_rows(matrix)
    assert first.tolist() == sorted({tuple(row): place for place, row in reversed(list(enumerate(rows)))}.values())
    assert [rows[first[each]] for each in which] == rows


def test_columns_of_a_matrix_in_any_order_of_memory() -> None:
    first, which = distinct_rows(np.array([[1, 2, 1], [3, 4, 3]], np.int8).T)
    assert (first.tolist(), which.tolist()) == ([0, 1], [0, 1, 0])
