"""sinks/dashboard/past/series: sums held against plain Python, steps, and gaps that are no zeros."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from past_tables import DAY_MS, HOUR_MS, MINUTE_MS, NOW_MS, append, gauge

from sinks.dashboard.past.series import MOST_POINTS, TOP, points, series, step_of
from sinks.dashboard.past.tables import Span, Tables

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


@pytest.mark.parametrize(
    ("length_ms", "step_ms"),
    [
        (HOUR_MS, MINUTE_MS), (DAY_MS, 5 * MINUTE_MS), (7 * DAY_MS, 30 * MINUTE_MS), (30 * DAY_MS, 2 * HOUR_MS), (90 * DAY_MS, 6 * HOUR_MS),
        (400 * DAY_MS, DAY_MS), (800 * DAY_MS, 7 * DAY_MS),
    ],
)  # fmt: skip
def test_a_step_is_chosen_so_that_there_are_few_points(length_ms: int, step_ms: int) -> None:
    span = Span(NOW_MS - length_ms, NOW_MS)
    assert step_of(span) == step_ms
    assert len(points(span, step_ms)) <= MOST_POINTS
