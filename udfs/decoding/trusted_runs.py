"""Fast path for a run of fields: every bound is checked once, at the end of the run.

`udfs.decoding.record_reader` checks each field, and says which is wrong.  Here all fields of a run are read on trust, from bytes that
are there in any case (`most_ahead`).  Then one check decides whether that was right: lengths of one byte, or two; no null where none may
be; no tagged fields; and an end within the record.  Positions only rise, so what ends within the record was in it throughout.  Otherwise
the record reader reads the record again, and finds the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from udfs.decoding.layout import FIXED, WIDTH, LayoutField

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_LONGEST = 2 + 0x3FFF
"""What has a length of two bytes, with these."""


def most_ahead(fields: Sequence[LayoutField]) -> int:
    """How many bytes behind its beginning a run looks at, at most, whatever they are."""
    return sum(WIDTH[field.type] if _is_fixed(field) else _LONGEST for field in fields if field.element is None) + 1


def _is_fixed(field: LayoutField) -> bool:
    return field.type in FIXED or field.type == "uuid"


def read_run(
    data: Bytes, views: Mapping[str, npt.NDArray[Any]], fields: Sequence[LayoutField], pos: Ints, end: Ints, tags: bool
) -> tuple[list[tuple[npt.NDArray[Any], ...]], Ints] | None:
    """What was found of each field, as `udfs.decoding.record_reader.Values`, and where the run ends; or None for the long way.

    Args:
        data: with `most_ahead` bytes behind each ``pos``.
        views: the same bytes as numbers of each kind, from each byte on.
        fields: none of them an array.
        tags: whether the struct's tagged fields, of which there must be none, come behind the run.
    """
    return _read(data, views, fields, pos, end, tags) or _read(data, views, fields, pos, end, tags, two_bytes=True)


def _read(
    data: Bytes,
    views: Mapping[str, npt.NDArray[Any]],
    fields: Sequence[LayoutField],
    pos: Ints,
    end: Ints,
    tags: bool,
    two_bytes: bool = False,
) -> tuple[list[tuple[npt.NDArray[Any], ...]], Ints] | None:
    found: list[tuple[npt.NDArray[Any], ...]] = []
    wrong: Bytes = np.zeros(pos.size, np.uint8)  # from 128 on where it is
    at, ahead = pos, 0  # where the run has come to, and how many bytes further
    for field in fields:
        here, ahead = at + ahead if ahead else at, 0
        if _is_fixed(field):
            found.append((views[FIXED[field.type]][here] if field.type in FIXED else here,) if field.made else ())
            at, ahead = here, WIDTH[field.type]
            continue
        length: npt.NDArray[Any] = data.take(here)
        start = here + 1
        if two_bytes:
            longer = length >> 7
            second = data.take(start)
            wrong |= second & (longer << 7)
            start = start + longer
            length = (length & 0x7F) + ((second & 0x7F) * longer).astype(np.int64) * 128
            null = length == 0
            at = start + np.maximum(length - 1, 0)
        else:
            wrong |= length
            null = length == 0
            at = here + np.maximum(length, 1)
        if not field.nullable:
            wrong |= null.view(np.uint8) << 7
        found.append((start, at, null) if field.made else ())
    if tags:
        here, ahead = at + ahead if ahead else at, 1
        if data.take(here).any():
            return None
        at = here
    at = at + ahead
    if wrong.size and (wrong.max() >= 0x80 or (at > end).any()):
        return None
    return found, at
