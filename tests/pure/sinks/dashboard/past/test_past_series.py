"""sinks/dashboard/past over time: series, connections of the clients that a search leaves, both held against plain Python; client facts."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from golden import cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, append, connection, gauge, heartbeat
from past_tables import client_facts as row

from clientscope.model.enums import Kind
from sinks.dashboard.past import connections
from sinks.dashboard.past.connections import MOST_POINTS, TOP, Steps, series
from sinks.dashboard.past.process import Questions
from sinks.dashboard.past.pushes import MOST_POINTS as MOST_FACTS
from sinks.dashboard.past.pushes import Whose, client_facts
from sinks.dashboard.past.tables import NoAnswer, Span, Tables

START = NOW_MS // DAY_MS * DAY_MS


ROWS = st.lists(
    st.tuples(
        st.integers(0, 41).map(lambda number: number // 2 * 90 + number % 2),  # minutes; few, so that rows meet in one, and two in a step
        st.integers(0, 50),
        st.sampled_from(["librdkafka", "o'neil", "' OR 1=1 --", "kafka-python"]),
        st.sampled_from(["1", "2.6", "2.6'; --"]),
        st.sampled_from(["gw-1", "gw-2"]),
    ),
    max_size=60,
    unique_by=lambda row: (row[0], row[2], row[3], row[4]),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, first=st.integers(0, 4 * 60), length=st.integers(1, 40 * 60))
def test_gateways_are_summed_by_the_minute_and_the_greatest_minute_of_a_step_counts(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, str, str, str]], first: int, length: int
) -> None:
    folder = tmp_path_factory.mktemp("history")
    append(folder, "gauges", [gauge(START + minute * MINUTE_MS, count, name, version, gw) for minute, count, name, version, gw in rows])
    span = Span(START + first * MINUTE_MS, START + (first + length) * MINUTE_MS)
    found = series(Tables(folder), span)

    step = found["step_ms"]
    sums: dict[int, dict[tuple[str, str], int]] = defaultdict(lambda: defaultdict(int))
    for minute, count, name, version, _ in rows:
        if span.from_ms <= START + minute * MINUTE_MS < span.to_ms:
            sums[START + minute * MINUTE_MS][name, version] += count
    over_all: dict[tuple[str, str], int] = defaultdict(int)
    for of_minute in sums.values():
        for of_version, count in of_minute.items():
            over_all[of_version] += count
    top = sorted(over_all, key=lambda one: (-over_all[one], one))[:TOP]
    assert [(one["software_name"], one["software_version"]) for one in found["versions"]] == top

    for place, begin in enumerate(found["points"]):
        minutes = [of_minute for at_ms, of_minute in sums.items() if begin <= at_ms < begin + step]
        most = max((sum(of_minute.values()) for of_minute in minutes), default=None)
        assert found["connections"][place] == most
        rest = max((sum(count for one, count in of_minute.items() if one not in top) for of_minute in minutes), default=None)
        assert found["other"][place] == rest
        for one in found["versions"]:
            key = one["software_name"], one["software_version"]
            assert one["connections"][place] == max((of_minute.get(key, 0) for of_minute in minutes), default=None)


@pytest.mark.parametrize(("hours", "minutes"), cases(__file__, "steps.txt"))
def test_a_step_is_chosen_so_that_there_are_few_points(hours: str, minutes: str) -> None:
    span = Span(NOW_MS - int(hours) * HOUR_MS, NOW_MS)
    steps = Steps.of(span)
    assert steps.step_ms == int(minutes) * MINUTE_MS
    assert len(steps.points) <= MOST_POINTS
    assert len(Steps.of(span, MOST_FACTS).points) <= MOST_FACTS


CLIENTS = [
    {"client_id": None, "software_name": "unknown", "software_version": "unknown"},
    {"client_id": "o'neil", "principal": "User:a"},
    {"client_id": "b", "broker": 2, "software_version": "2.7"},
    {"client_id": "b", "address": "10.0.0.2"},
]


HOURS = 48


LATEST = (30 + 24) * 60
"""The latest minute at which a period below ends."""


WANTED = {"client_id:b": {2, 3}, "-client_id:b": {0, 1}, "broker:2": {2}, '-client_id:""': {1, 2, 3}}
"""Which of them a search leaves."""


class Life(NamedTuple):
    """A connection from one minute to another; None if it is still open."""

    client: int
    gateway: int
    opened: int
    closed: int | None


LIVES = st.lists(
    st.builds(
        lambda client, gateway, opened, length: Life(client, gateway, opened, None if length is None else opened + length),
        st.integers(0, len(CLIENTS) - 1),
        st.integers(1, 2),
        st.integers(0, HOURS * 60 - 1),
        st.one_of(st.none(), st.integers(0, 30 * 60)),
    ),
    max_size=12,
)


def rows(number: int, life: Life) -> list[dict[str, Any]]:
    """What a gateway records: its opening, itself each six hours, and its closing."""
    of = CLIENTS[life.client] | {"gateway": f"gw-{life.gateway}"}
    end = LATEST if life.closed is None else life.closed  # one that is open is recorded until then
    made = [connection(START + life.opened * MINUTE_MS, Kind.OPENED, number, **of)]
    made += [connection(START + at * MINUTE_MS, Kind.PRESENT, number, **of) for at in range(life.opened + 360, end, 360)]
    made += [heartbeat(ms, sequence=ms, heartbeat_interval_ms=121 * MINUTE_MS, **of) for ms in [row["timestamp_ms"] for row in made]]
    return made if life.closed is None else [*made, connection(START + life.closed * MINUTE_MS, Kind.CLOSED, number, **of)]


def asked(folder: Path, from_ms: int, to_ms: int, q: str) -> Any:
    return Questions(folder).answer("series", {"span": (from_ms, to_ms), "q": q, "now_ms": NOW_MS})


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lives=LIVES, first=st.integers(0, 30 * 60), length=st.integers(1, 24 * 60), q=st.sampled_from(list(WANTED)))
def test_a_step_has_all_that_were_there_at_any_moment_of_it(
    tmp_path_factory: pytest.TempPathFactory, lives: list[Life], first: int, length: int, q: str
) -> None:
    folder = tmp_path_factory.mktemp("history")
    append(folder, "connections", [row for number, life in enumerate(lives) for row in rows(number, life)])
    span = START + first * MINUTE_MS, START + (first + length) * MINUTE_MS
    append(folder, "gauges", [gauge(at, 1) for at in range(*span, MINUTE_MS)])
    found = asked(folder, *span, q)

    for place, begin in enumerate(found["points"]):
        first_ms, last_ms = max(begin, span[0]), min(begin + found["step_ms"], span[1]) - 1
        there = [
            life
            for life in lives
            if life.client in WANTED[q]
            and START + life.opened * MINUTE_MS <= last_ms
            and (life.closed is None or START + life.closed * MINUTE_MS >= first_ms)
        ]
        assert found["connections"][place] == len(there)
        assert sum(one["connections"][place] for one in found["versions"]) + found["other"][place] == len(there)


def test_a_connection_of_a_gateway_that_was_killed_ends_when_three_heartbeats_are_missing(tmp_path: Path) -> None:
    killed = [connection(START, Kind.OPENED, 1), connection(START + 6 * HOUR_MS, Kind.PRESENT, 1)]
    heard = [heartbeat(START + hour * HOUR_MS, heartbeat_interval_ms=20 * MINUTE_MS) for hour in range(9)]
    again = connection(START + 12 * HOUR_MS, Kind.OPENED, 1, epoch=2, client_id="other")
    append(tmp_path, "connections", [*killed, *heard, again])
    append(tmp_path, "gauges", [gauge(START + hour * HOUR_MS, 1) for hour in range(24)])
    found = asked(tmp_path, START, START + DAY_MS, "client_id:app")
    there = [begin for begin, count in zip(found["points"], found["connections"], strict=True) if count]
    assert (there[0], there[-1]) == (START, START + 8 * HOUR_MS)
    assert found["connections"][1] is None, "nothing was recorded then"


def test_the_ninth_version_is_other(tmp_path: Path) -> None:
    append(tmp_path, "connections", [connection(START + 1, Kind.OPENED, n, software_version=str(n)) for n in range(10)])
    append(tmp_path, "gauges", [gauge(START + 50 * MINUTE_MS, 10)])
    found = asked(tmp_path, START, START + HOUR_MS, "app")
    assert [one["software_version"] for one in found["versions"]] == [str(number) for number in range(8)]
    assert (found["connections"][50], found["other"][50]) == (10, 2)


def test_what_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_LIFETIMES", 1)
    append(tmp_path, "connections", [connection(START + number, Kind.OPENED, number, client_id=str(number)) for number in range(2)])
    append(tmp_path, "gauges", [gauge(START, 2)])
    with pytest.raises(NoAnswer, match="more than 1 "):
        asked(tmp_path, START, START + HOUR_MS, "connections:>0")


STEP_MS = 5 * MINUTE_MS


SPAN = Span(NOW_MS - 3 * HOUR_MS, NOW_MS)


AT_MS = (NOW_MS - HOUR_MS) // STEP_MS * STEP_MS


def facts_of(folder: Path, span: Span = SPAN, **whose: str) -> dict[str, Any]:
    return dict(client_facts(Tables(folder), span, Whose(**(whose or {"client_id": "app"}))))


def said(answer: dict[str, Any], kind: str, at_ms: int = AT_MS) -> dict[str, float | None]:
    """The facts of one step."""
    (of,) = [each for each in answer["kinds"] if each["kind"] == kind]
    return {fact["name"]: fact["values"][answer["points"].index(at_ms)] for fact in of["facts"]}


def test_an_instances_pushes_of_a_step_are_one_and_instances_are_added(tmp_path: Path) -> None:
    names = ("record_rate", "request_latency_max_ms", "request_latency_avg_ms", "record_errors", "buffer_available_bytes")
    pushes = [(5, (10.0, 30.0, 4.0, 1.0, 9.0)), (5, (20.0, 90.0, 6.0, 2.0, 3.0)), (6, (100.0, 50.0, 7.0, 0.0, 5.0))]
    rows = [
        row(AT_MS + number * MINUTE_MS, instance=instance, **dict(zip(names, facts, strict=True)))
        for number, (instance, facts) in enumerate(pushes)
    ]
    append(tmp_path, "client_facts", [*rows, row(AT_MS, "consumer", record_rate=2.0), row(AT_MS, client_kind=None)])
    answer = facts_of(tmp_path)
    assert answer["step_ms"] == STEP_MS
    assert [(of["kind"], of["instances"]) for of in answer["kinds"]] == [("producer", 2), ("consumer", 1)], "of one name, and apart"
    assert said(answer, "consumer") == {"record_rate": 2.0}
    assert said(answer, "producer") == dict(zip(names, (115.0, 90.0, 6.0, 3.0, 3.0), strict=True))
    assert set(said(answer, "producer", AT_MS + STEP_MS).values()) == {None}, "a gap, and no zero"


def test_only_theirs_count(tmp_path: Path) -> None:
    others = [
        row(AT_MS, client_id="app-2", record_rate=5.0), row(AT_MS, principal="User:x", record_rate=7.0),
        row(AT_MS, address="10.0.0.9", record_rate=9.0), row(AT_MS - DAY_MS, record_rate=11.0),
    ]  # fmt: skip
    append(tmp_path, "client_facts", [row(AT_MS, record_rate=1.0), *others])
    mine = {"client_id": "app", "principal": "User:ANONYMOUS", "address": "10.0.0.1"}
    assert said(facts_of(tmp_path, **mine), "producer") == {"record_rate": 1.0}
    assert facts_of(tmp_path, client_id="' OR 1=1 --")["kinds"] == []


def test_without_the_table_nothing_was_recorded_which_is_no_error(tmp_path: Path) -> None:
    """Most sites have none, and each client's page asks."""
    assert (facts_of(tmp_path)["recorded"], facts_of(tmp_path)["kinds"]) == (False, [])
    append(tmp_path, "client_facts", [row(AT_MS, "producer", record_rate=1.0)])
    assert facts_of(tmp_path)["recorded"]
