"""Shape of clients' own metrics: what of a client's push stays the same in its next, so that only the first ones are judged in full.

A client pushes the same names and labels each time; times and numbers alone differ, and each of them takes eight bytes. A shape is where
those are, and a digest of all other bytes. A push that fits it would be judged as the one that the shape was made of, so its record is
put together from the same places. Whatever doesn't fit is judged in full (`clientscope.policy.telemetry`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from itertools import chain, islice
from sys import intern

from clientscope.model.telemetry import BUFFER_MEMORY

MOST_SHAPE_POINTS = 1_000
"""Numbers of a push that has a shape: Java's have 142, and some six more for each partition of a consumer."""

_LAYOUTS = 128
"""Layouts that are ready for use: one of Java's takes 19 KB, and the longest 128 KB. To make one again takes some 10 µs."""

_ITSELF_BYTES = 1_000
"""Of a shape, and of what is remembered with it."""

_OBJECT_BYTES = 41
"""Of each bytes object and the place where it is."""

_FIXED64, _SIZED = 1, 2
_RESOURCE_METRICS = _RESOURCE = _SCOPE = _NAME = _POINT = 1 << 3 | _SIZED
_SCOPE_METRICS = _METRIC = _DESCRIPTION = 2 << 3 | _SIZED
_UNIT = 3 << 3 | _SIZED
_DATA = {5 << 3 | _SIZED, 7 << 3 | _SIZED}
"""A metric's gauge and sum."""

_NUMBERS = {2 << 3 | _FIXED64, 3 << 3 | _FIXED64, 4 << 3 | _FIXED64, 6 << 3 | _FIXED64}
"""A point's start_time_unix_nano, time_unix_nano, as_double and as_int."""

_NUMBER_BYTES = 9
"""Of one of these, with its tag."""

_MOST_SHIFT = 28
"""Of a varint of 32 bits."""


@dataclass(frozen=True, slots=True)
class PushShape:
    """What the pushes of one client have in common, by the tags of OTLP's metrics.proto.

    Attributes:
        layout: sizes of four pieces for each point, as `struct` reads them: what isn't recorded, the head of its metric or of itself, its
            number and times, and what is behind them.
        left_out: all that isn't recorded, with ``mark`` wherever ``resource`` is: Java repeats it for each metric.
        digest: of the rest, but numbers and times.
        start: a record's bytes before its metrics.
        heads: as they are recorded; empty if they are as they were pushed. librdkafka's have descriptions, which aren't recorded.
        has_setting: whether a number may show a setting.
    """

    layout: str
    left_out: bytes
    mark: bytes
    resource: bytes
    digest: bytes
    start: bytes
    heads: tuple[bytes, ...]
    has_setting: bool

    @classmethod
    def of(cls, unpacked: bytes, record: bytes) -> PushShape | None:
        """The shape of a push that was judged in full; None if it has none.

        It has none where labels of its points were replaced or removed, resources differ, or no known client lays it out so. Of its points,
        the record has the same, in the same order.

        Args:
            record: what was made of it.
        """
        try:
            layout, written_layout = _layout(unpacked), _layout(record)
        except (ValueError, IndexError):
            return None
        cut, written = _cutter(layout).unpack(unpacked), struct.Struct(written_layout).unpack(record)
        if any(written[4::4]) or (written[2::4], written[3::4]) != (cut[2::4], cut[3::4]):
            return None
        left_out, resource = b"".join(cut[::4]), _first_resource(unpacked)
        marks = {*range(256)} - {*left_out.replace(resource, b"")}
        if not marks:
            return None
        mark, heads = bytes([min(marks)]) if resource else b"", written[1::4]
        return cls(
            layout,
            left_out.replace(resource, mark),
            mark,
            resource,
            _digest(cut),
            written[0],
            () if heads == cut[1::4] else heads,
            BUFFER_MEMORY.encode() in unpacked,
        )

    def record(self, unpacked: bytes) -> bytes | None:
        """The record of another push; None if that push doesn't fit."""
        cutter = _cutter(self.layout)
        if len(unpacked) != cutter.size:
            return None
        cut = cutter.unpack(unpacked)
        if b"".join(cut[::4]) != self.left_out.replace(self.mark, self.resource) or _digest(cut) != self.digest:
            return None
        recorded = list(cut)
        del recorded[::4]
        if self.heads:
            recorded[::3] = self.heads
        return self.start + b"".join(recorded)

    @property
    def size(self) -> int:
        """Bytes of memory, at most: clients whose labels are as long share their layout."""
        texts = (self.layout, self.left_out, self.resource, self.start, *self.heads)
        return _ITSELF_BYTES + sum(map(len, texts)) + _OBJECT_BYTES * len(self.heads)


_cutter = lru_cache(maxsize=_LAYOUTS)(struct.Struct)


def _digest(cut: tuple[bytes, ...]) -> bytes:
    """The same only if nothing differs but numbers and times, since the layout says where each piece is."""
    tags = b"".join(cut[2::4])[::_NUMBER_BYTES]
    return sha256(b"".join((*cut[1::4], *cut[3::4], tags))).digest()


def _first_resource(data: bytes) -> bytes:
    """Empty if there is none."""
    inside, end = _field(_RESOURCE_METRICS, data, 0, len(data))
    return data[inside : _behind(_RESOURCE, data, inside, end)]


def _layout(data: bytes) -> str:
    """See `PushShape`.

    Raises:
        ValueError, IndexError: no point, too many of them, or not as Java and librdkafka lay out metrics.
    """
    pieces = list(islice(_pieces(data), MOST_SHAPE_POINTS + 1))
    if not 0 < len(pieces) <= MOST_SHAPE_POINTS:
        raise ValueError
    return intern("".join(f"{size}s" for size in chain.from_iterable(pieces)))


def _pieces(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Sizes of the pieces of each point; all together are all of the data. No head has a number of a point."""
    done = at = 0
    while at < len(data):
        inside, end = _field(_RESOURCE_METRICS, data, at, len(data))
        metric, at = _field(_SCOPE_METRICS, data, _behind(_RESOURCE, data, inside, end), end)
        if at != end:
            raise ValueError
        metric = _behind(_SCOPE, data, metric, end)
        while metric < end:
            head = metric
            inside, metric = _field(_METRIC, data, head, end)
            _, inside = _field(_NAME, data, inside, metric)
            inside = _behind(_UNIT, data, _behind(_DESCRIPTION, data, inside, metric), metric)
            if data[inside] not in _DATA:
                raise ValueError
            point, points_end = _field(data[inside], data, inside, metric)
            while point < points_end and data[point] == _POINT:
                numbers, point = _field(_POINT, data, point, points_end)
                rest = numbers
                while rest < point and data[rest] in _NUMBERS:
                    rest += _NUMBER_BYTES
                if rest > point:
                    raise ValueError
                behind = point if point < points_end and data[point] == _POINT else metric
                yield head - done, numbers - head, rest - numbers, behind - rest
                head = done = behind
    if done != len(data):
        raise ValueError


def _behind(tag: int, data: bytes, at: int, limit: int) -> int:
    """Where a field that may be there ends."""
    return _field(tag, data, at, limit)[1] if data[at] == tag else at


def _field(tag: int, data: bytes, at: int, limit: int) -> tuple[int, int]:
    """Where the content of a field begins and ends.

    Raises:
        ValueError, IndexError: another field is there, or it ends beyond its message.
    """
    if data[at] != tag:
        raise ValueError
    at += 1
    size = shift = 0
    while (byte := data[at]) > 0x7F and shift <= _MOST_SHIFT:
        size |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    size |= byte << shift
    at += 1
    if at + size > limit:
        raise ValueError
    return at, at + size
