"""From newest counts to what the gauges' topic says."""

from __future__ import annotations

import json
from typing import Any

from sinks.gauges import Changes, Gauges

JAVA, GO = ("java", "4.4.0"), ("go", "1")


def series(name: tuple[str, str], sequence: int, connections: int, epoch: int = 1, gateway: str = "g") -> dict[str, Any]:
    return {
        "cluster": "c", "broker": 1, "gateway": gateway, "listener": "CLIENT", "software_name": name[0], "software_version": name[1],
        "epoch": epoch, "sequence": sequence, "timestamp_ms": 0, "connections": connections, "opened": 9, "closed": 9 - connections,
        "heartbeat_interval_ms": 0, "heartbeat_part": 0, "appended_ms": 0,
    }  # fmt: skip


def beat(sequence: int, epoch: int = 1, interval_ms: int = 5000, gateway: str = "g", **changes: Any) -> dict[str, Any]:
    nothing = dict.fromkeys(("listener", "software_name", "software_version", "connections", "opened", "closed"))
    return series(JAVA, sequence, 0, epoch, gateway) | nothing | {"heartbeat_interval_ms": interval_ms} | changes


def key(name: tuple[str, str], gateway: str = "g") -> str:
    return f'["c",1,"{gateway}","CLIENT","{name[0]}","{name[1]}"]'


def told(changes: Changes) -> dict[str, int | None]:
    """The changes as connections by key, None for a tombstone."""
    return {key: None if value is None else json.loads(value)["connections"] for key, value in changes.items()}


def test_a_value_is_compact_json_with_the_series_in_key_and_value() -> None:
    changes = Gauges({}, now=0).apply([series(JAVA, 3, 2)], now=0)
    assert changes == {
        key(JAVA): b'{"cluster":"c","broker":1,"gateway":"g","listener":"CLIENT","software_name":"java","software_version":"4.4.0",'
        b'"connections":2,"opened":9,"closed":7,"epoch":1,"sequence":3,"timestamp_ms":0}'
    }


def test_only_what_changed_is_written() -> None:
    gauges = Gauges({}, now=0)
    assert told(gauges.apply([series(JAVA, 0, 1), series(GO, 1, 1)], now=0)) == {key(JAVA): 1, key(GO): 1}
    assert told(gauges.apply([series(JAVA, 2, 1), series(GO, 3, 2), beat(4)], now=0)) == {key(GO): 2}


def test_zero_is_a_tombstone_once() -> None:
    gauges = Gauges({}, now=0)
    gauges.apply([series(JAVA, 0, 1)], now=0)
    assert told(gauges.apply([series(JAVA, 1, 0)], now=0)) == {key(JAVA): None}
    assert gauges.apply([series(JAVA, 2, 0)], now=0) == {}


def test_never_negative() -> None:
    assert Gauges({}, now=0).apply([series(JAVA, 0, -1)], now=0) == {}


def test_a_new_epoch_replaces_the_old_ones_series_and_only_that_gateways() -> None:
    gauges = Gauges({}, now=0)
    gauges.apply([series(JAVA, 0, 1), series(GO, 1, 1), series(GO, 0, 1, gateway="h")], now=0)
    assert told(gauges.apply([series(GO, 0, 3, epoch=2)], now=0)) == {key(JAVA): None, key(GO): 3}
    assert gauges.apply([series(JAVA, 99, 5, epoch=1)], now=0) == {}


def test_an_epoch_that_only_a_heartbeat_tells_of_replaces_too() -> None:
    gauges = Gauges({}, now=0)
    gauges.apply([series(JAVA, 0, 1)], now=0)
    assert told(gauges.apply([beat(0, epoch=2)], now=0)) == {key(JAVA): None}


def test_a_farewell_takes_all_series() -> None:
    gauges = Gauges({}, now=0)
    gauges.apply([series(JAVA, 0, 1), beat(1)], now=0)
    assert told(gauges.apply([beat(2, interval_ms=0)], now=0)) == {key(JAVA): None}
    assert gauges.apply([series(JAVA, 0, 1)], now=0) == {}
    assert gauges.expire(now=1000) == {}


def test_a_silent_gateway_is_lost_after_three_intervals_and_comes_back() -> None:
    gauges = Gauges({}, now=0)
    gauges.apply([series(JAVA, 0, 1), beat(1), series(GO, 0, 1, gateway="h"), beat(1, gateway="h", interval_ms=60_000)], now=100)
    assert gauges.expire(now=115) == {}
    assert told(gauges.expire(now=115.1)) == {key(JAVA): None}
    assert gauges.expire(now=116) == {}
    assert told(gauges.apply([series(JAVA, 5, 1), beat(5)], now=120)) == {key(JAVA): 1}


def test_a_heartbeat_read_late_is_as_old_as_kafka_says() -> None:
    gauges = Gauges({}, now=0)
    gauges.apply([series(JAVA, 0, 1), beat(1, appended_ms=1_000), beat(1, gateway="h", appended_ms=11_000)], now=100)
    assert told(gauges.expire(now=105.1)) == {key(JAVA): None}


def test_a_series_that_three_heartbeats_do_not_mention_is_gone() -> None:
    gauges = Gauges({}, now=0)
    gauges.apply([series(JAVA, 0, 1), series(GO, 1, 1)], now=0)
    changes = [gauges.apply([series(GO, sequence, 1), beat(sequence)], now=0) for sequence in (2, 3, 4)]
    assert [told(change) for change in changes] == [{}, {}, {key(JAVA): None}]


def test_parts_of_one_heartbeat_count_as_one() -> None:
    gauges = Gauges({}, now=0)
    gauges.apply([series(JAVA, 0, 1)], now=0)
    for part in range(4):
        assert gauges.apply([beat(10 + part, heartbeat_part=part)], now=0) == {}


def test_a_restart_writes_nothing_again() -> None:
    gauges = Gauges({}, now=0)
    published = gauges.apply([series(JAVA, 0, 1), series(GO, 1, 2)], now=0)
    again = Gauges({key: value for key, value in published.items() if value}, now=0)
    assert again.apply([series(JAVA, 0, 1), series(GO, 1, 2)], now=0) == {}
    assert told(again.apply([series(JAVA, 2, 0)], now=0)) == {key(JAVA): None}


def test_a_restart_gives_the_benefit_of_the_doubt_then_forgets_who_stays_silent() -> None:
    published = Gauges({}, now=0).apply([series(JAVA, 0, 1)], now=0)
    again = Gauges({key: value for key, value in published.items() if value}, now=50)
    assert again.expire(now=60) == {}
    assert told(again.expire(now=141)) == {key(JAVA): None}


def test_series_of_two_epochs_left_by_a_crash_end_as_the_newer() -> None:
    older = Gauges({}, now=0).apply([series(JAVA, 0, 1, epoch=1)], now=0)
    newer = Gauges({}, now=0).apply([series(GO, 0, 1, epoch=2)], now=0)
    for published in (older | newer, newer | older):
        again = Gauges({key: value for key, value in published.items() if value}, now=0)
        assert told(again.apply([beat(1, epoch=2)], now=0)) == {key(JAVA): None}
