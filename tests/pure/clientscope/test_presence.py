"""Which gateways are there and which connections are open, whatever the order of the records: held to a plain replay of them."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

import pytest
from golden import cases
from hypothesis import given, settings
from hypothesis import strategies as st

from clientscope import presence
from clientscope.model.enums import Kind
from clientscope.presence import FORGOTTEN_MS, HeartbeatParts, NumberRanges, Presence

GATEWAY = ("c", 1, "gw")
HOUR_MS = 60 * 60_000


class Event(NamedTuple):
    """What a record says; ``whose`` is who has the connection from then on."""

    epoch: int
    sequence: int
    kind: Kind
    connection: int = -1
    whose: str = ""
    interval_ms: int = 5_000


class Reader:
    """A reader of the topic."""

    def __init__(self) -> None:
        self.ended: list[tuple[int, list[int]]] = []
        self.refused: list[str] = []
        self.presence: Presence[str] = Presence(
            lambda process, _: self.ended.append((process.epoch, sorted(process.open))), lambda key: self.refused.append(key[2])
        )

    def take(self, event: Event, at_ms: int = 0, gateway: str = "gw") -> bool:
        """Whether it was news."""
        process = self.presence.process(("c", 1, gateway), event.epoch, at_ms)
        if process is None:
            return False
        if event.kind == Kind.HEARTBEAT:
            return self.presence.heard(process, event.sequence, event.interval_ms, at_ms)
        if event.kind == Kind.CLOSED:
            process.open.pop(event.connection, None)
            return self.presence.close(process, event.connection)
        if is_news := process.takes(event.connection, event.sequence):
            process.open[event.connection] = event.sequence, event.whose
        return is_news

    @property
    def open(self) -> dict[int, str]:
        """Who has which connection."""
        process = self.presence.processes.get(GATEWAY)
        return {} if process is None else {number: whose for number, (_, whose) in process.open.items()}


def replayed(events: list[Event]) -> dict[int, str]:
    """The oracle: the newest process's records one after the other, in the order in which it wrote them."""
    epoch = max((event.epoch for event in events), default=0)
    found: dict[int, str] = {}
    closed: set[int] = set()
    for event in sorted(event for event in events if event.epoch == epoch):
        if event.kind == Kind.HEARTBEAT:
            if not event.interval_ms:
                return {}
        elif event.kind == Kind.CLOSED:
            found.pop(event.connection, None)
            closed.add(event.connection)
        elif event.connection not in closed:
            found[event.connection] = event.whose
    return found


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Some processes of one gateway, one after the other; the last record may say goodbye."""
    events = []
    for epoch in range(1, draw(st.integers(1, 3)) + 1):
        opened, closed = 0, set[int]()
        for sequence, (what, which) in enumerate(draw(st.lists(st.tuples(st.sampled_from("oicpb"), st.integers(0, 9)), max_size=25))):
            there = [number for number in range(opened) if number not in closed]
            if what == "o" or not there:
                events.append(Event(epoch, sequence, Kind.OPENED, opened, "unknown"))
                opened += 1
            elif what == "b":
                events.append(Event(epoch, sequence, Kind.HEARTBEAT))
            else:
                number = there[which % len(there)]
                kind = {"i": Kind.IDENTIFIED, "c": Kind.CLOSED, "p": Kind.PRESENT}[what]
                events.append(Event(epoch, sequence, kind, number, f"app-{which}"))
                closed |= {number} if what == "c" else set()
        if draw(st.booleans()):
            events.append(Event(epoch, 25, Kind.HEARTBEAT, interval_ms=0))
    return events


@settings(deadline=None)
@given(histories(), st.data())
def test_open_are_those_of_a_plain_replay_in_any_order_and_repeated(events: list[Event], data: st.DataObject) -> None:
    again = data.draw(st.lists(st.sampled_from(events), max_size=9)) if events else []
    reader = Reader()
    taken: list[Event] = []
    for event in data.draw(st.permutations([*events, *again])):
        reader.take(event)
        taken.append(event)
        assert reader.open == replayed(taken)


@pytest.mark.parametrize(("events", "news"), cases(__file__, "news.txt"))
def test_what_is_news(events: str, news: str) -> None:
    reader, taken = Reader(), []
    for event in events.split(", "):
        epoch, sequence, kind, *more = event.split(" ")
        of = {"interval_ms": 0} if more == ["~0"] else {"connection": int(more[0])} if more else {}
        taken.append("yes" if reader.take(Event(int(epoch), int(sequence), Kind[kind], **of)) else "no")
    assert taken == news.split(", ")


def test_lost_gateway_comes_back_with_its_connections_within_a_day() -> None:
    reader = Reader()
    for event in (Event(1, 1, Kind.OPENED, 7), Event(1, 2, Kind.HEARTBEAT)):
        reader.take(event)
    (process,) = reader.presence.processes.values()
    assert (process.due_ms(), process.due_ms(2)) == (15_000, 10_000)
    reader.presence.lose(process, 15_001)
    reader.presence.forget(15_001 + FORGOTTEN_MS)
    assert (process.gone_ms, process.has_left, reader.open) == (15_001, False, {7: ""})
    reader.take(Event(1, 3, Kind.HEARTBEAT), 20_000)
    assert (process.gone_ms, process.due_ms()) == (None, 35_000)
    reader.presence.lose(process, 35_001)
    reader.presence.forget(35_002 + FORGOTTEN_MS)
    assert (reader.ended, dict(reader.presence.processes)) == ([(1, [7])], {})


def test_a_gateway_beyond_the_limit_has_room_once_another_one_was_silent_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "MOST_GATEWAYS", 2)
    reader, beats = Reader(), [Event(1, number, Kind.HEARTBEAT) for number in range(2)]
    assert [reader.take(beats[0], 1_000, name) for name in "abc"] == [True, True, False]
    assert reader.refused == ["c"]
    assert reader.take(beats[1], HOUR_MS // 2, "a")
    assert [reader.take(beats[0], at_ms, "c") for at_ms in (HOUR_MS, HOUR_MS + 1_000)] == [False, True]
    assert [key[2] for key in reader.presence.processes] == ["a", "c"]
    for gone_ms, name in enumerate("ca", HOUR_MS + 2_000):
        reader.presence.lose(reader.presence.processes["c", 1, name], gone_ms)
    assert reader.take(beats[0], HOUR_MS + 2_000, "d"), "one that is gone makes room at once, the first first"
    assert [key[2] for key in reader.presence.processes] == ["a", "d"]


@given(st.lists(st.integers(-5, 60)))
def test_ranges_hold_the_numbers_of_a_set(numbers: list[int]) -> None:
    ranges, known = NumberRanges(), set(numbers)
    for number in numbers:
        ranges.add(number)
    assert [number for number in range(-10, 70) if number in ranges] == sorted(known)
    assert len(ranges) == sum(number - 1 not in known for number in known)


def test_beyond_the_bound_the_oldest_unread_connections_count_as_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "MOST_RANGES", 2)
    reader = Reader()
    assert [reader.take(Event(1, number, Kind.CLOSED, number)) for number in (1, 3, 5)] == [True] * 3
    assert reader.presence.ranges == 2
    assert [reader.take(Event(1, number, Kind.OPENED, number)) for number in (2, 4)] == [False, True]
    assert reader.take(Event(1, 1, Kind.CLOSED, 7), gateway="h") and reader.presence.ranges == 3, "one range has no gap"
    reader.take(Event(2, 0, Kind.HEARTBEAT))
    assert reader.presence.ranges == 1


def test_memory_does_not_grow_with_closed_connections() -> None:
    reader = Reader()

    def pass_by(numbers: range) -> int:
        """They come and go, but for every thousandth; returns the bytes that are held."""
        for number in numbers:
            reader.take(Event(1, 2 * number, Kind.IDENTIFIED, number))
            if number % 1_000:
                reader.take(Event(1, 2 * number + 1, Kind.CLOSED, number))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = pass_by(range(1_000))
        grown = pass_by(range(1_000, 6_000)) - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000, "some hundred bytes for each that is open, and nothing for those that are closed"
    assert (len(reader.open), reader.presence.ranges) == (6, 6)


def test_a_heartbeat_is_whole_once_with_its_last_part_and_forgets_the_older_ones() -> None:
    parts: HeartbeatParts[str] = HeartbeatParts()
    assert [parts.add(5, 0, 2, "a"), parts.add(5, 0, 2, "repeated"), parts.add(5, 1, 2, "b")] == [None, None, ["a", "b"]]
    assert parts.add(10, 0, 2, "a") is None
    assert parts.add(20, 1, 2, "d") is None
    assert parts.add(20, 0, 2, "c") == ["d", "c"]
    assert parts.add(10, 1, 2, "b") is None, "its first part is forgotten"
    for first in range(30, 60, 10):
        parts.add(first, 0, 2, "")
    for _ in range(2):
        parts.forget_oldest()
    assert parts.add(10, 0, 2, "a") is None, "the other part of the oldest of four is forgotten"
    assert parts.add(30, 1, 2, "e") == ["", "e"]
