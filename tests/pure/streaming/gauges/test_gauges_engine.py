"""From gateways' records to the records of the gauges' topic."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gauge_rows import Topic, beat, heartbeat, listed, series
from golden import cases

from clientscope.model.input import InputRecord
from clientscope.presence import FORGOTTEN_MS
from streaming.gauges import Changes, Gauges
from streaming.gauges import series as table
from streaming.gauges.read_clock import RETURN_S

JAVA, GO = ("java", "1"), ("go", "1")


@pytest.fixture
def gauges() -> Gauges:
    return Gauges({}, now=0)


@pytest.fixture
def topic() -> Topic:
    return Topic()


def key(name: tuple[str, str]) -> str:
    return f'["c",1,"g","CLIENT","{name[0]}","{name[1]}"]'


def changed(changes: Changes) -> dict[str, int | None]:
    """The changes of series as connections by the software's name, with the gateway if it isn't "g"; None for a tombstone."""
    found: dict[str, int | None] = {}
    for key, value in changes.items():
        _, _, gateway, *series = json.loads(key)
        if series:
            found[series[1] if gateway == "g" else f"{gateway} {series[1]}"] = value and json.loads(value)["connections"]
    return found


def row(changes: Changes, gateway: str = "g") -> dict[str, Any]:
    """The record of the gateway itself."""
    value = changes[f'["c",1,"{gateway}"]']
    assert value is not None
    return dict(json.loads(value))


def test_a_value_is_compact_json_with_the_series_in_key_and_value() -> None:
    changes = Gauges({}, now=0).apply([series(JAVA, 3, 2)], now=0)
    assert changes == {
        key(JAVA): b'{"version":1,"kind":"series","cluster":"c","broker":1,"gateway":"g","listener":"CLIENT","software_name":"java",'
        b'"software_version":"1","connections":2,"opened":9,"closed":7,"epoch":1,"sequence":3,"timestamp_ms":0}'
    }


EARLY, LATE = {"heartbeat_part": 0, "heartbeat_parts": 2}, {"heartbeat_part": 1, "heartbeat_parts": 2}
THIRDS = [beat(10 + part, heartbeat_part=part, heartbeat_parts=3) for part in range(3)]


@pytest.mark.parametrize(
    "batches",
    [
        [
            ([series(JAVA, 0, 1), series(GO, 1, 1)], {"java": 1, "go": 1}),
            ([series(JAVA, 2, 1), series(GO, 3, 2)], {"go": 2}),
            (heartbeat(4, {"java": 1, "go": 2}), {}),
            (heartbeat(5, {"java": 1, "go": 2}), None),
        ],
        [
            ([series(JAVA, 0, 1)], {"java": 1}),
            *(([entry], {}) for entry in (THIRDS[2], THIRDS[0], THIRDS[0], THIRDS[2])),
            ([THIRDS[1]], {"java": None}),
        ],
        [
            ([beat(10, **EARLY)], {}),
            ([series(JAVA, 0, 1, epoch=2)], {"java": 1}),
            ([beat(11, epoch=2, **LATE)], {}),
            ([beat(10, epoch=2, **EARLY)], {"java": None}),
        ],
        [([beat(20, **EARLY), series(GO, 15, 1)], {"go": 1}), ([beat(10)], {}), ([beat(21, **LATE)], {"go": None})],
    ],
    ids=[
        "only what changed is written",
        "a heartbeat counts once all its parts have come, in any order", "parts of an earlier process complete no heartbeat",
        "an older heartbeat leaves the parts of a newer one",
    ],
)  # fmt: skip
def test_batches_change_series(gauges: Gauges, batches: list[tuple[list[InputRecord], dict[str, int | None] | None]]) -> None:
    """One after the other; None where nothing at all is written."""
    for batch, expected in batches:
        changes = gauges.apply(batch, now=0)
        assert changed(changes) == (expected or {})
        assert expected is not None or changes == {}


def test_a_farewell_takes_all_series_and_the_gateway(gauges: Gauges) -> None:
    gauges.apply([series(JAVA, 0, 1), listed(JAVA, 1, 1)], now=0)
    assert gauges.apply([beat(2, interval_ms=0)], now=0) == {key(JAVA): None, '["c",1,"g"]': None}
    assert gauges.size() == 1
    assert gauges.apply([series(JAVA, 0, 1), series(GO, 1, 1), beat(1)], now=0) == {}
    assert gauges.expire(1000) == {}
    assert changed(gauges.apply([series(JAVA, 0, 1, epoch=2)], now=2000)) == {"java": 1}


def test_a_silent_gateway_is_lost_after_three_intervals_and_comes_back(gauges: Gauges) -> None:
    slow = heartbeat(1, {"go": 1}, gateway="h", interval_ms=60_000)
    gauges.apply([*heartbeat(1, {"java": 1}), *slow], now=100)
    assert gauges.expire(115) == {}
    assert gauges.expire(115.1) == {key(JAVA): None, '["c",1,"g"]': None}
    assert gauges.expire(116) == {}
    assert gauges.apply([series(JAVA, 5, 2)], now=119) == {}, "a late record is no return"
    assert gauges.apply(heartbeat(1, {"java": 1}), now=119) == {}, "a repeated heartbeat neither"
    assert changed(gauges.apply(heartbeat(6, {"java": 2}), now=120)) == {"java": 2}


@pytest.mark.parametrize(
    ("interval_s", "returned_s", "gone_s"),
    [(5, 99, 115), (5, 100, 105 + RETURN_S), (5, 200, 205 + RETURN_S), (60, 200, 260 + RETURN_S)],
    ids=["heard since", "heard just then", "heard before", "a slow one has an interval more"],
)
def test_a_gateway_has_time_to_return_where_kafka_was_away(gauges: Gauges, interval_s: int, returned_s: float, gone_s: float) -> None:
    gauges.apply(heartbeat(1, {"java": 1}, interval_ms=1_000 * interval_s), now=100)
    assert gauges.expire(gone_s, returned_s) == {}
    assert changed(gauges.expire(gone_s + 0.1, returned_s)) == {"java": None}


def test_a_gateway_that_was_heard_when_kafka_was_back_has_time_to_return(gauges: Gauges) -> None:
    returned = 1143618.9010222603  # which is another number of seconds once it was one of milliseconds
    gauges.apply(heartbeat(1, {"java": 1}), now=returned)
    assert gauges.expire(returned + 40, returned) == {}


@pytest.mark.parametrize(
    ("beats", "gone_at"),
    [
        ([(100, 2, 0), (5_000, 2, 0)], 100),
        ([(100, 2, 0), (5_000, 3, 5_000), (5_001, 4, 0)], 5_001),
        ([(100, 2, 0), (5_000, 1, 5_000), (5_001, 2, 0)], 100),
    ],
    ids=["repeated", "it was back in between", "a late heartbeat is no return"],
)
def test_a_repeated_farewell_does_not_put_off_forgetting(gauges: Gauges, beats: list[tuple[float, int, int]], gone_at: float) -> None:
    """Beats are times, sequences and intervals; an interval of 0 says farewell."""
    gauges.apply(heartbeat(1, {"java": 1}), now=50)
    for now, sequence, interval_ms in beats:
        gauges.apply([beat(sequence, interval_ms=interval_ms)], now=now)
    gauges.expire(gone_at + FORGOTTEN_MS / 1000)
    assert gauges.size() == 1
    gauges.expire(gone_at + FORGOTTEN_MS / 1000 + 0.1)
    assert gauges.size() == 0


def test_a_heartbeat_that_is_repeated_in_one_batch_is_as_old_as_its_first_record(gauges: Gauges) -> None:
    gauges.apply([listed(JAVA, 1, 1, offset=9), listed(JAVA, 1, 1, offset=3)], now=100, appended=lambda _, offset: 90.0 + offset)
    assert changed(gauges.expire(108)) == {}
    assert changed(gauges.expire(108.1)) == {"java": None}


@pytest.mark.parametrize(
    ("appended", "heard_at"),
    [([90.0], 90.0), ([100.0, 90.0], 100.0), ([90.0, 110.0, 100.0], 110.0)],
)
def test_an_older_append_time_does_not_make_a_gateway_silent_for_longer(gauges: Gauges, appended: list[float], heard_at: float) -> None:
    """Another partition's records may seem older than those before them; the first heartbeat is as old as its record."""
    for offset in range(len(appended)):
        gauges.apply([listed(JAVA, offset, 1, offset=offset)], now=110, appended=lambda _, offset: appended[offset])
    assert changed(gauges.expire(heard_at + 15)) == {}
    assert changed(gauges.expire(heard_at + 15.1)) == {"java": None}


def test_a_gateway_without_a_heartbeat_is_lost_too(gauges: Gauges) -> None:
    gauges.apply([series(JAVA, 0, 1)], now=0)
    assert gauges.expire(90) == {}
    assert changed(gauges.expire(90.1)) == {"java": None}


def test_a_gateways_own_row(gauges: Gauges) -> None:
    figures = {"instances": 3, "opened": 40, "closed": 30, "host": "edge-3"}
    assert row(gauges.apply([beat(7, timestamp_ms=1_000, appended_ms=1_100, **figures)], now=0)) == {
        "version": 1, "kind": "gateway", "cluster": "c", "broker": 1, "gateway": "g", "instances": 3,
        "opened_per_minute": 0, "closed_per_minute": 0, "opened": 40, "closed": 30,
        "heartbeat_interval_ms": 5000, "clock_skew_minutes": 0, "epoch": 1, "sequence": 7, "timestamp_ms": 1_100, "host": "edge-3",
    }  # fmt: skip
    assert [gauges.host("c", 1, gateway) for gateway in ("g", "another")] == ["edge-3", ""]


@pytest.mark.parametrize(("steps", "expected"), cases(__file__, "rates.txt"))
def test_opened_and_closed_per_minute(topic: Topic, steps: str, expected: str) -> None:
    gauges, said = Gauges({}, now=0), list[str]()
    for sequence, step in enumerate(steps.split("; ")):
        if step == "restart":
            gauges = Gauges(topic.values, now=0)
            continue
        at_s, opened, closed, epoch, *_ = map(float, (*step.split(), "1"))
        figures = {"opened": int(opened), "closed": int(closed), "appended_ms": round(at_s * 1000)}
        topic.take(gauges, [beat(sequence, epoch=int(epoch), **figures)])
        (row,) = topic.gateways()
        said.append(f"{row['opened_per_minute']} {row['closed_per_minute']}")
    assert "; ".join(said) == expected


NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("timestamp_ms", "is_right", "skew_minutes"),
    [
        (-(2**62), False, None),
        (0, False, None),
        (4_102_444_800_000, False, None),
        (2**62, False, None),
        (NOW_MS - 86_400_000, True, -1_440),
        (NOW_MS - 86_400_001, False, -1_440),
        (NOW_MS + 300_000, True, 0),
        (NOW_MS + 300_001, False, 5),
    ],
)
def test_f29_a_timestamp_that_cannot_be_right_is_kafkas_own_and_flagged(
    gauges: Gauges, timestamp_ms: int, is_right: bool, skew_minutes: int | None
) -> None:
    """Right is what is from a day behind to five minutes ahead."""
    times = {"timestamp_ms": timestamp_ms, "appended_ms": NOW_MS}
    changes = gauges.apply(heartbeat(1, {"java": 2}, **times), now=0)
    assert json.loads(changes[key(JAVA)] or b"")["timestamp_ms"] == (timestamp_ms if is_right else NOW_MS)
    assert row(changes)["timestamp_ms"] == NOW_MS
    skew = row(changes)["clock_skew_minutes"]
    assert abs(skew) > 60 * 24 * 365 if skew_minutes is None else skew == skew_minutes
    assert gauges.expire(15) == {}, "whether it is lost is none of its clock's business"
    assert gauges.expire(15.1) != {}


def test_f28_series_beyond_twice_a_gateways_bound_are_left_out_until_there_is_room(monkeypatch: pytest.MonkeyPatch, topic: Topic) -> None:
    monkeypatch.setattr(table, "MOST_SERIES", 2)
    gauges = Gauges({}, now=0)
    topic.take(gauges, heartbeat(0, {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}))
    topic.take(gauges, [series(("f", "1"), 1, 6), series(("a", "1"), 2, 7)])
    assert {each["software_name"]: each["connections"] for each in topic.series()} == {"a": 7, "b": 2, "c": 3, "d": 4}
    (reported,) = [each for full in gauges.limits if (each := full.condition(1_000)) is not None]
    assert [full.count for full in gauges.limits] == [0, 2]
    assert 'gateway "g" of broker 1' in reported.message
    for sequence in (3, 4):
        topic.take(gauges, heartbeat(sequence, {"e": 5, "f": 6}))
    assert {each["software_name"]: each["connections"] for each in topic.series()} == {"e": 5, "f": 6}


def test_heartbeat_makes_room_for_the_series_after_it_in_one_batch(monkeypatch: pytest.MonkeyPatch, topic: Topic) -> None:
    monkeypatch.setattr(table, "MOST_SERIES", 2)
    gauges = Gauges({}, now=0)
    churn = [each for first in range(0, 30, 3) for each in heartbeat(first, {f"n{first}": 1, f"n{first + 1}": 2})]
    topic.take(gauges, churn[::-1])
    assert {each["software_name"]: each["connections"] for each in topic.series()} == {"n27": 1, "n28": 2}
    assert [full.count for full in gauges.limits] == [0, 0]


def test_f25_values_of_an_earlier_or_a_later_release_are_gone_on_with_and_what_is_none_is_ignored() -> None:
    counts = heartbeat(2, {"java": 3, "go": 4})
    first = Gauges({}, now=0).apply(counts, now=0)
    published = {name: value for name, value in first.items() if value is not None}
    fields = json.loads(published[key(JAVA)])
    earlier = {name: value for name, value in fields.items() if name != "timestamp_ms"}
    later = {**json.loads(published[key(GO)]), "field_of_a_later_release": {"x": [1]}}
    of_gateway = {name: value for name, value in json.loads(published['["c",1,"g"]']).items() if name not in ("opened", "closed")}
    broken = {
        key(("a", "1")): b"[]", key(("b", "1")): b"{", key(("c", "1")): json.dumps({**fields, "epoch": "1"}).encode(),
        key(("e", "1")): json.dumps({**fields, "listener": None}).encode(),
        key(("d", "1")): json.dumps({name: value for name, value in fields.items() if name != "connections"}).encode(), "x": b"{}",
        '["c",9,"g","L","j","1"]': b"null",
    }  # fmt: skip
    values = {key(JAVA): earlier, key(GO): later, '["c",1,"g"]': of_gateway}
    gauges = Gauges({**broken, **{name: json.dumps(value).encode() for name, value in values.items()}}, now=0)
    assert gauges.size() == 3, "two series and their gateway"
    assert changed(gauges.apply(counts, now=1)) == {}, "what is published already"
    assert changed(gauges.apply([series(JAVA, 5, 6), series(GO, 6, 7)], now=1)) == {"java": 6, "go": 7}


def test_entry_that_the_engine_fails_at_holds_up_no_other_gateway() -> None:
    failed: list[tuple[str, str]] = []
    gauges = Gauges({}, now=0, failed=lambda entry, error: failed.append((entry.record.gateway, type(error).__name__)))
    entries = [series(JAVA, 0, 1, gateway="f"), series(JAVA, 0, 1, timestamp_ms=None), series(JAVA, 1, 2), series(JAVA, 0, 3, gateway="h")]
    assert changed(gauges.apply(entries, now=0)) == {"f java": 1, "h java": 3}
    assert failed == [("g", "TypeError")]
    assert changed(gauges.apply(heartbeat(2, {"java": 2}), now=0)) == {"java": 2}, "the next heartbeat has all counts again"


@pytest.mark.parametrize("wrong", ["[" * 8_000, "[[]]", '["c","1","g"]', '["c",1,"g","l","n"]', "null", "x" * 9_000])
def test_a_key_that_no_job_wrote_is_left_out_when_the_topic_is_read(wrong: str, gauges: Gauges, topic: Topic) -> None:
    topic.take(gauges, [series(JAVA, 3, 2)])
    again = Gauges({wrong: b"{}", **topic.values}, now=0)
    assert changed(again.apply([series(JAVA, 4, 1)], now=0)) == {"java": 1}
