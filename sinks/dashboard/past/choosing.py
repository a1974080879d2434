"""Search grammar over columns: each distinct value is matched once, by the code that also matches values in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.query import Choice, FieldKind, Fields, Key, Query, Term, library_of, matches, version_order
from clientscope.severities import SEVERITIES

_BETWEEN = "\x1f"
"""In no name that may be shown."""

Mask = npt.NDArray[np.bool_]


def each(column: pa.ChunkedArray | pa.Array, of: Callable[[str], str | None]) -> pa.Array:
    """A column of texts made from another; null stays null."""
    encoded = _encoded(column)
    values = pa.array([of(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return values.take(encoded.indices)


class Choosing:
    """Chooses among a table's rows.

    Args:
        fields: each is a column of the table.
        search: the columns that words are searched for in.
        several: how to read those columns of texts that have several values of a field in each.
    """

    def __init__(
        self, table: pa.Table, fields: Fields, search: Sequence[str], several: Mapping[str, Callable[[str], Sequence[Any]]] | None = None
    ) -> None:
        self._several = several or {}
        self._table = table
        self._fields = fields
        self._search = search

    def chosen(self, query: Query) -> Mask:
        """Which rows a query leaves."""
        left = np.ones(self._table.num_rows, np.bool_)
        for part in query.terms:
            left &= self._choice(part) if isinstance(part, Choice) else self._term(part)
        return left

    def sorted(self, chosen: Mask, keys: Sequence[Key]) -> pa.Array:
        """The places of the rows chosen, in an order; texts without regard to the case of ASCII letters, what is unknown last."""
        places = pa.array(np.flatnonzero(chosen))
        columns = {f"k{number}": self._key(key.field).take(places) for number, key in enumerate(keys)}
        order = [(name, "descending" if key.descending else "ascending", "at_end") for name, key in zip(columns, keys, strict=True)]
        return places.take(pc.sort_indices(pa.table(columns), sort_keys=order))

    def _key(self, field: str) -> pa.Array:
        column = self._table[field].combine_chunks()
        if field in self._fields and self._fields[field].kind is FieldKind.VERSION:
            return each(column, version_order)
        if field in self._fields and self._fields[field].kind is FieldKind.SEVERITY:
            return pc.index_in(column, pa.array(SEVERITIES))
        return pc.ascii_lower(column) if pa.types.is_string(column.type) else column

    def _choice(self, choice: Choice) -> Mask:
        found: Mask = np.logical_or.reduce([self.chosen(query) for query in choice.any_of])
        return ~found if choice.negated else found

    def _term(self, term: Term) -> Mask:
        return self._words(term) if term.field is None else self._values(term, term.field)

    def _values(self, term: Term, field: str) -> Mask:
        encoded = _encoded(self._library(field) if term.library else self._table[field])
        one = Query((replace(term, library=False),))
        read = self._several.get(field)
        values = [read(value) if read else value for value in encoded.dictionary.to_pylist()]
        holds = [matches(one, self._fields, {field: value}) for value in (*values, None)]
        if term.library:
            holds[-1] = term.negated
        indices = pc.fill_null(encoded.indices, len(holds) - 1).to_numpy(zero_copy_only=False)
        found: Mask = np.array(holds, np.bool_)[indices]
        return found

    def _library(self, field: str) -> pa.Array:
        """The library underneath, or its version."""
        software = pc.binary_join_element_wise(*(self._table[name].combine_chunks() for name in ("software", "version")), _BETWEEN)
        return each(software, lambda both: library_of(*both.split(_BETWEEN))[field == "version"])

    def _words(self, term: Term) -> Mask:
        columns = [self._table[name].combine_chunks() for name in self._search]
        texts = pc.utf8_lower(pc.binary_join_element_wise(*columns, "\n", null_handling="replace", null_replacement=""))
        one = Query((term,))
        return np.fromiter((matches(one, self._fields, {}, text) for text in texts.to_pylist()), np.bool_, len(texts))


def _encoded(column: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # nothing but empty chunks
        array = pa.array([], array.type)
    if pa.types.is_string_view(array.type) or pa.types.is_large_string(array.type):
        array = array.cast(pa.string())
    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
