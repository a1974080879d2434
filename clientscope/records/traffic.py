"""Bytes per second of single connections, as ``ClientConnectionRecord.Traffic`` has them in a heartbeat.

Four bytes say over how many milliseconds was measured, and show that this gateway measures at all.  Then each connection through which
bytes passed has 16: its id as int64, and as uint32 the bytes per second from the client and to it.  What isn't listed was idle.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

MOST_CONNECTIONS = 20_000
"""Connections in one heartbeat, 320 KB; those with the most bytes are listed."""

_HEAD = struct.Struct(">I")
_ROW = struct.Struct(">qII")
_MOST_RATE = 2**32 - 1

Passed = tuple[int, int]
"""Bytes from a client, and to it."""


def pack(measured_ms: int, passed: Mapping[int, Passed]) -> bytes:
    """The field's value.

    Args:
        measured_ms: for how long bytes were counted.
        passed: bytes of each connection by its id.
    """
    listed = passed.items()
    if len(listed) > MOST_CONNECTIONS:
        listed = dict(sorted(listed, key=lambda item: -sum(item[1]))[:MOST_CONNECTIONS]).items()
    per_second = 1000 / max(1, measured_ms)
    rows = (_ROW.pack(number, *(min(_MOST_RATE, round(count * per_second)) for count in counts)) for number, counts in listed)
    return b"".join((_HEAD.pack(min(_MOST_RATE, measured_ms)), *rows))


def measured(value: bytes | None) -> bool:
    """Whether a heartbeat says anything of traffic."""
    return value is not None and len(value) >= _HEAD.size


def unpack(value: bytes | None) -> Iterable[tuple[int, int, int]]:
    """Connection, bytes per second from its client, and to it; at most `MOST_CONNECTIONS`, those that are whole."""
    rows = (value or b"")[_HEAD.size :]
    return _ROW.iter_unpack(rows[: min(MOST_CONNECTIONS, len(rows) // _ROW.size) * _ROW.size])
