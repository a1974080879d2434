"""What is known of connections while the job catches up: of closed ones next to nothing, however many there were."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from clientscope.records.enums import Kind
from streaming.findings.inputs import ConnectionChange
from streaming.findings.liveness import Liveness
from streaming.findings.unordered import NumberRanges, UnorderedEvents

NOW = 1_800_000_000_000
GATEWAY = ("c", 1, "gw")


def event(kind: Kind, connection: int, sequence: int, epoch: int = 1) -> ConnectionChange:
    at_ms = NOW + 1_000 * connection
    return ConnectionChange(at_ms, kind, sequence, *GATEWAY, epoch, connection, "10.0.0.1", "User:a", "app")


@given(st.lists(st.integers(-5, 60)))
def test_ranges_hold_the_numbers_of_a_set(numbers: list[int]) -> None:
    ranges, known = NumberRanges(), set(numbers)
    for number in numbers:
        ranges.add(number)
    assert [number for number in range(-10, 70) if number in ranges] == sorted(known)
    assert len(ranges) == sum(number - 1 not in known for number in known)


def test_lowest_gap_is_closed() -> None:
    ranges = NumberRanges()
    for number in (1, 5, 9):
        ranges.add(number)
    ranges.close_lowest_gap()
    assert [number for number in range(12) if number in ranges] == [1, 2, 3, 4, 5, 9]


def test_memory_does_not_grow_with_closed_connections() -> None:
    live = Liveness()

    def pass_by(numbers: range) -> int:
        """They come and go, but for every thousandth; returns the bytes that are held."""
        for number in numbers:
            live.apply(event(Kind.IDENTIFIED, number, 2 * number))
            if number % 1_000:
                live.apply(event(Kind.CLOSED, number, 2 * number + 1))
            live.news()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = pass_by(range(1_000))
        grown = pass_by(range(1_000, 6_000)) - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000, "some hundred bytes for each that is open, and nothing for those that are closed"
    assert (live.connections, live.closed_ranges) == (6, 6)
    live.in_order()
    assert live.closed_ranges == 0


def test_closed_connection_stays_closed_whatever_is_read_late() -> None:
    live = Liveness()
    for late in (event(Kind.CLOSED, 7, 20), event(Kind.OPENED, 7, 18), event(Kind.PRESENT, 7, 19), event(Kind.CLOSED, 7, 20)):
        live.apply(late)
    assert live.connections == 0
    live.apply(event(Kind.PRESENT, 7, 1, epoch=2))
    assert (live.connections, live.closed_ranges) == (1, 0), "another process counts from the beginning"


def test_repeated_record_of_an_open_connection_is_no_news() -> None:
    events = UnorderedEvents()
    assert [events.takes(GATEWAY, event(Kind.PRESENT, 7, sequence)) for sequence in (5, 5, 4, 6)] == [True, False, False, True]


def test_beyond_the_bound_the_oldest_unread_connections_count_as_closed() -> None:
    events = UnorderedEvents(most_ranges=2)
    for number in (1, 3, 5):
        assert events.takes(GATEWAY, event(Kind.CLOSED, number, number))
    assert (events.ranges, events.full.count) == (2, 1)
    assert not events.takes(GATEWAY, event(Kind.OPENED, 2, 2))
    assert events.takes(GATEWAY, event(Kind.OPENED, 4, 4))
