"""Numbers by minute: from heartbeats and events alone, null where nothing is known, the same in every copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import page_state
import pytest
from every import every
from page_state import live, opened, process, result

from clientscope.api.clients import Series
from clientscope.model.enums import Kind
from sinks.dashboard.state import gauges
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State

MINUTE = gauges.MINUTE_MS
NOW = 29_000_000 * MINUTE + 30_000


def beat(sequence: int, minute: int, counts: Iterable[tuple[str, str, int]], **fields: Any) -> TopicRecord:
    """A heartbeat, ``minute`` minutes from now."""
    return page_state.beat(sequence, *counts, **{"at_ms": NOW + minute * MINUTE, "heartbeat_interval_ms": 30_000, **fields})


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


def a(minute: int, count: int, sequence: int = 1, **fields: Any) -> TopicRecord:
    """A heartbeat that counts one version."""
    return beat(sequence, minute, [("a", "1", count)], **fields)


PARTS = [beat(5 + n, 0, [("a", str(n), 2)], heartbeat_part=n, heartbeat_parts=2) for n in range(2)]
BY_MINUTE: dict[str, tuple[list[TopicRecord], list[int | None]]] = {
    "a gateway that falls silent is not known any more": ([a(-5, 3)], [3, 3, 3, None, None, None]),
    "until it is heard again": ([a(-5, 3), a(-1, 4, 2)], [3, None, None, None, 4, 4]),
    "a new process takes the place of the old one": ([a(-2, 3, 9), a(-2, 1, 0, epoch=2)], [None, None, None, 1, 1, 1]),
    "a goodbye leaves nothing": ([a(-3, 3), beat(2, -2, [], heartbeat_interval_ms=0)], [None, None, 3, 0, None, None]),
    "gateways add up, whatever the order of their partitions": (
        [a(-5 + n, count, n, gateway=name) for name, count in (("one", 1), ("two", 10)) for n in range(6)], [11] * 6,
    ),
    "half a heartbeat is none": (PARTS[:1], [None] * 6),
    "a heartbeat in parts counts once": (PARTS * 2, [*[None] * 5, 4]),
}  # fmt: skip


@pytest.mark.parametrize(("records", "expected"), BY_MINUTE.values(), ids=BY_MINUTE)
def test_a_minute_has_what_was_reported_last(records: list[TopicRecord], expected: list[int | None]) -> None:
    assert of(live(*records)).connections == expected
    nobody = State()
    nobody.apply(records)
    unread = of(nobody, 3)
    assert (unread.connections, unread.opened, unread.pushes, unread.versions) == (*[[None] * 3] * 3, []), "before the topics were read"


def test_versions_and_gateways_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauges, "MOST_VERSIONS", 2)
    counts = [(name, "1", 1) for name in "abcd"]
    found = of(live(beat(1, 0, counts), beat(2, 0, counts[1:])), 1)
    assert found.connections == [3]
    assert all(count is None or count >= 0 for each in every(found.versions) for count in each.connections)
    monkeypatch.setattr(gauges, "MOST_GATEWAYS", 2)
    state = live(*(a(-1, 1, gateway=f"gw-{number}") for number in (0, 1, 2)), a(-1, 3, 2, gateway="gw-2"))
    assert of(state).connections[-2] == 2
    assert state.counts().dropped == {"series": 2}


def test_the_largest_eight_and_all_others() -> None:
    counts = [(f"s{number:02}", "1", number + 1) for number in range(12)]
    found = of(live(beat(1, 0, counts)), 1)
    assert [each.software_name for each in found.versions] == [f"s{number:02}" for number in range(11, 3, -1)]
    assert found.other == [1 + 2 + 3 + 4]
    assert found.connections == [sum(range(1, 13))]


def test_what_opened_and_closed_counts_once_and_only_while_somebody_tells() -> None:
    at = {"gateway": "gw", "at_ms": NOW - MINUTE}
    events = [opened(number, **at) for number in (2, 3, 4)] + [opened(5, kind=Kind.CLOSED, connection=2, **at)]
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
    state = live(beat(1, -gauges.MINUTES - 5, [("a", "1", 1)]), beat(2, 0, [("a", "1", 2)]))
    then = NOW - (gauges.MINUTES + 5) * MINUTE
    assert of(state, 1, then).connections == [1]
    state.tick(NOW)
    assert of(state, 1_440).connections[-1] == 2
    assert of(state, 1, then).connections == [None]
