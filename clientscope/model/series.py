"""Series of the gauges: their keys in a topic, their size in memory, and how many a gateway may have.

A client chooses its name and version, so their number needs a bound. A gateway counts what is beyond it as one series; the job has room for
twice as many, so it never has to combine any.
"""

from __future__ import annotations

import json
from functools import lru_cache

OTHER = "other"
"""Name and version of what is counted together, beyond the bound."""

MOST_SERIES = 10_000
"""Series (listener, name, version) of one gateway that are counted separately."""

MOST_BYTES = 2_000_000
"""Bytes that they may take in a reader's memory, by `series_bytes`."""

_FIXED_BYTES = 140
"""Beside the key's own bytes: two bytes objects, five 64-bit numbers and a flag, an entry of a dict (measured on CPython 3.11)."""


@lru_cache(4_096)  # a fleet has few, and each of its gateways lists them with each heartbeat: they share one key, too
def series_key(listener: str, name: str, version: str) -> bytes:
    """A series within its gateway, as compact JSON without the brackets: the end of its key in ``clientscope.gauges``."""
    return json.dumps([listener, name, version], separators=(",", ":"), ensure_ascii=False)[1:-1].encode("utf-8", "replace")


def series_bytes(key: bytes) -> int:
    """Memory that a series takes in a process that keeps its newest counts."""
    return len(key) + _FIXED_BYTES
