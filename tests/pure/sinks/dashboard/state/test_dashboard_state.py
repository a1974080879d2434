"""From records of all topics to views: feed states, gauges, bad records, versions."""

from __future__ import annotations

from typing import Any

import page_state
import pytest
from golden import as_bytes, cases
from hypothesis import given, settings
from hypothesis import strategies as st
from page_state import live, of_gateway, opened, process

from clientscope.model.codec import adapter
from clientscope.model.enums import Kind
from clientscope.model.topics import CONNECTIONS, GAUGES, RESULTS
from clientscope.report.findings import FindingChoice
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.pushes import DAY_MS
from sinks.dashboard.state.state import SOFTWARE_ROWS, State

NOW = 20 * DAY_MS


def gauge(count: int | None, *name: str, at: int = NOW, **fields: Any) -> TopicRecord:
    return page_state.gauge(count, *name, at_ms=at, **fields)


def connection(kind: Kind, sequence: int = 0, at: int = NOW, **fields: Any) -> TopicRecord:
    return opened(sequence, kind=kind, at_ms=at, **{"connection": 1, "heartbeat_interval_ms": 1_000, **fields})


def result(offset: int, outcome: str = "passed", at: int = NOW) -> TopicRecord:
    codes = {named: ["AN101"] if outcome == verdict else [] for named, verdict in (("rules", "fired"), ("passed", "passed"))}
    return page_state.result(offset, at_ms=at, **codes)


def sums(state: State) -> dict[str, int]:
    return {row.software_name: row.connections for row in state.overview(NOW).software}


def test_until_everything_is_read_numbers_are_unknown_and_never_zero() -> None:
    state = State()
    assert state.overview(NOW).feed == "starting"
    state.apply([gauge(3), connection(Kind.OPENED), result(1, "fired"), process()])
    state.catching_up(3, 10)
    overview = state.overview(NOW)
    assert (overview.feed, overview.progress and (overview.progress.read, overview.progress.total)) == ("catching_up", (3, 10))
    numbers = [overview.connections, overview.software_versions, overview.clients, overview.pushes, overview.findings]
    assert numbers == [None] * 5
    assert (state.counts().series, overview.health) == ([], [])
    state.live()
    overview = state.overview(NOW)
    assert (overview.feed, overview.connections, overview.clients, overview.pushes, len(overview.health)) == ("live", 3, 1, 1, 1)


def test_what_was_known_stays_while_kafka_is_unreachable() -> None:
    state = live(gauge(3), connection(Kind.OPENED), connection(Kind.HEARTBEAT, 1))
    state.unreachable("no broker answers")
    overview = state.overview(NOW)
    assert (overview.feed, overview.feed_detail, overview.connections) == ("unreachable", "no broker answers", 3)
    state.tick(NOW + DAY_MS)
    overview = state.overview(NOW)
    assert (overview.connections, overview.clients) == (3, 1), "nobody is lost while we are the blind ones"


def test_gauges_are_summed_over_gateways_and_the_newest_counts() -> None:
    state = live(gauge(3), gauge(4, gateway="gw2"), gauge(1, "franz-go"), gauge(2, "franz-go"))
    assert sums(state) == {"franz-go": 2, "librdkafka": 7}
    overview = state.overview(NOW)
    assert (overview.connections, overview.software_versions) == (9, 2)
    assert state.gauges(1).total == 3
    assert [item.connections for item in state.gauges(2).items] == [4, 3]


@pytest.mark.parametrize("last", [gauge(None), gauge(0)])
def test_a_tombstone_or_a_zero_ends_a_series(last: TopicRecord) -> None:
    state = live(gauge(3), gauge(5, "franz-go"), last)
    assert sums(state) == {"franz-go": 5}


def test_rows_stay_where_they_are_and_the_smallest_are_summed() -> None:
    records = [gauge(10 + i, f"name{i:03}") for i in range(SOFTWARE_ROWS)]
    state = live(*records, gauge(2, "aaa"), gauge(3, "zzz"))
    overview = state.overview(NOW)
    assert [(row.listener, row.software_name) for row in overview.software] == [("CLIENT", f"name{i:03}") for i in range(SOFTWARE_ROWS)]
    assert overview.software_other == 5
    assert overview.connections == sum(range(10, 10 + SOFTWARE_ROWS)) + 5


@pytest.mark.parametrize(("name", "key", "value", "reason"), cases(__file__, "bad_records.txt"))
def test_a_bad_record_is_counted_and_the_rest_is_read(name: str, key: str, value: str, reason: str) -> None:
    topic = f"clientscope.{name}"
    of_record = (None if cell == "-" else as_bytes(cell) for cell in (key, value))
    state = live(gauge(3), TopicRecord(topic, NOW, *of_record), gauge(4, "franz-go"))
    assert state.counts().undecodable == {(topic, reason): 1}
    overview = state.overview(NOW)
    assert (overview.connections, overview.health, state.findings(FindingChoice(), 0, 9).items) == (7, [], [])
    assert [check.detail for check in overview.checks if check.state == "warn"] == ["1 record could not be decoded."]


@settings(max_examples=150, deadline=None)
@given(topic=st.sampled_from((GAUGES, CONNECTIONS, RESULTS)), at=st.integers(0, 200), noise=st.binary(max_size=40))
def test_noise_is_never_fatal(topic: str, at: int, noise: bytes) -> None:
    value = {GAUGES: gauge(1), CONNECTIONS: connection(Kind.OPENED), RESULTS: result(1)}[topic].value or b""
    state = live(TopicRecord(topic, NOW, b"key", value[:at] + noise + value[at + len(noise) :]))
    state.tick(NOW)
    assert state.counts().records == {topic: 1}
    for answer in (state.overview(NOW), state.clients(10)):
        adapter(type(answer)).dump_json(answer)


def test_only_what_is_shown_raises_the_version() -> None:
    state = live(gauge(3), connection(Kind.HEARTBEAT))
    version, versions = state.version, state.overview(NOW).versions
    state.apply([gauge(3, sequence=9), connection(Kind.HEARTBEAT, 1, NOW + 500)])
    state.tick(NOW + 500)
    assert state.version == version
    assert state.overview(NOW).last_record_ms == NOW + 500
    state.apply([gauge(4, at=NOW + 700)])
    assert state.version > version
    overview = state.overview(NOW)
    assert (overview.versions.gauges, overview.versions.results) == (versions.gauges + 1, versions.results)
    assert overview.last_change_ms == NOW + 700


def test_a_lost_gateways_clients_leave_with_a_warning() -> None:
    state = live(connection(Kind.OPENED), connection(Kind.HEARTBEAT, 1))
    for silent_ms, late in ((2_000, False), (2_001, True), (3_000, True)):
        state.tick(NOW + silent_ms)
        overview = state.overview(NOW)
        assert (overview.clients, [gateway.late for gateway in overview.gateways]) == (1, [late])
    state.tick(NOW + 3_001)
    overview = state.overview(NOW)
    assert (overview.clients, overview.gateways) == (0, [])
    assert "No heartbeat from gw." in [check.detail for check in overview.checks]
    state.apply([connection(Kind.HEARTBEAT, 2, NOW + 4_000)])
    assert state.overview(NOW).clients == 1, "and come back with it"
    state = live(connection(Kind.OPENED))
    state.tick(NOW + 90_001)
    assert state.overview(NOW).clients == 0, "without any heartbeat, too"


def test_series_beyond_the_limit_are_counted_as_dropped() -> None:
    state = live(gauge(1, "a"), gauge(2, "b"), gauge(3, "c"), gauge_limit=2, connection_limit=0)
    state.apply([connection(Kind.OPENED)])
    assert sums(state) == {"a": 1, "b": 2}
    assert state.counts().dropped == {"gauges": 1, "connections": 1}


def test_counters_begin_when_the_feed_is_first_live() -> None:
    state = live(result(1, "fired"))
    assert (state.counts().pushes, state.counts().fired) == ({}, {})
    state.apply([result(2, "fired"), result(3)])
    assert (state.counts().pushes, state.counts().fired) == ({"pushed": 2}, {("AN101", "high"): 1})
    state.unreachable("x")
    state.live()
    assert state.counts().pushes == {"pushed": 2}
    assert state.overview(NOW).pushes == 3


def test_a_gateways_own_figures_stand_beside_it_and_are_no_series() -> None:
    state = live(connection(Kind.HEARTBEAT), gauge(3))
    assert state.overview(NOW).gateways[0].instances is None, "a job that doesn't tell them is read too"
    figures = {"epoch": 1, "sequence": 4, "later_field": 1, "instances": 2, "opened_per_minute": 7, "closed_per_minute": None}
    state.apply([of_gateway(**figures)])
    (shown,) = state.overview(NOW).gateways
    assert (shown.instances, shown.opened_per_minute, shown.closed_per_minute) == (2, 7, None)
    assert sums(state) == {"librdkafka": 3}
    before = state.version
    state.apply([of_gateway(at_ms=NOW + 1, **{**figures, "sequence": 9})])
    assert state.version == before, "nothing that is shown has changed"
    state.apply([of_gateway()])
    assert state.overview(NOW).gateways[0].instances is None
    assert state.counts().undecodable == {}
