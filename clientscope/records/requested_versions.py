"""Versions of APIs that a client requested, as ``ClientConnectionRecord.RequestedVersions`` has them: four bytes each, in ascending order.

Two int16 each, api_key and api_version. Within a process such a pair is one number, `pair`.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable

MOST_VERSIONS = 64
"""Pairs of one connection; a client uses 10 to 20. Of a record with more only so many are read."""

_SIZE = 4


def pair(api_key: int, api_version: int) -> int:
    """One number for both, each an int16: what `struct` reads from a request's head as one uint32."""
    return (api_key & 0xFFFF) << 16 | (api_version & 0xFFFF)


def pack(pairs: Collection[int]) -> bytes:
    """The field's value."""
    return struct.pack(f">{len(pairs)}I", *sorted(pairs))


def bounded(value: bytes | None) -> bytes:
    """What may be kept of a record's value: the pairs that are whole, at most `MOST_VERSIONS`."""
    value = value or b""
    return value[: min(MOST_VERSIONS, len(value) // _SIZE) * _SIZE]


def unpack(value: bytes | None) -> Iterable[tuple[int, int]]:
    """(api_key, api_version) of each pair of `bounded`."""
    return struct.iter_unpack(">hh", bounded(value))
