"""Current time in the form that records use."""

from __future__ import annotations

import time


def now_ms() -> int:
    """Milliseconds since the epoch, UTC."""
    return time.time_ns() // 1_000_000
