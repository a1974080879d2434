"""Versions of APIs that a client requested, as processes hold those of thousands of connections: four bytes each, in ascending order.

Two int16 each, api_key and api_version. A single pair is one number, `pair`.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable

MOST_VERSIONS = 64
"""Pairs of one connection; a client uses 10 to 20."""


def pair(api_key: int, api_version: int) -> int:
    """One number for both, each an int16: what `struct` reads from a request's head as one uint32."""
    return (api_key & 0xFFFF) << 16 | (api_version & 0xFFFF)


def pack(pairs: Collection[int]) -> bytes:
    """As bytes."""
    return struct.pack(f">{len(pairs)}I", *sorted(pairs))


def unpack(value: bytes) -> Iterable[tuple[int, int]]:
    """(api_key, api_version) of each pair."""
    return struct.iter_unpack(">hh", value)
