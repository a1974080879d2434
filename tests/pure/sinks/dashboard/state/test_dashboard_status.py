"""Status of processes and brokers, and of those that have fallen silent."""

from __future__ import annotations

from typing import Any

from page_state import NOW_MS, broker, browser, live, process, says

from clientscope.model.topics import STATUS
from sinks.dashboard.state.known import TopicRecord


def test_health_is_shown_as_the_process_reported_it() -> None:
    state = live(process(condition="warn", reason="behind", lag_records=7, lag_ms=900, figures={"open": 3}), process("gateway", "gw"))
    gateway, query = state.overview(NOW_MS).health
    assert (gateway.kind, gateway.id, gateway.stale) == ("gateway", "gw", False)
    assert (query.condition, query.reason, query.lag_records, query.lag_ms) == ("warn", "behind", 7, 900)
    assert (query.told_ms, query.figures) == (NOW_MS, {"open": 3})  # by Kafka's clock, not its own


def test_job_has_read_what_its_queries_have_read() -> None:
    queries = [process(name=name, lag_records=lag, lag_ms=lag, last_record_ms=at) for name, lag, at in (("a", 3, 50), ("b", 0, 90))]
    stream, *_ = live(process("stream", "vm"), *queries, process(name="c")).overview(NOW_MS).health
    assert (stream.kind, stream.lag_records, stream.lag_ms, stream.last_record_ms) == ("stream", 3, 3, 90)
    assert live(process("stream", "vm")).overview(NOW_MS).health[0].last_record_ms is None


def test_who_is_silent_for_three_intervals_is_stale_and_an_event_says_so() -> None:
    state = live(process())
    assert not state.overview(NOW_MS + 15_000).health[0].stale
    state.tick(NOW_MS + 15_000)
    version = state.version
    state.tick(NOW_MS + 15_001)
    assert state.version > version
    (health,) = state.overview(NOW_MS + 15_001).health
    assert (health.stale, health.reason) == (True, "Nothing was heard of it for 15 seconds.")
    state.apply([process(at_ms=NOW_MS + 16_000)])
    assert not state.overview(NOW_MS + 16_000).health[0].stale


def test_a_stopped_process_is_not_stale_and_a_tombstone_removes_it() -> None:
    state = live(process(condition="stopped"))
    (health,) = state.overview(NOW_MS + 10**9).health
    assert (health.stale, health.condition) == (False, "stopped")
    state.apply([TopicRecord(STATUS, NOW_MS, process().key, None)])
    assert state.overview(NOW_MS).health == []


def test_a_kind_of_a_later_release_is_left_alone() -> None:
    state = live(TopicRecord(STATUS, 1, b'["robot","a"]', b'{"x":1}'))
    assert state.counts().undecodable == {}


BROKERS = [
    broker(2, apis={"0": (0, 12), "18": (0, 4), "1324": (0, 0)}, software_version="4.4.0"),
    broker(1, apis={"0": (0, 11), "18": (0, 4)}),
    broker(3, reason="unreachable"),
    broker(9, cluster="other", apis={"0": (0, 3)}),
    broker(4, apis={"0": (0, 1)}, at_ms=NOW_MS - 181_000),
    broker(5, cluster="named", host="kafka-1", rack="a"),
    broker(6, cluster="named", host="kafka-2", rack="a", software_name="apache-kafka", software_version="4.4.0", source="declared"),
    broker(7, cluster="named", host="kafka-3", rack="b"),
]


def test_brokers_where_they_differ_and_how_they_are_searched() -> None:
    """Those that a search leaves are compared."""

    def brief(body: Any) -> Any:
        shown = ("cluster", "broker", "software_version", "reason", "stale")
        brokers = [[each[name] for name in shown] for each in body["items"]]
        return [body["total"], brokers, body["differences"]]

    assert says(browser(live(*BROKERS)), __file__, "brokers.txt", brief)
