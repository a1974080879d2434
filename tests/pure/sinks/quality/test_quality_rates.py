"""The rate of the last hour, by Kafka's clock."""

from __future__ import annotations

import pytest

from sinks.quality.rates import LastHour


def test_the_rate_is_that_of_the_last_hour_by_kafkas_clock() -> None:
    hour = LastHour()
    reported = [hour.ratio(minute * 60_000, 1_000) for minute in range(1, 71)]
    assert reported[:11] == [None] * 11, "ten minutes aren't known before"
    assert reported[11:] == [pytest.approx(1)] * 59
    assert hour.ratio(71 * 60_000, 10_900) == pytest.approx(10)
    assert hour.ratio(72 * 60_000, 0) == pytest.approx(100 / (100 + (59 * 1_000 + 10_900) / 60), rel=0.02)
    assert hour.ratio(72 * 60_000, 5) is None, "no time has passed"
    quiet = LastHour()
    reported = [quiet.ratio(minute * 60_000, 1) for minute in range(1, 21)]
    assert quiet.ratio(21 * 60_000, 500) == pytest.approx(600 / 101), "a few clients make no storm"
