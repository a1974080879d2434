"""Open connections: order, repetition, epochs, goodbyes, bounds."""

from __future__ import annotations

from typing import Any

import pytest
from golden import texts
from page_state import NOW_MS, beat, live, opened
from record_bytes import connection_record

from clientscope import presence
from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.enums import Kind
from clientscope.profiles.owners import NO_OWNERS
from sinks.dashboard.state.connections import ConnectionTable
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State


def of(number: int, sequence: int, kind: Kind) -> TopicRecord:
    """A later record of a connection."""
    return opened(sequence, connection=number, kind=kind)


def open_ids(state: State) -> list[int]:
    return sorted(each.connection for each in state.connections(10).items)


def read(line: str) -> TopicRecord:
    """A record that cases/open.txt has."""
    kind, sequence, *said = line.split()
    fields = (each.split("=") for each in said)
    return opened(int(sequence), kind=Kind(kind), **{name: value if name == "gateway" else int(value) for name, value in fields})


OPEN = texts(__file__, "open.txt")


@pytest.mark.parametrize(("left", "gateways", "lines"), [case for _, *case in OPEN], ids=[name for name, *_ in OPEN])
def test_connections_that_are_open(left: str, gateways: str, lines: str) -> None:
    records = [read(line) for line in lines.splitlines()]
    state = live(connection_limit=2)
    for record in records:
        state.apply([record])
    assert open_ids(state) == [*map(int, left.split())] == open_ids(live(*records, connection_limit=2)), "one by one, or together"
    assert state.counts().dropped == ({"connections": 1} if left == "1 2" else {})
    assert [each.gateway for each in state.overview(NOW_MS).gateways] == gateways.split()


def test_what_is_repeated_is_no_news() -> None:
    records = opened(1), opened(2, connection=1, kind=Kind.IDENTIFIED, software_name="new")
    state = live(*records)
    version = state.version
    state.apply(records)
    assert (state.version, state.connections(1).items[0].software_name) == (version, "new")


def test_a_connection_that_was_opened_before_the_records_read_says_so() -> None:
    state = live(of(1, 7, Kind.PRESENT))
    assert state.connections(1).items[0].opened_ms is None
    (client,) = state.clients(1).items
    assert (client.since_ms, client.since_exact) == (NOW_MS - 60_000, False)


def test_gateways_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "MOST_GATEWAYS", 1)
    table = ConnectionTable(10, NO_OWNERS)
    for name in ("a", "b"):
        table.apply(decode(ClientConnectionRecord, connection_record(0, gateway=name)), 0)
    assert ([each.gateway for each in table.gateways()], table.dropped) == (["a"], {"gateways": 1})


@pytest.mark.parametrize("first_lost", [False, True])
def test_a_gateway_that_was_lost_comes_back_in_a_new_epoch(first_lost: bool) -> None:
    state = live(opened(1))
    if first_lost:
        state.tick(NOW_MS + 600_000)
        assert state.clients(5).total == 0
    state.apply([opened(0, epoch=2, at_ms=NOW_MS + 600_000)])
    (client,) = state.clients(5).items
    assert (client.connections, client.since_ms) == (1, NOW_MS + 600_000)


@pytest.mark.parametrize("other", [{"cluster": "c2"}, {"broker": 2}])
def test_gateways_of_one_id_at_two_brokers_or_clusters_are_two(other: dict[str, Any]) -> None:
    state, at_ms = State(), NOW_MS
    first: dict[str, Any] = {}
    second = other
    state.apply([opened(1, at_ms=at_ms, client_id="one", **first), opened(1, at_ms=at_ms, client_id="two", **second)])
    state.apply([beat(2, at_ms=at_ms, **first), beat(2, at_ms=at_ms, **second)])
    state.live()
    for of, rate in ((first, 100), (second, 7)):
        state.apply([opened(3, kind=Kind.TRAFFIC, at_ms=at_ms, connection=-1, traffic=((1, rate, rate),), measured_ms=1_000, **of)])
    assert {each.client_id: each.bytes_in_per_second for each in state.clients(9).items} == {"one": 100, "two": 7}
    for number in range(4, 13):
        at_ms += 5_000
        state.apply([beat(number, at_ms=at_ms, **second)])
        state.tick(at_ms)
    assert [each.client_id for each in state.clients(9).items] == ["two"], "the other's gateway is silent"
    state.apply([beat(13, at_ms=at_ms, epoch=9, **second)])
    assert state.clients(9).items == [], "a new process at one shows nobody of the other's"


def test_f29_a_gateway_whose_clock_is_ahead_takes_no_opening_from_clients_of_others() -> None:
    state = live(*(opened(number, at_ms=NOW_MS, timestamp_ms=NOW_MS, client_id="storm") for number in range(2, 62)))
    state.apply([opened(1, at_ms=NOW_MS, timestamp_ms=2**62, client_id="calm", gateway="ahead")])
    state.tick(NOW_MS)
    assert {each.client_id: each.opened_per_minute for each in state.clients(9).items} == {"storm": 12.0, "calm": 0.2}
