"""Times up to which all has been read: what test_gauges_catching_up.py does not play."""

from __future__ import annotations

import pytest

from streaming.gauges import ReadClock
from streaming.gauges.read_clock import RETURN_S


@pytest.fixture
def clock() -> ReadClock:
    """One that is asked every second, and has read up to 10."""
    clock = ReadClock(0)
    clock.read({0: 5, 1: 5})
    for second in range(11):
        clock.looked({0: 5, 1: 5}, second, second + 0.01)
    return clock


def test_at_the_start_gateways_have_time_to_return_since_kafka_may_have_been_away() -> None:
    clock = ReadClock(100)
    assert (clock.read_to, clock.waits(1_000)) == (100, True), "nobody has answered"
    clock.looked({0: 5}, 101, 101.5)
    assert (clock.returned, clock.waits(101 + RETURN_S), clock.waits(102 + RETURN_S)) == (101.5, True, False)
    assert (clock.appended(0, 4, 103), clock.appended(0, 5, 103), clock.appended(1, 0, 103)) == (101.5, 103, 103)


def test_partition_that_is_read_slowly_holds_up_the_time(clock: ReadClock) -> None:
    clock.looked({0: 9, 1: 5}, 11, 11.01)
    clock.looked({0: 5, 1: 5}, 12, 12.01)
    clock.read({0: 8, 1: 5})
    assert clock.read_to == 10, "an end that goes back is not reached sooner"
    clock.looked({0: 10, 1: 5}, 13, 13.01)
    clock.read({0: 9})
    assert clock.read_to == 11
    clock.read({0: 10})
    assert clock.read_to == 13


@pytest.mark.parametrize(("before", "after"), [(12, 12.01), (300, 300.01), (11, 13.5)], ids=["missed", "stalled", "slow"])
def test_outage_gives_gateways_time_to_return(clock: ReadClock, before: float, after: float) -> None:
    assert not clock.waits(10 + RETURN_S)
    if before == 12:
        clock.missed()
        assert clock.waits(10 + RETURN_S)
    clock.looked({0: 7, 1: 5}, before, after)
    assert (clock.returned, clock.waits(after + RETURN_S - 1), clock.waits(after + RETURN_S)) == (after, True, False)
    assert (clock.appended(0, 6, 400), clock.appended(0, 7, 400)) == (after, 400), "what is read late may be from before"
