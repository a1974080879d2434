"""Numbers by minute: from heartbeats and events alone, null where nothing is known, the same in every copy."""

from __future__ import annotations

from typing import Any

from page_state import live, opened, process, result
from record_bytes import heartbeat

from clientscope.api.series import Series
from clientscope.records.layouts import Kind
from clientscope.records.topics import CONNECTIONS
from sinks.dashboard.state import series
from sinks.dashboard.state.record import TopicRecord
from sinks.dashboard.state.state import State

MINUTE = series.MINUTE_MS
NOW = 29_000_000 * MINUTE + 30_000


def beat(sequence: int, minute: int, counts: list[tuple[str, str, int]], *, gateway: str = "gw", **fields: Any) -> TopicRecord:
    """A heartbeat, ``minute`` minutes from now."""
    made = {"gateway_id": gateway, "heartbeat_interval_ms": 30_000, **fields}
    value = heartbeat(sequence, [(name, version, count, 0, 0) for name, version, count in counts], **made)
    return TopicRecord(CONNECTIONS, NOW + minute * MINUTE, gateway.encode(), value)


def of(state: State, minutes: int = 6, now: int = NOW) -> Series:
    return state.series_by_minute(now, minutes)


def test_each_minute_has_the_last_count_reported_in_it() -> None:
    java = [("java", "4.0", count) for count in (1, 2, 5)]
    found = of(live(beat(1, -3, [java[0]]), beat(2, -3, [java[1]]), beat(3, -1, [java[2], ("go", "1", 1)])))
    assert found.connections == [None, None, 2, 2, 6, 6]
    assert [(each.software_name, each.connections) for each in found.versions] == [
        ("java", [None, None, 2, 2, 5, 5]),
        ("go", [None, None, 0, 0, 1, 1]),
    ]
    assert found.other == [None, None, 0, 0, 0, 0]
    assert len(found.minutes) == 6
    assert found.minutes[-1] == NOW - 30_000


def test_a_gateway_that_falls_silent_is_not_known_any_more() -> None:
    found = of(live(beat(1, -5, [("a", "1", 3)])))
    assert found.connections == [3, 3, 3, None, None, None]
    found = of(live(beat(1, -5, [("a", "1", 3)]), beat(2, -1, [("a", "1", 4)])))
    assert found.connections == [3, None, None, None, 4, 4]


def test_gateways_add_up_whatever_the_order_of_their_partitions() -> None:
    one = [beat(n, -5 + n, [("a", "1", n)], gateway="one") for n in range(6)]
    two = [beat(n, -5 + n, [("a", "1", 10)], gateway="two") for n in range(6)]
    mixed = [each for pair in zip(one, two, strict=True) for each in pair]
    assert of(live(*one, *two)).connections == of(live(*mixed)).connections == [10, 11, 12, 13, 14, 15]


def test_a_new_process_takes_the_place_of_the_old_one_and_a_goodbye_leaves_nothing() -> None:
    found = of(live(beat(9, -2, [("a", "1", 3)]), beat(0, -2, [("a", "1", 1)], gateway_epoch=2)))
    assert found.connections == [None, None, None, 1, 1, 1]
    found = of(live(beat(1, -3, [("a", "1", 3)]), beat(2, -2, [], heartbeat_interval_ms=0)))
    assert found.connections == [None, None, 3, 0, None, None]


def test_a_heartbeat_in_parts_counts_once_it_is_whole() -> None:
    parts = [beat(5 + n, 0, [("a", str(n), 2)], heartbeat_part=n, heartbeat_parts=2) for n in range(2)]
    assert of(live(parts[0]), 1).connections == [None]
    assert of(live(*parts), 1).connections == [4]
    assert of(live(*parts, *parts), 1).connections == [4]


def test_the_largest_eight_and_all_others() -> None:
    counts = [(f"s{number:02}", "1", number + 1) for number in range(12)]
    found = of(live(beat(1, 0, counts)), 1)
    assert [each.software_name for each in found.versions] == [f"s{number:02}" for number in range(11, 3, -1)]
    assert found.other == [1 + 2 + 3 + 4]
    assert found.connections == [sum(range(1, 13))]


def test_more_versions_than_are_kept_apart_are_summed(monkeypatch: Any) -> None:
    monkeypatch.setattr(series, "MOST_VERSIONS", 2)
    counts = [(name, "1", 1) for name in "abcd"]
    found = of(live(beat(1, 0, counts), beat(2, 0, counts[1:])), 1)
    assert found.connections == [3]
    assert all(count is None or count >= 0 for each in found.versions for count in each.connections)


def test_what_opened_and_closed_counts_once_and_only_while_somebody_tells() -> None:
    at = {"gateway": "gw", "at_ms": NOW - MINUTE}
    events = [opened(number, **at) for number in (2, 3, 4)] + [opened(5, kind=Kind.CLOSED, connection_id=2, **at)]
    found = of(live(beat(1, -2, []), *events, *events), 4)
    assert (found.opened, found.closed) == ([None, 0, 3, 0], [None, 0, 1, 0])


def test_pushes_are_not_zero_where_nobody_judges() -> None:
    results = [result(number, at_ms=NOW - 3 * MINUTE) for number in range(2)] + [result(9, at_ms=NOW - MINUTE)]
    state = live(*results)
    assert of(state).pushes == [None, None, 2, 0, 1, 0]
    state.apply([result(20 + number, at_ms=NOW - MINUTE, origin="observed") for number in range(11)])
    overview = state.overview(NOW)
    assert (overview.pushes, overview.pushes_per_minute, len(state.results(10, pushed_only=True).items)) == (3, 1, 3)
    state.apply([process(at_ms=NOW, condition="failed")])
    assert of(state).pushes == [None, None, 2, 0, 1, None]
    assert of(live()).pushes == [None] * 6


def test_a_day_is_kept() -> None:
    state = live(beat(1, -series.MINUTES - 5, [("a", "1", 1)]), beat(2, 0, [("a", "1", 2)]))
    then = NOW - (series.MINUTES + 5) * MINUTE
    assert of(state, 1, then).connections == [1]
    state.tick(NOW)
    assert of(state, 1_440).connections[-1] == 2
    assert of(state, 1, then).connections == [None]


def test_nothing_is_known_before_the_topics_were_read() -> None:
    state = State()
    state.apply([beat(1, 0, [("a", "1", 1)])])
    found = of(state, 3)
    assert (found.connections, found.opened, found.pushes, found.versions) == ([None] * 3, [None] * 3, [None] * 3, [])


def test_records_of_a_gateway_too_many_are_counted(monkeypatch: Any) -> None:
    monkeypatch.setattr(series, "MOST_GATEWAYS", 2)
    state = live(
        *(beat(1, -1, [("a", "1", 1)], gateway=f"gw-{number}") for number in (0, 1, 2)), beat(2, -1, [("a", "1", 3)], gateway="gw-2")
    )
    assert of(state).connections[-2] == 2
    assert state.counts().dropped == {"series": 2}
