"""Columns of a batch, from the positions that the reader found.

Positions rise from one string of a column to the next, so one ``take`` over the batch's own bytes makes the column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from udfs.decoding.layout import FIXED, LayoutField, Struct
from udfs.decoding.record_reader import BAD_UTF8, Ints, Mask, RecordReading

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_DIGITS = np.array([i for i in range(36) if i not in (8, 13, 18, 23)])


def columns(reading: RecordReading) -> list[pa.Array]:
    """The columns of the records, in the order of ``Struct.made``; a record with a string that is no UTF-8 fails meanwhile."""
    building = _Building(reading)
    made = building.columns()
    if not building.bad_utf8:
        return made
    for roots in building.bad_utf8:
        reading.reasons[roots] = BAD_UTF8
    # Those records' strings are left out now, so the second time all are good.
    return _Building(reading).columns()


class _Building:
    def __init__(self, reading: RecordReading) -> None:
        self._reading = reading
        self._data = reading.data
        self.bad_utf8: list[Ints] = []

    def columns(self) -> list[pa.Array]:
        reasons = self._reading.reasons
        return self._columns(self._reading.struct, np.arange(reasons.size), reasons != 0)

    def _columns(self, struct: Struct, order: npt.NDArray[Any], dead: Mask) -> list[pa.Array]:
        """
        Args:
            order: the lanes to take, in the order of their bytes.
            dead: which of those belong to a record that failed, and become null.
        """
        roots = self._take(struct, "", order)[1]
        return [self._column(struct, field, order, dead, roots) for field in struct.made]

    def _column(self, struct: Struct, field: LayoutField, order: npt.NDArray[Any], dead: Mask, roots: Ints) -> pa.Array:
        parts = self._take(struct, field.name, order)
        if field.tag is None:
            return self._wire_column(field, parts, dead, roots)
        *values, given = parts
        return _or_default(field, self._wire_column(field, values, dead, roots), dead, given)

    def _wire_column(self, field: LayoutField, parts: list[npt.NDArray[Any]], dead: Mask, roots: Ints) -> pa.Array:
        if field.element is not None:
            count, null = parts
            count[dead] = 0
            offsets = np.zeros(count.size + 1, np.int32)
            np.cumsum(count, out=offsets[1:])
            elements = pa.StructArray.from_arrays(self._elements(field.element), fields=list(field.element.arrow_type))
            return pa.ListArray.from_arrays(offsets, elements, type=field.arrow_type, mask=pa.array(null | dead))
        if field.type == "bool":
            return pa.array(parts[0] != 0, mask=dead)
        if field.type in FIXED:
            return pa.array(parts[0].astype(parts[0].dtype.newbyteorder("=")), field.arrow_type, mask=dead)
        if field.type == "uuid":
            return self._uuids(np.where(dead, self._reading.home, parts[0]))
        start, stop, null = parts
        # A dead record's own start keeps the positions rising.
        start[dead] = stop[dead] = self._reading.starts[roots[dead]]
        spans = self._slices(start, stop, null | dead)
        if field.type == "bytes":
            return spans.cast(pa.binary())
        try:
            return spans.cast(pa.string())
        except pa.ArrowInvalid:
            self.bad_utf8.append(roots[_invalid_utf8(spans)])
            return pa.nulls(len(spans), pa.string())

    def _elements(self, struct: Struct) -> list[pa.Array]:
        if struct not in self._reading.found:
            return [pa.nulls(0, field.arrow_type) for field in struct.made]
        found = self._reading.found[struct][""]
        start = np.concatenate([part[0] for part in found])
        alive = np.flatnonzero(self._reading.reasons[np.concatenate([part[1] for part in found])] == 0)
        # Elements were read level by level, each level in order; the order of their bytes is the order in which they belong.
        order = alive[np.argsort(start[alive], kind="stable")]  # which merges what is sorted already, in a tenth of the time
        return self._columns(struct, order, np.zeros(order.size, np.bool_))

    def _take(self, struct: Struct, name: str, order: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        return [np.concatenate(parts)[order] for parts in zip(*self._reading.found[struct][name], strict=True)]

    def _slices(self, start: Ints, stop: Ints, null: Mask) -> pa.LargeBinaryArray:
        """The bytes from each start to its stop.

        An array whose values are in turn a wanted slice and the gap behind it costs nothing to make, and ``take`` copies
        the wanted ones in C++.
        """
        small = self._data.size < 2**31
        offsets = np.empty(2 * start.size + 1, np.int32 if small else np.int64)
        offsets[0:-1:2], offsets[1::2] = start, stop
        offsets[-1] = stop[-1] if stop.size else 0
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._data)]
        slices = pa.Array.from_buffers(pa.binary() if small else pa.large_binary(), 2 * start.size, buffers)
        return slices.take(pa.array(np.arange(0, 2 * start.size, 2), mask=null))

    def _uuids(self, start: Ints) -> pa.StringArray:
        """Canonical text; null for all zeros, which is also what lies at home."""
        raw = self._data[start[:, None] + np.arange(16)] if start.size else np.zeros((0, 16), np.uint8)
        text = np.full((start.size, 36), ord("-"), np.uint8)
        text[:, _UUID_DIGITS] = _HEX[np.stack([raw >> 4, raw & 15], axis=2).reshape(start.size, 32)]
        offsets = pa.py_buffer(np.arange(0, 36 * start.size + 1, 36, dtype=np.int32))
        uuids = pa.Array.from_buffers(pa.string(), start.size, [None, offsets, pa.py_buffer(text)])
        return pc.if_else(pa.array(raw.any(axis=1)), uuids, None)


def _or_default(field: LayoutField, column: pa.Array, dead: Mask, given: Mask) -> pa.Array:
    """The field's default where a good record doesn't have it."""
    if given.all():
        return column
    return pc.if_else(pa.array(given | dead), column, pa.scalar(field.default, field.arrow_type))


def _invalid_utf8(values: pa.LargeBinaryArray) -> list[int]:
    """Positions of the values that are not UTF-8, found by halving, since Arrow only says that there are some."""
    bad, ranges = [], [(0, len(values))]
    while ranges:
        start, stop = ranges.pop()
        try:
            values.slice(start, stop - start).cast(pa.large_string())
        except pa.ArrowInvalid:
            middle = (start + stop) // 2
            if stop - start == 1:
                bad.append(start)
            else:
                ranges += [(start, middle), (middle, stop)]
    return bad
