"""``--from``, ``--to`` and ``--last`` of ``clientscope history``: ranges by the minute, and clear errors."""

from __future__ import annotations

import pytest

from clientscope.errors import SettingsError
from clientscope.report.history.ranges import span

NOW_MS = 1_790_000_040_000
"""2026-09-21 14:14 UTC."""
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("first", "to", "last", "expected"),
    [
        ("", "", "", (None, None)),
        ("", "", "90m", (NOW_MS - 90 * MINUTE_MS, None)),
        ("", "", "2h", (NOW_MS - 2 * HOUR_MS, None)),
        ("", "", "1w", (NOW_MS - 7 * DAY_MS, None)),
        ("2026-09-21T14:10", "2026-09-21T14:13", "", (NOW_MS - 4 * MINUTE_MS, NOW_MS - MINUTE_MS + 1_000)),
        ("2026-09-21 16:10+02:00", "", "", (NOW_MS - 4 * MINUTE_MS, None)),
        ("2026-09-20", "2026-09-20", "", (NOW_MS - 14 * HOUR_MS - 14 * MINUTE_MS - DAY_MS, NOW_MS - 14 * HOUR_MS - 14 * MINUTE_MS)),
        ("2026-09-21T14:10:00+00:00", "", "", (NOW_MS - 4 * MINUTE_MS, None)),
        ("", "2026-09-21T14:13:59", "", (None, NOW_MS)),
        ("", "9999-12-30", "", (None, None)),
    ],
)
def test_ranges(first: str, to: str, last: str, expected: tuple[int | None, int | None]) -> None:
    assert span(first, to, last, NOW_MS) == expected


def test_the_second_that_is_compared_with_comes_before_the_range() -> None:
    assert span("2026-09-21T14:10", "", "", NOW_MS, is_before=True) == (NOW_MS - 4 * MINUTE_MS + 1_000, None)
    assert span("2026-09-21", "", "", NOW_MS, is_before=True) == span("2026-09-21", "", "", NOW_MS), "a day begins with its first second"


@pytest.mark.parametrize(
    ("first", "to", "last", "message"),
    [
        ("yesterday", "", "", "--from: not a date and time: 'yesterday'"),
        ("", "10:00", "", "--to: not a date and time: '10:00'"),
        ("", "", "2 hours", "--last: not a duration: '2 hours'"),
        ("", "", "0h", "--last: not a duration"),
        ("2026-09-21T10:00", "", "2h", "--last can't be used with --from or --to"),
        ("2026-09-21T14:15", "", "", "--from must come before --to, and before now"),
        ("2026-09-21T12:00", "2026-09-21T11:00", "", "--from must come before --to"),
        ("x" * 5_000, "", "", "--from: not a date and time: 'x{40}'$"),
        ("0001-01-01T00:00+23:59", "", "", "--from: not a date and time"),
    ],
)
def test_what_is_no_range(first: str, to: str, last: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        span(first, to, last, NOW_MS)
    assert caught.value.hint
