"""Times at which clients were last seen, in a small file beside the checkpoints: connection records are kept for a week, clients for 30
days.

A file that is missing or damaged ends nothing early: every client counts as seen at that start.
"""

from __future__ import annotations

import json
import logging
from typing import NamedTuple

from clientscope.stores.store_path import AnyPath
from clientscope.stores.trees import write_atomically
from streaming.findings.retention import DAY_MS, LastSeen

FILE = "seen.json"
_VERSION = "v1"
_CONNECTIONS_DAYS = 7
"""Retention of ``clientscope.connections``."""

log = logging.getLogger(__name__)


class Noted(NamedTuple):
    """What the file says.

    Attributes:
        since_ms: when it was written, and so from when on connection records have to be read; at most a week ago.
    """

    seen: LastSeen
    since_ms: int


def read(folder: AnyPath, now_ms: int) -> Noted:
    """What an earlier process noted."""
    try:
        noted = json.loads((folder / FILE).read_text("utf-8"))[_VERSION]
        times = {str(client): int(seen_ms) for client, seen_ms in noted["seen"].items()}
        written_ms = min(int(noted["written_ms"]), now_ms)
    except FileNotFoundError:
        return Noted(LastSeen(floor_ms=now_ms), now_ms)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        log.warning("%s can't be read (%s): every client counts as seen now", folder / FILE, type(error).__name__)
        return Noted(LastSeen(floor_ms=now_ms), now_ms)
    readable_ms = now_ms - _CONNECTIONS_DAYS * DAY_MS
    return Noted(LastSeen(times, readable_ms if written_ms < readable_ms else 0), max(written_ms, readable_ms))


def write(folder: AnyPath, times: dict[str, int], now_ms: int) -> None:
    """Notes it for the next process."""
    write_atomically(folder / FILE, json.dumps({_VERSION: {"written_ms": now_ms, "seen": times}}, separators=(",", ":")))
