"""Times at which records were appended, and up to which partitions have been read: what test_gauges_catching_up.py does not play."""

from __future__ import annotations

import pytest

from streaming.gauges import ReadClock, read_clock
from streaming.gauges.read_clock import RETURN_S


def looking(clock: ReadClock, ends: dict[int, int], begin: float, end: float) -> None:
    """A look every second, from begin to end."""
    for second in range(int(end - begin) + 1):
        clock.looked(ends, begin + second, begin + second + 0.01)


@pytest.fixture
def clock() -> ReadClock:
    """One that runs: its time is 10 at 10."""
    clock = ReadClock()
    looking(clock, {0: 5, 1: 5}, 0, 10)
    return clock


def test_at_the_start_gateways_have_time_to_return_since_kafka_may_have_been_away() -> None:
    clock = ReadClock()
    assert (clock.now(1000), clock.returned, clock.waits) == (0, 0, True)
    looking(clock, {0: 5}, 100, 99 + RETURN_S)
    assert (clock.now(99 + RETURN_S), clock.returned, clock.waits) == (pytest.approx(RETURN_S - 1.01), 0, True)
    looking(clock, {0: 5}, 100 + RETURN_S, 103 + RETURN_S)
    assert not clock.waits


def test_an_end_that_goes_back_is_not_reached_sooner(clock: ReadClock) -> None:
    clock.looked({0: 9, 1: 5}, 11, 11.01)
    clock.looked({0: 5, 1: 5}, 12, 12.01)
    clock.read({0: 8, 1: 5})
    assert clock.read_to()[1] == pytest.approx({0: 10, 1: 12}, abs=0.02)


@pytest.mark.parametrize("hidden", ["missed", "stalled", "slow"])
def test_it_stands_still_while_kafka_is_away(clock: ReadClock, hidden: str) -> None:
    clock.read({0: 5, 1: 5})
    if hidden == "missed":
        clock.missed()
        clock.missed()
    clock.looked({0: 5, 1: 5}, 11 if hidden == "slow" else 300, 300.01)
    assert clock.waits
    assert clock.returned == pytest.approx(10, abs=0.02)
    looking(clock, {0: 5, 1: 5}, 301, 304)
    assert clock.read_to() == (pytest.approx(14, abs=0.1), pytest.approx({0: 14, 1: 14}, abs=0.1))
    looking(clock, {0: 5, 1: 5}, 305, 301 + RETURN_S)
    assert not clock.waits


def test_answers_are_bounded_where_each_of_them_is_slow(monkeypatch: pytest.MonkeyPatch, clock: ReadClock) -> None:
    monkeypatch.setattr(read_clock, "MOST_LOOKS", 50)
    for second in range(11, 1011, 4):
        clock.looked({0: second, 1: second}, second, second + 3)
        assert clock.looks <= 50
    assert clock.waits
    assert clock.appended(0, 1006, 1011) == clock.returned, "before the newest answer Kafka may have been away"


def test_answers_are_bounded_and_those_that_are_dropped_only_make_it_late(monkeypatch: pytest.MonkeyPatch, clock: ReadClock) -> None:
    monkeypatch.setattr(read_clock, "MOST_LOOKS", 50)
    for second in range(11, 1011):
        clock.looked({0: second, 1: second}, second, second + 0.01)
        assert clock.looks <= 50
    for offset in range(11, 1011):
        by = clock.appended(0, offset - 1, 1011)
        assert by > offset - 0.1, "never too early"
    assert clock.appended(0, 1000, 1011) == pytest.approx(1001, abs=0.1), "the newest are as exact as before"
    clock.read({0: 1010, 1: 500})
    assert clock.read_to()[1][0] == pytest.approx(1010, abs=0.1)
    assert clock.read_to()[1][1] <= 500
