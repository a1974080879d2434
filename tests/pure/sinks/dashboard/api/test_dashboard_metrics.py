"""``/metrics``: true to the official parser, whatever clients call themselves, and bounded."""

from __future__ import annotations

import pytest
from page_state import gauge, live, of_gateway, samples

from clientscope.model.gauge import Gauge
from clientscope.model.topics import CONNECTIONS, GAUGES
from sinks.dashboard.api.metrics import fold
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.state import State

HOSTILE = ['quote"', "back\\slash", "new\nline", '"} evil{x="', "# HELP x", "ø日本", "\\n", "", "a" * 256, "<img src=x onerror=alert(1)>"]


def test_hostile_names_stay_one_label_value_each_and_gateways_are_summed() -> None:
    both = [gauge(count, name, gateway=gateway) for i, name in enumerate(HOSTILE) for gateway, count in (("gw", i + 1), ("gw2", 100))]
    found = samples(live(*both), "clientscope_client_connections")
    expected = {("c", "1", "CLIENT", name.replace("\n", "\ufffd"), "1.0"): i + 101.0 for i, name in enumerate(HOSTILE)}
    assert found == expected


def test_before_the_topics_are_read_there_is_no_series_rather_than_a_wrong_one() -> None:
    state = State()
    state.apply([gauge(2), TopicRecord(CONNECTIONS, 1, b"k", b"")])
    assert samples(state, "clientscope_client_connections") == {}
    assert samples(state, "clientscope_serve_up_to_date") == {(): 0.0}
    assert samples(state, "clientscope_serve_records_read_total") == {(GAUGES,): 1.0, (CONNECTIONS,): 1.0}
    assert samples(state, "clientscope_serve_records_undecodable_total") == {(CONNECTIONS, "not_json"): 1.0}


@pytest.mark.parametrize("limit", [2, 10, 1_000])
def test_fold_keeps_the_sum_and_the_limit(limit: int) -> None:
    of = {"cluster": "c", "broker": 1, "gateway": "gw", "software_version": "1"}
    gauges = [Gauge(**of, software_name=f"n{i}", connections=i, listener=listener) for i in range(1, 700) for listener in ("A", "B")]
    series, folded = fold(gauges, limit)
    assert len(series) <= limit
    assert sum(series.values()) == sum(g.connections for g in gauges)
    assert folded == len(gauges) - (limit - 2)
    assert series["c", "1", "A", "other", "other"] > 0
    assert fold(gauges[:2], 2) == ({("c", "1", listener, "n1", "1"): 1 for listener in "AB"}, 0), "what fits stays"


def test_a_gateways_figures_are_shown_as_far_as_it_reports_them() -> None:
    def said() -> list[dict[tuple[str, ...], float]]:
        names = ("instances", "connections_opened_per_minute", "connections_closed_per_minute")
        return [samples(state, f"clientscope_client_{name}") for name in names]

    state = State()
    state.apply([of_gateway(gateway="g", instances=4, opened_per_minute=9, closed_per_minute=None)])
    assert said() == [{}, {}, {}], "not before all has been read"
    state.live()
    assert said() == [{("c", "1", "g"): 4}, {("c", "1", "g"): 9}, {}]
