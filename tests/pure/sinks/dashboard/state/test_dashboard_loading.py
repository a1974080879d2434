"""However records are cut into batches, and whether they are read before anybody may ask or after: the rows are the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_state import NOW_MS, found, opened, pushed, result
from record_bytes import heartbeat

from clientscope.records.enums import Kind
from clientscope.records.topics import CONNECTIONS
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State

_GATEWAYS = ("gw1", "gw2")


def _event(sequence: int, kind: Kind, gateway: str, epoch: int, connection: int, client: int) -> TopicRecord:
    return opened(
        sequence,
        kind=kind,
        gateway=gateway,
        gateway_epoch=epoch,
        connection_id=connection,
        client_id=f"app-{client}" if client else None,
        client_software_name="librdkafka" if kind == Kind.IDENTIFIED else "unknown",
        at_ms=NOW_MS - 60_000 + sequence // 3,
    )


_EVENTS = st.builds(
    lambda kind, gateway, epoch, connection, client: (kind, gateway, epoch, connection, client),
    st.sampled_from([Kind.OPENED, Kind.OPENED, Kind.IDENTIFIED, Kind.CLOSED, Kind.CLOSED, Kind.PRESENT]),
    st.sampled_from(_GATEWAYS),
    st.sampled_from([1, 1, 1, 1, 2]),
    st.integers(1, 6),
    st.integers(0, 2),
)
_OTHERS = st.one_of(
    st.builds(
        lambda n, client: found(n, clients=[{"client_id": f"app-{client}", "address": "10.0.0.1"}]), st.integers(1, 3), st.integers(1, 2)
    ),
    st.builds(lambda n: found(n, state="resolved"), st.integers(1, 3)),
    st.builds(lambda offset, n: pushed(offset, key=f"k{n}", client_id=f"app-{n}"), st.integers(1, 9), st.integers(1, 2)),
    st.builds(lambda offset, n: result(offset, client_id=f"app-{n}", instance_id=f"k{n}"), st.integers(1, 9), st.integers(1, 2)),
    st.builds(lambda n: TopicRecord("clientscope.configs", NOW_MS, f"k{n}".encode(), None), st.integers(1, 2)),
    st.builds(lambda gateway: (gateway, 0), st.sampled_from(_GATEWAYS)),
)


def _records(values: Sequence[object]) -> list[TopicRecord]:
    records = []
    for sequence, each in enumerate(values):
        if isinstance(each, TopicRecord):
            records.append(each)
        elif len(each) == 2:  # type: ignore[arg-type]
            gateway, interval_ms = each  # type: ignore[misc]
            value = heartbeat(sequence, gateway_id=gateway, gateway_epoch=1, heartbeat_interval_ms=interval_ms)
            records.append(TopicRecord(CONNECTIONS, NOW_MS, gateway.encode(), value))
        else:
            records.append(_event(sequence, *each))  # type: ignore[misc]
    return records


def _read(records: Sequence[TopicRecord], cuts: Sequence[int], live_at: int) -> State:
    state = State()
    edges = sorted({0, len(records), *(cut % (len(records) + 1) for cut in cuts), live_at})
    for begin, end in pairwise(edges):
        if begin == live_at:
            state.live()
        state.apply(records[begin:end])
    state.live()
    return state


def _rows(state: State) -> tuple[object, ...]:
    groups = [state.client_groups(by, 100).items for by in ("software", "address")]  # type: ignore[arg-type]
    gone = state.clients(1_000, q="connected:no").items
    return gone, state.clients(1_000).items, state.connections(1_000).items, groups, state.facets(50).items


@settings(max_examples=120, deadline=None)
@given(st.lists(_EVENTS | _OTHERS, max_size=60), st.lists(st.integers(0, 60), max_size=8), st.integers(0, 60))
def test_the_rows_are_the_same_however_records_are_cut(values: list[object], cuts: list[int], live_at: int) -> None:
    records = _records(values)
    one_by_one = _read(records, range(len(records)), 0)
    at_once = _read(records, [], len(records))
    cut = _read(records, cuts, live_at % (len(records) + 1))
    assert _rows(at_once) == _rows(one_by_one)
    assert _rows(cut) == _rows(one_by_one)


def test_a_client_that_came_and_went_before_anybody_could_ask_has_gone() -> None:
    state = State()
    state.apply([opened(1, client_id="left"), opened(2, connection_id=2), opened(3, kind=Kind.CLOSED, connection_id=1)])
    reference = State()
    reference.live()
    reference.apply([opened(1, client_id="left")])
    (key,) = [client.key for client in reference.clients(5).items]
    state.live()
    seen, *_ = state.one_client(key) or (None,)
    assert seen is not None
    assert (seen.connected, seen.client.client_id, seen.client.since_ms) == (False, "left", NOW_MS - 60_000)


@pytest.mark.parametrize("first_lost", [False, True])
def test_a_gateway_that_was_lost_comes_back_in_a_new_epoch(first_lost: bool) -> None:
    state = State()
    state.live()
    state.apply([opened(1)])
    if first_lost:
        state.tick(NOW_MS + 600_000)
        assert state.clients(5).total == 0
    state.apply([opened(0, gateway_epoch=2, at_ms=NOW_MS + 600_000)])
    (client,) = state.clients(5).items
    assert (client.connections, client.since_ms) == (1, NOW_MS + 600_000)
