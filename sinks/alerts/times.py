"""Times in records, which may be out of range."""

from __future__ import annotations

from datetime import UTC, datetime

_LAST_MS = 253_402_300_799_000 - 86_400_000
"""A day before the end of the year 9999, so that every time zone can show it."""


def moment(ms: int) -> datetime:
    """In UTC; what lies beyond the years 1970 to 9999 becomes the first or last of them."""
    return datetime.fromtimestamp(min(max(ms, 0), _LAST_MS) / 1000, UTC)


def iso(ms: int) -> str:
    """To the millisecond, as RFC 3339 has it."""
    return moment(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")
