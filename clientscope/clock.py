"""Times in the form that records use, and as text."""

from __future__ import annotations

import time

FUTURE_MS = 5 * 60_000
_PAST_MS = 24 * 60 * 60_000


def now_ms() -> int:
    """Milliseconds since the epoch, UTC."""
    return time.time_ns() // 1_000_000


def clamped(timestamp_ms: int, appended_ms: int) -> int:
    """A gateway's time, or Kafka's where the former can't be right: five minutes ahead of it, or a day behind (F29)."""
    return timestamp_ms if appended_ms - _PAST_MS <= timestamp_ms <= appended_ms + FUTURE_MS else appended_ms


def utc(ms: int | None) -> str:
    """A time as text, to the second; empty for none."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(ms // 1000)) if ms else ""
