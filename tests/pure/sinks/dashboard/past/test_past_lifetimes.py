"""sinks/dashboard/past/lifetimes: connections over time of the clients that a search leaves, held against plain Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, append, connection, gauge

from clientscope.records.layouts import Kind
from sinks.dashboard.past import lifetimes
from sinks.dashboard.past.problems import NoAnswer
from sinks.dashboard.past.questions import Questions

START = NOW_MS // DAY_MS * DAY_MS
CLIENTS = [
    {"client_id": None, "client_software_name": "unknown", "client_software_version": "unknown"},
    {"client_id": "o'neil", "principal": "User:a"},
    {"client_id": "b", "broker_id": 2, "client_software_version": "2.7"},
    {"client_id": "b", "client_address": "10.0.0.2"},
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
    of = CLIENTS[life.client] | {"gateway_id": f"gw-{life.gateway}"}
    end = LATEST if life.closed is None else life.closed  # one that is open is recorded until then
    made = [connection(START + life.opened * MINUTE_MS, Kind.OPENED, number, **of)]
    made += [connection(START + at * MINUTE_MS, Kind.PRESENT, number, **of) for at in range(life.opened + 360, end, 360)]
    return made if life.closed is None else [*made, connection(START + life.closed * MINUTE_MS, Kind.CLOSED, number, **of)]


def asked(folder: Path, from_ms: int, to_ms: int, q: str) -> Any:
    return Questions(folder, lambda: 0.0).answer("series", {"span": (from_ms, to_ms), "q": q, "now_ms": NOW_MS})


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


def test_a_connection_of_a_gateway_that_was_killed_ends_with_its_last_record(tmp_path: Path) -> None:
    killed = [connection(START, Kind.OPENED, 1), connection(START + 6 * HOUR_MS, Kind.PRESENT, 1)]
    again = connection(START + 12 * HOUR_MS, Kind.OPENED, 1, gateway_epoch=2, client_id="other")
    append(tmp_path, "connections", [*killed, again])
    append(tmp_path, "gauges", [gauge(START + hour * HOUR_MS, 1) for hour in range(24)])
    found = asked(tmp_path, START, START + DAY_MS, "client_id:app")
    there = [begin for begin, count in zip(found["points"], found["connections"], strict=True) if count]
    assert (there[0], there[-1]) == (START, START + 6 * HOUR_MS)
    assert found["connections"][1] is None, "nothing was recorded then"


def test_the_ninth_version_is_other(tmp_path: Path) -> None:
    append(tmp_path, "connections", [connection(START + 1, Kind.OPENED, n, client_software_version=str(n)) for n in range(10)])
    append(tmp_path, "gauges", [gauge(START, 10)])
    found = asked(tmp_path, START, START + HOUR_MS, "app")
    assert [one["software_version"] for one in found["versions"]] == [str(number) for number in range(8)]
    assert (found["connections"][0], found["other"][0]) == (10, 2)


def test_what_does_not_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifetimes, "MOST_LIFETIMES", 1)
    append(tmp_path, "connections", [connection(START + number, Kind.OPENED, number, client_id=str(number)) for number in range(2)])
    append(tmp_path, "gauges", [gauge(START, 2)])
    with pytest.raises(NoAnswer, match="more than 1 "):
        asked(tmp_path, START, START + HOUR_MS, "connections:>0")
