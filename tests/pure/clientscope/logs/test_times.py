"""Times in log lines."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientscope.logs.times import written_ms

AT = int(datetime(2026, 11, 24, 19, 34, 32, tzinfo=UTC).timestamp()) * 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[2026-11-24 19:34:32,360] INFO ProducerConfig values: ", AT + 360),
        ("2026-11-24T19:34:32.123456789Z stdout F [2026-11-24 20:34:32,360] INFO", AT + 123),
        ("2026-11-24T20:34:32.5+01:00 x", AT + 500),
        ("2026-11-24T14:34:32-0500 x", AT),
        ("%7|1795548872.250|CONF|orders#producer-1| [thrd:app]: Client configuration:", 1_795_548_872_250),
        ("1795548872", 1_795_548_872_000),
        ("1795548872250", 1_795_548_872_250),
        ("1795548872250000", 1_795_548_872_250),
        ("no time at all", None),
        ("2026-13-24 19:34:32 INFO", None),
        ("123456789012", None),
        ("x" * 400 + "2026-11-24 19:34:32", None),
    ],
)
def test_layouts(text: str, expected: int | None) -> None:
    assert written_ms(text) == expected


def test_a_time_without_a_zone_is_in_the_zone_that_is_given() -> None:
    assert written_ms("2026-11-24 20:34:32,360", ZoneInfo("Europe/Berlin")) == AT + 360


@given(st.text())
def test_any_text(text: str) -> None:
    written_ms(text)
    written_ms(f"2026-11-24 19:34:32{text}")
