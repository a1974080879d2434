"""The reader of a batch of records: all advance together, one field at a time.

There is no loop over records: a *lane* is one struct that is being read (a record, or one element of an array), and every step is numpy
over all lanes at once. Elements are read level by level: the first of every array, then the second, and so on.

A lane that fails is moved to ``home``, zeros behind the batch's bytes, where further reads do no harm; its record keeps the first reason.
Strings are not copied while reading: only their positions are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from udfs.decoding.layout import FIXED, LayoutField, Struct
from udfs.decoding.trusted_runs import most_ahead, read_run

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
    "too_many_settings",
)
"""Reasons why a record could not be decoded; the first means none."""

_NO_VALUE, _TRUNCATED, _UNKNOWN_VERSION, _BAD_VARINT, _NULL, _COUNT, BAD_UTF8, _TRAILING, _TOO_MANY = range(1, len(REASONS))

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_LARGEST_FIXED = 16

Values = tuple[npt.NDArray[Any], ...]
"""What was found of one field, an array each, one item a lane: numbers; or positions (start, stop, null); or counts (count, null)."""


class Lanes:
    """Structs that are being read side by side: where each is, where its record ends, and which record that is."""

    __slots__ = ("end", "pos", "root")

    def __init__(self, pos: Ints, end: Ints, root: Ints) -> None:
        self.pos = pos
        self.end = end
        self.root = root

    def select(self, which: Ints | Mask) -> Lanes:
        return Lanes(self.pos[which], self.end[which], self.root[which])


class RecordReading:
    """One batch, read: each record's reason, and the positions and numbers of all fields.

    Attributes:
        reasons: for each record one of `REASONS`, by its place there.
        data: the batch's bytes, and zeros from ``home`` on.
        starts: where each record begins.
        found: per struct, and field, what was found; once for each time that lanes went through it. Under "", where each lane began, and
            its record. Of tagged fields also which lanes had it.
    """

    def __init__(self, struct: Struct, values: pa.LargeBinaryArray, most: int | None = None) -> None:
        """Reads it.

        Args:
            most: elements of an array of the record's own; None for as many as its bytes can hold. Each costs a step, for all records of
                the batch.
        """
        self.struct, self._most = struct, most
        self.count = len(values)
        _, offsets_buffer, bytes_buffer = values.buffers()
        if self.count:
            offsets = np.frombuffer(offsets_buffer, np.int64)[values.offset : values.offset + self.count + 1]
        else:
            offsets = np.zeros(1, np.int64)
        first, last = int(offsets[0]), int(offsets[-1])
        self.home = last - first
        pad = max(max(inner.min_size, *map(most_ahead, inner.runs)) for inner in struct.walk()) + _LARGEST_FIXED
        self.data = np.zeros(self.home + pad, np.uint8)
        if self.home:
            self.data[: self.home] = np.frombuffer(bytes_buffer, np.uint8)[first:last]
        self._views = {
            code: np.ndarray((self.data.size - np.dtype(code).itemsize + 1,), code, self.data, strides=(1,)) for code in FIXED.values()
        }
        self.starts = offsets[:-1] - first
        self._ends = offsets[1:] - first
        self.reasons = np.zeros(self.count, np.int8)
        self.reasons[values.is_null().to_numpy(zero_copy_only=False)] = _NO_VALUE
        self.found: dict[Struct, dict[str, list[Values]]] = defaultdict(lambda: defaultdict(list))
        self._read()

    def _read(self) -> None:
        lanes = Lanes(self.starts.copy(), self._ends.copy(), np.arange(self.count))
        self._bury(lanes, np.flatnonzero(self.reasons))
        self._fail(lanes, self._fixed(lanes, FIXED["int16"]) != 0, _UNKNOWN_VERSION)
        self._read_struct(self.struct, lanes)
        self._fail(lanes, (lanes.pos < lanes.end) & (self.reasons == 0), _TRAILING)

    def _read_struct(self, struct: Struct, lanes: Lanes) -> None:
        found = self.found[struct]
        found[""].append((lanes.pos, lanes.root))
        tags_read = False
        for run in struct.runs:
            tags = run is struct.runs[-1] and not struct.has_tagged_columns
            if run[0].element is None and (quick := read_run(self.data, self._views, run, lanes.pos, lanes.end, tags)) is not None:
                parts, lanes.pos = quick
                tags_read = tags
            else:
                parts = [self._read_field(field, lanes) for field in run]
            for field, values in zip(run, parts, strict=True):
                if field.made:
                    found[field.name].append(values)
        if not tags_read:
            self._read_tags(struct, lanes)

    def _read_field(self, field: LayoutField, lanes: Lanes) -> Values:
        if field.element is not None:
            return self._array(field, field.element, lanes)
        if field.type in FIXED:
            return (self._fixed(lanes, FIXED[field.type]) if field.made else self._span(lanes, np.dtype(FIXED[field.type]).itemsize),)
        if field.type == "uuid":
            return (self._span(lanes, 16),)
        return self._sized(lanes, field.nullable)

    def _array(self, field: LayoutField, element: Struct, lanes: Lanes) -> Values:
        count, null = self._length(lanes, field.nullable)
        if self._most is not None and (too_many := count > self._most).any():
            self._fail(lanes, too_many, _TOO_MANY)
            count[too_many] = 0
        for _, inner in self._elements(lanes, count, element.min_size):
            self._read_struct(element, inner)
        return count, null

    def _elements(self, lanes: Lanes, count: Ints, least: int) -> Iterator[tuple[Ints, Lanes]]:
        """First the first elements of all lanes, then the second ones of those that have two, and so on.

        Args:
            count: how many each lane says it has; set to 0 where the bytes can't hold them.
            least: how many bytes an element takes at least.

        Yields:
            which of the lanes have such an element, and lanes positioned at its start, to be moved behind it.
        """
        beyond = count * least > lanes.end - lanes.pos
        if beyond.any():
            self._fail(lanes, beyond, _COUNT)
            count[beyond] = 0
        owners = np.flatnonzero(count > 0)
        inner, left = lanes.select(owners), count[owners]
        while owners.size:
            yield owners, inner
            left = left - 1
            going = (left > 0) & (self.reasons[inner.root] == 0)
            if not going.all():
                lanes.pos[owners[~going]] = inner.pos[~going]
                owners, inner, left = owners[going], inner.select(going), left[going]
        self._bury(lanes, np.flatnonzero(self.reasons[lanes.root]))

    def _fixed(self, lanes: Lanes, code: str) -> npt.NDArray[Any]:
        return self._views[code][self._span(lanes, np.dtype(code).itemsize)]

    def _span(self, lanes: Lanes, size: int) -> Ints:
        """Where each lane's next ``size`` bytes begin."""
        short = lanes.pos + size > lanes.end
        if short.any():
            self._fail(lanes, short, _TRUNCATED)
        start = lanes.pos
        lanes.pos = start + size
        return start

    def _sized(self, lanes: Lanes, nullable: bool) -> Values:
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

    def _length(self, lanes: Lanes, nullable: bool) -> tuple[Ints, Mask]:
        """A compact length: one more than the length, or 0 for null, which counts as length 0."""
        length = self._varint(lanes) - 1
        null = length < 0
        if null.any():
            if not nullable:
                self._fail(lanes, null, _NULL)
            length[null] = 0
        return length, null

    def _varint(self, lanes: Lanes) -> Ints:
        """An unsigned varint of at most five bytes."""
        value = self.data[self._span(lanes, 1)].astype(np.int64)
        more = np.flatnonzero(value >= 128)
        if more.size:
            self._longer_varint(lanes, value, more)
        return value

    def _longer_varint(self, lanes: Lanes, value: Ints, more: Ints) -> None:
        value[more] &= 0x7F
        for shift in (7, 14, 21, 28):
            short = lanes.pos[more] >= lanes.end[more]
            if short.any():
                value[more[short]] = 0
                self._fail(lanes, more[short], _TRUNCATED)
                more = more[~short]
            byte = self.data[lanes.pos[more]].astype(np.int64)
            value[more] |= (byte & 0x7F) << shift
            lanes.pos[more] += 1
            more = more[byte >= 128]
            if not more.size:
                return
        value[more] = 0
        self._fail(lanes, more, _BAD_VARINT)

    def _read_tags(self, struct: Struct, lanes: Lanes) -> None:
        """Tagged fields (KIP-482): those that this version knows are read, and others skipped by their size.

        Like Kafka's generated readers, and kafka-python's, this one reads a known field's value by its type, whatever size precedes it.
        """
        given: dict[str, Values] = {}
        for field in struct.tagged:
            if field.made:
                given[field.name] = (*self._absent(field, lanes), np.zeros(lanes.pos.size, np.bool_))
                self.found[struct][field.name].append(given[field.name])
        count = self._varint(lanes)
        if not count.any():
            return
        for owners, inner in self._elements(lanes, count, 2):
            tag, size = self._varint(inner), self._varint(inner)
            for field in struct.tagged:
                which = np.flatnonzero(tag == field.tag)
                if which.size:
                    some = inner.select(which)
                    values = self._read_field(field, some)
                    inner.pos[which], inner.end[which], size[which] = some.pos, some.end, 0
                    for column, value in zip(given.get(field.name, ()), (*values, True), strict=False):
                        column[owners[which]] = value
            beyond = inner.pos + size > inner.end
            if beyond.any():
                self._fail(inner, beyond, _TRUNCATED)
                size[beyond] = 0
            inner.pos = inner.pos + size

    def _absent(self, field: LayoutField, lanes: Lanes) -> Values:
        """Values as if each lane had an empty one at its position, so that positions rise."""
        if field.type in FIXED:
            return (np.zeros(lanes.pos.size, FIXED[field.type]),)
        if field.type == "uuid":
            return (np.full(lanes.pos.size, self.home),)
        return lanes.pos.copy(), lanes.pos.copy(), np.zeros(lanes.pos.size, np.bool_)

    def _fail(self, lanes: Lanes, which: Ints | Mask, reason: int) -> None:
        failed = np.flatnonzero(which) if which.dtype == np.bool_ else which
        roots = lanes.root[failed]
        self.reasons[roots[self.reasons[roots] == 0]] = reason
        self._bury(lanes, failed)

    def _bury(self, lanes: Lanes, failed: npt.NDArray[Any]) -> None:
        lanes.pos[failed] = self.home
        lanes.end[failed] = self.data.size
