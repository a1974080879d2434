"""Records of our topics, a batch at a time: all records advance together, one field at a time.

The reference is ``clientscope.records.codec``; a parity test holds the two together.  There is no loop over records: a *lane*
is one struct that is being read (a record, or one element of an array), and every step is numpy over all lanes at once.
Elements are read level by level: the first of every array, then the second, and so on.

A lane that fails is moved to ``home``, zeros behind the batch's bytes, where it can go on reading without harm; its record keeps
the first reason.  Strings are not copied while reading: only their positions are kept, and since positions rise from
one string of a column to the next, one ``take`` over the batch's own bytes then makes the column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.records.codec import schema
from udfs.layout import FIXED, Field, Struct, compile_schema

REASONS = (
    "",
    "no_value",
    "truncated",
    "unknown_version",
    "bad_varint",
    "null",
    "count_beyond_bytes",
    "bad_utf8",
    "trailing_bytes",
)
"""Why a record could not be decoded; the first stands for none."""

_NO_VALUE, _TRUNCATED, _UNKNOWN_VERSION, _BAD_VARINT, _NULL, _COUNT, _BAD_UTF8, _TRAILING = range(1, len(REASONS))

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_DIGITS = np.array([i for i in range(36) if i not in (8, 13, 18, 23)])

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Decoder:
    """Decodes one kind of record, as its JSON schema describes it.  Without state between calls.

    Attributes:
        arrow_type: what a call returns: a struct of all fields that are made, and ``decode_error``, one of `REASONS`, null where the record
            could be decoded.  Where it could not, all fields are null.
    """

    def __init__(self, schema: dict[str, Any], only: Collection[str] | None = None) -> None:
        """
        Args:
            schema: as ``clientscope.records.codec.schema`` returns it.
            only: what to make columns of, as in `compile_schema`. All is read and bounded; of the strings, those that are made are
                checked to be UTF-8.

        Raises:
            ValueError: the schema uses a feature that can't be decoded, or has no such field.
        """
        self._struct = compile_schema(schema, only)
        self.arrow_type = pa.struct([*self._struct.arrow_type, pa.field("decode_error", pa.string())])

    def __call__(self, values: pa.Array | pa.ChunkedArray) -> pa.StructArray:
        """One row for each value, in order.  Bad bytes never raise."""
        reading = self.read(values)
        columns = reading.columns()
        if reading.refuse_bad_utf8():
            # Those records' strings are left out now, so the second time all are good.
            columns = reading.columns()
        reasons = pa.DictionaryArray.from_arrays(pa.array(reading.reasons, mask=reading.reasons == 0), pa.array(REASONS)).cast(pa.string())
        return pa.StructArray.from_arrays([*columns, reasons], fields=list(self.arrow_type))

    def read(self, values: pa.Array | pa.ChunkedArray) -> _Reading:
        """The first half of a call: every length checked, every position known, and no column made."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        reading = _Reading(self._struct, values.cast(pa.large_binary()))
        reading.read_all()
        return reading


@cache
def decoder(name: str, only: frozenset[str] | None = None) -> Decoder:
    """The decoder of a record of ours, by name; made once in each process."""
    return Decoder(schema(name), only)


class _Lanes:
    """Structs that are being read side by side: where each is, where its record ends, and which record that is."""

    __slots__ = ("end", "pos", "root")

    def __init__(self, pos: Ints, end: Ints, root: Ints) -> None:
        self.pos = pos
        self.end = end
        self.root = root

    def select(self, which: Ints | Mask) -> _Lanes:
        return _Lanes(self.pos[which], self.end[which], self.root[which])


class _Reading:
    """One batch while it is read: its bytes, each record's reason, and the positions and numbers found so far."""

    def __init__(self, struct: Struct, values: pa.LargeBinaryArray) -> None:
        self._struct = struct
        self._count = len(values)
        _, offsets_buffer, bytes_buffer = values.buffers()
        if self._count:
            offsets = np.frombuffer(offsets_buffer, np.int64)[values.offset : values.offset + self._count + 1]
        else:
            offsets = np.zeros(1, np.int64)
        first, last = int(offsets[0]), int(offsets[-1])
        self._home = last - first
        pad = max(inner.min_size for inner in struct.walk()) + max(np.dtype(code).itemsize for code in FIXED.values())
        self._data = np.zeros(self._home + pad, np.uint8)
        if self._home:
            self._data[: self._home] = np.frombuffer(bytes_buffer, np.uint8)[first:last]
        self._views = {
            code: np.ndarray((self._data.size - np.dtype(code).itemsize + 1,), code, self._data, strides=(1,)) for code in FIXED.values()
        }
        self._starts = offsets[:-1] - first
        self._ends = offsets[1:] - first
        self.reasons = np.zeros(self._count, np.int8)
        self.reasons[values.is_null().to_numpy(zero_copy_only=False)] = _NO_VALUE
        self._bad_utf8: list[Ints] = []
        # Per struct: one tuple of arrays for each field, for each time that lanes went through it.
        self._found: dict[Struct, dict[str, list[tuple[npt.NDArray[Any], ...]]]] = defaultdict(lambda: defaultdict(list))

    # Reading: lanes move on, positions and numbers are noted.

    def read_all(self) -> None:
        lanes = _Lanes(self._starts.copy(), self._ends.copy(), np.arange(self._count))
        self._bury(lanes, np.flatnonzero(self.reasons))
        version = self._fixed(lanes, FIXED["int16"])
        self._fail(lanes, version != 0, _UNKNOWN_VERSION)
        self._read_struct(self._struct, lanes)
        self._fail(lanes, (lanes.pos < lanes.end) & (self.reasons == 0), _TRAILING)

    def _read_struct(self, struct: Struct, lanes: _Lanes) -> None:
        found = self._found[struct]
        found[""].append((lanes.pos, lanes.root))
        for field in struct.fields:
            values = self._read_field(field, lanes)
            if field.made:
                found[field.name].append(values)
        self._skip_tags(lanes)

    def _read_field(self, field: Field, lanes: _Lanes) -> tuple[npt.NDArray[Any], ...]:
        if field.element is not None:
            return self._array(field, field.element, lanes)
        if field.type in FIXED:
            return (self._fixed(lanes, FIXED[field.type]) if field.made else self._span(lanes, np.dtype(FIXED[field.type]).itemsize),)
        if field.type == "uuid":
            return (self._span(lanes, 16),)
        return self._sized(lanes, field.nullable)

    def _array(self, field: Field, element: Struct, lanes: _Lanes) -> tuple[npt.NDArray[Any], ...]:
        count, null = self._length(lanes, field.nullable)
        beyond = count * element.min_size > lanes.end - lanes.pos
        if beyond.any():
            self._fail(lanes, beyond, _COUNT)
            count[beyond] = 0
        owners = np.flatnonzero(count > 0)
        inner, left = lanes.select(owners), count[owners]
        while owners.size:
            self._read_struct(element, inner)
            left = left - 1
            going = (left > 0) & (self.reasons[inner.root] == 0)
            if not going.all():
                lanes.pos[owners[~going]] = inner.pos[~going]
                owners, inner, left = owners[going], inner.select(going), left[going]
        self._bury(lanes, np.flatnonzero(self.reasons[lanes.root]))
        return count, null

    def _fixed(self, lanes: _Lanes, code: str) -> npt.NDArray[Any]:
        return self._views[code][self._span(lanes, np.dtype(code).itemsize)]

    def _span(self, lanes: _Lanes, size: int) -> Ints:
        """Where each lane's next ``size`` bytes begin."""
        short = lanes.pos + size > lanes.end
        if short.any():
            self._fail(lanes, short, _TRUNCATED)
        start = lanes.pos
        lanes.pos = start + size
        return start

    def _sized(self, lanes: _Lanes, nullable: bool) -> tuple[npt.NDArray[Any], ...]:
        """Start, stop and nullness of a compact string or bytes."""
        size, null = self._length(lanes, nullable)
        start = lanes.pos
        stop = start + size
        beyond = stop > lanes.end
        if beyond.any():
            self._fail(lanes, beyond, _TRUNCATED)
            stop[beyond] = start[beyond]
        lanes.pos = stop
        return start, stop, null

    def _length(self, lanes: _Lanes, nullable: bool) -> tuple[Ints, Mask]:
        """A compact length: one more than the length, or 0 for null, which counts as length 0."""
        length = self._varint(lanes) - 1
        null = length < 0
        if null.any():
            if not nullable:
                self._fail(lanes, null, _NULL)
            length[null] = 0
        return length, null

    def _varint(self, lanes: _Lanes) -> Ints:
        """An unsigned varint of at most five bytes."""
        value = self._data[self._span(lanes, 1)].astype(np.int64)
        more = np.flatnonzero(value >= 128)
        if more.size:
            self._longer_varint(lanes, value, more)
        return value

    def _longer_varint(self, lanes: _Lanes, value: Ints, more: Ints) -> None:
        value[more] &= 0x7F
        for shift in (7, 14, 21, 28):
            short = lanes.pos[more] >= lanes.end[more]
            if short.any():
                value[more[short]] = 0
                self._fail(lanes, more[short], _TRUNCATED)
                more = more[~short]
            byte = self._data[lanes.pos[more]].astype(np.int64)
            value[more] |= (byte & 0x7F) << shift
            lanes.pos[more] += 1
            more = more[byte >= 128]
            if not more.size:
                return
        value[more] = 0
        self._fail(lanes, more, _BAD_VARINT)

    def _skip_tags(self, lanes: _Lanes) -> None:
        """Tagged fields, which are all unknown in version 0, are skipped (KIP-482)."""
        count = self._varint(lanes)
        if not count.any():
            return
        beyond = count * 2 > lanes.end - lanes.pos
        if beyond.any():
            self._fail(lanes, beyond, _COUNT)
            count[beyond] = 0
        owners = np.flatnonzero(count > 0)
        inner, left = lanes.select(owners), count[owners]
        while owners.size:
            self._varint(inner)
            size = self._varint(inner)
            beyond = inner.pos + size > inner.end
            if beyond.any():
                self._fail(inner, beyond, _TRUNCATED)
                size[beyond] = 0
            inner.pos = inner.pos + size
            left = left - 1
            going = (left > 0) & (self.reasons[inner.root] == 0)
            if not going.all():
                lanes.pos[owners[~going]] = inner.pos[~going]
                owners, inner, left = owners[going], inner.select(going), left[going]
        self._bury(lanes, np.flatnonzero(self.reasons[lanes.root]))

    def _fail(self, lanes: _Lanes, which: Ints | Mask, reason: int) -> None:
        failed = np.flatnonzero(which) if which.dtype == np.bool_ else which
        roots = lanes.root[failed]
        self.reasons[roots[self.reasons[roots] == 0]] = reason
        self._bury(lanes, failed)

    def _bury(self, lanes: _Lanes, failed: npt.NDArray[Any]) -> None:
        lanes.pos[failed] = self._home
        lanes.end[failed] = self._data.size

    # Building: what was noted becomes columns.

    def columns(self) -> list[pa.Array]:
        """The columns of the records; not to be used where `refuse_bad_utf8` then finds something."""
        return self._columns(self._struct, np.arange(self._count), self.reasons != 0)

    def refuse_bad_utf8(self) -> bool:
        """Fail the records in which a string turned out to be none while the columns were made."""
        for roots in self._bad_utf8:
            self.reasons[roots] = _BAD_UTF8
        return bool(self._bad_utf8)

    def _columns(self, struct: Struct, order: npt.NDArray[Any], dead: Mask) -> list[pa.Array]:
        """
        Args:
            order: the lanes to take, in the order of their bytes.
            dead: which of those belong to a record that failed, and become null.
        """
        roots = self._take(struct, "", order)[1]
        return [self._column(struct, field, order, dead, roots) for field in struct.made]

    def _column(self, struct: Struct, field: Field, order: npt.NDArray[Any], dead: Mask, roots: Ints) -> pa.Array:
        parts = self._take(struct, field.name, order)
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
            return self._uuids(np.where(dead, self._home, parts[0]))
        start, stop, null = parts
        # A dead record's own start keeps the positions rising.
        start[dead] = stop[dead] = self._starts[roots[dead]]
        spans = self._slices(start, stop, null | dead)
        if field.type == "bytes":
            return spans.cast(pa.binary())
        try:
            return spans.cast(pa.string())
        except pa.ArrowInvalid:
            self._bad_utf8.append(roots[_invalid_utf8(spans)])
            return pa.nulls(len(spans), pa.string())

    def _elements(self, struct: Struct) -> list[pa.Array]:
        if struct not in self._found:
            return [pa.nulls(0, field.arrow_type) for field in struct.made]
        found = self._found[struct][""]
        start = np.concatenate([part[0] for part in found])
        alive = np.flatnonzero(self.reasons[np.concatenate([part[1] for part in found])] == 0)
        # Elements were read level by level, each level in order; the order of their bytes is the order in which they belong.
        order = alive[np.argsort(start[alive], kind="stable")]  # which merges what is sorted already, in a tenth of the time
        return self._columns(struct, order, np.zeros(order.size, np.bool_))

    def _take(self, struct: Struct, name: str, order: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        return [np.concatenate(parts)[order] for parts in zip(*self._found[struct][name], strict=True)]

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
