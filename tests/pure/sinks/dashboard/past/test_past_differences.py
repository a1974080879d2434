"""sinks/dashboard/past/differences: what changed between two times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from past_tables import DAY_MS, HOUR_MS, NOW_MS, append, push, setting

from clientscope.records.layouts import ValueState
from sinks.dashboard.past import differences, pushes, tables
from sinks.dashboard.past.problems import NoAnswer
from sinks.dashboard.past.pushes import Whose
from sinks.dashboard.past.tables import Span, Tables

SPAN = Span(NOW_MS - HOUR_MS, NOW_MS)
HELD_BACK = setting("sasl.jaas.config", None, value_state=int(ValueState.KEY_INFIX), value_length=90, value_digest=bytes(range(32)))


def differing(folder: Path, span: Span = SPAN, **whose: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [*differences.differences(Tables(folder), span, Whose(**whose))["items"]]  # type: ignore[list-item]
    return found


def changed(one: dict[str, Any]) -> list[tuple[str, str | None, str | None]]:
    return [(change["key"], change["before"], change["after"]) for change in one["changes"]]


def instance(ms: int, name: str, acks: str, **more: Any) -> dict[str, Any]:
    return push(ms, setting("acks", acks), setting("client.id", name), HELD_BACK, client_id=name, **more)


def test_clients_that_changed_alike_are_one_difference(tmp_path: Path) -> None:
    old = {"client_software_version": "3.9.1"}
    append(
        tmp_path,
        "pushes",
        [
            *(instance(NOW_MS - 5 * HOUR_MS, f"orders-{number}", "all", **old) for number in range(1, 15)),
            instance(NOW_MS - 6 * HOUR_MS, "orders-1", "0", **old),  # not the newest before
            instance(NOW_MS - 2 * HOUR_MS, "orders-14", "all", **old),
            instance(NOW_MS - 40 * 60_000, "orders-1", "0"),
            *(instance(NOW_MS - 30 * 60_000 + number, f"orders-{number}", "1") for number in range(1, 14)),
            instance(NOW_MS - 20 * 60_000, "orders-14", "all", **old),
            instance(NOW_MS - 60_000, "payments-1", "0"),
        ],
    )
    restarted, together = differing(tmp_path, application="orders")
    assert (restarted["client_ids"], restarted["changes"]) == (["orders-14"], []), "it started again as it was"
    assert restarted["before"]["pushed_ms"] == NOW_MS - 2 * HOUR_MS
    assert (together["clients"], together["client_type"], len(together["client_ids"])) == (13, "producer", 10)
    assert changed(together) == [("acks", "all", "1")]
    assert [together[side]["software_version"] for side in ("before", "after")] == ["3.9.1", "4.1.0"]
    (own,) = differing(tmp_path, client_id="orders-3")
    assert changed(own) == [("acks", "all", "1")]
    assert differing(tmp_path, client_id="orders-99") == []


def test_a_new_instance_is_compared_with_its_application(tmp_path: Path) -> None:
    append(tmp_path, "pushes", [instance(NOW_MS - 9 * DAY_MS, "orders-7", "all"), instance(NOW_MS - 60_000, "orders-8", "1")])
    (one,) = differing(tmp_path, application="orders")
    assert changed(one) == [("acks", "all", "1")], "a week and two days before; that its name differs is no change"
    assert one["before"]["client_id"] == "orders-7"


def test_nothing_before_it(tmp_path: Path) -> None:
    consumer = (setting("group.id", "g"), setting("fetch.min.bytes", "1"))
    append(
        tmp_path,
        "pushes",
        [
            instance(NOW_MS - 31 * DAY_MS, "orders-1", "all"),
            push(NOW_MS - DAY_MS, *consumer, client_id="orders-1"),
            instance(NOW_MS - 9, "orders-1", "1"),
        ],
    )
    (one,) = differing(tmp_path, application="orders")
    assert (one["before"], one["changes"], one["client_type"]) == (None, None, "producer"), (
        "a consumer of the same name is no start before it"
    )


@pytest.mark.parametrize("from_ms", [NOW_MS - 60_000, NOW_MS - 59_999])
def test_the_range_is_exact(tmp_path: Path, from_ms: int) -> None:
    append(tmp_path, "pushes", [instance(NOW_MS - 60_000, "orders-1", "all"), instance(NOW_MS - 1, "orders-1", "1")])
    (one,) = differing(tmp_path, Span(from_ms, NOW_MS), client_id="orders-1")
    assert one["after"]["pushed_ms"] == NOW_MS - 1
    assert (one["before"] is None, one["changes"] is None) == (from_ms == NOW_MS - 60_000, from_ms == NOW_MS - 60_000)
    ended_before = differing(tmp_path, Span(NOW_MS - 60_000, NOW_MS - 1), client_id="orders-1")
    assert [each["after"]["pushed_ms"] for each in ended_before] == [NOW_MS - 60_000]


def test_more_than_are_compared_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_COMPARED", 5)
    append(tmp_path, "pushes", [instance(NOW_MS - number, f"orders-{number}", "all") for number in range(1, 9)])
    answer = differences.differences(Tables(tmp_path), SPAN, Whose(application="orders"))
    assert (answer["unread"], answer["items"][0]["clients"]) == (3, 5)


def test_a_secret_is_no_value(tmp_path: Path) -> None:
    leaked = setting("sasl.jaas.config", "password=hunter2")
    append(
        tmp_path,
        "pushes",
        [instance(NOW_MS - DAY_MS, "a", "all"), push(NOW_MS - 9, setting("acks", "all"), leaked, client_id="a")],
    )
    (one,) = differing(tmp_path, client_id="a")
    assert "hunter2" not in str(one) and ("sasl.jaas.config", "[key_infix, 90 bytes, 00010203]", "[key_prefix, 16 bytes]") in changed(one)


MINUTE_MS = 60_000
SEEN = {"origin": 1, "client_software_name": "sarama", "client_software_version": "1.4"}


def seen(ms: int, *settings: tuple[str, str], name: str = "app", gateway: int = 1, **more: Any) -> dict[str, Any]:
    """What one gateway saw of a client's requests."""
    who = {"client_id": name, "client_instance_id": bytes([*[0] * 15, gateway]), **SEEN}
    return push(ms, *(setting(key, value) for key, value in settings), **{**who, **more})


def when(one: dict[str, Any]) -> tuple[int, list[tuple[str, str | None, str | None]]]:
    return (one["after"]["pushed_ms"] - NOW_MS) // MINUTE_MS, changed(one)


def test_restart_without_change_is_said_once(tmp_path: Path) -> None:
    append(tmp_path, "pushes", [instance(NOW_MS - number * MINUTE_MS, "orders-1", "all") for number in reversed(range(1, 120))])
    (one,) = differing(tmp_path, client_id="orders-1")
    assert (when(one), one["clients"]) == ((-1, []), 1)


def test_settings_seen_of_requests_are_no_start_and_never_unset(tmp_path: Path) -> None:
    few, more = [("acks", "1")], [("acks", "1"), ("compression.type", "lz4")]
    rows = [instance(NOW_MS - 3 * HOUR_MS, "app", "1"), instance(NOW_MS - 30 * MINUTE_MS, "app", "0")]
    for minutes in reversed(range(1, 200, 7)):
        rows.append(seen(NOW_MS - minutes * MINUTE_MS, *(few if minutes % 2 else more), gateway=minutes % 3))
    append(tmp_path, "pushes", rows)
    (one,) = differing(tmp_path, client_id="app")
    assert (when(one), one["after"]["seen"]) == ((-30, [("acks", "1", "0")]), False)


def test_push_is_never_compared_with_log(tmp_path: Path) -> None:
    logged = push(NOW_MS - 2 * HOUR_MS, setting("acks", "all"), setting("retries", "5"), client_id="a", origin=3)
    append(tmp_path, "pushes", [logged, push(NOW_MS - 9, setting("acks", "1"), client_id="a")])
    (one,) = differing(tmp_path, client_id="a")
    assert (one["before"], one["changes"]) == (None, None)


def test_what_was_seen_of_clients_that_push_is_not_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_COMPARED", 5)
    java = {"client_software_name": "apache-kafka-java"}
    names = [f"orders-{number}" for number in range(9)]
    append(tmp_path, "pushes", [instance(NOW_MS - 9 * DAY_MS, name, "all") for name in names])
    append(tmp_path, "pushes", [seen(NOW_MS - 9, ("acks", "all"), name=name, gateway=n, **java) for n, name in enumerate(names)])
    assert differences.differences(Tables(tmp_path), SPAN, Whose(application="orders")) == {"unread": 0, "items": []}


def test_two_instances_that_differ_all_the_time_have_not_changed(tmp_path: Path) -> None:
    two = ("1", "10.0.0.1"), ("all", "10.0.0.2")
    rows = [seen(NOW_MS - (200 - n) * MINUTE_MS, ("acks", two[n % 2][0]), client_address=two[n % 2][1]) for n in range(199)]
    append(tmp_path, "pushes", rows)
    assert differing(tmp_path, client_id="app") == []


def test_rolling_restart_of_pods_with_one_name_is_no_change(tmp_path: Path) -> None:
    racks = ["az-a", "az-b", "az-c"] * 2
    rows = []
    for minutes in (-300, -30):
        for number, rack in enumerate(racks):
            more = {"client_id": "app", "client_address": f"10.0.0.{number}"}
            rows.append(push(NOW_MS + (minutes + number) * MINUTE_MS, setting("acks", "all"), setting("client.rack", rack), **more))
    append(tmp_path, "pushes", rows)
    (one,) = differing(tmp_path, client_id="app")
    assert changed(one) == []
    listed = pushes.starts(Tables(tmp_path), Span(NOW_MS - DAY_MS, NOW_MS), Whose(client_id="app"), 0, 6)
    assert [start["changes"] for start in listed["items"]] == [[]] * 6


def test_compares_the_ends_of_the_range(tmp_path: Path) -> None:
    pushed = [(-70, "all"), (-40, "0"), (-30, "1"), (-20, "0")]
    append(tmp_path, "pushes", [instance(NOW_MS + minutes * MINUTE_MS, "orders-1", acks) for minutes, acks in pushed])
    (one,) = differing(tmp_path, client_id="orders-1")
    assert (when(one), one["before"]["pushed_ms"]) == ((-20, [("acks", "all", "0")]), NOW_MS - 70 * MINUTE_MS)


@pytest.mark.parametrize("before_ms", [2 * HOUR_MS, 20 * DAY_MS])
def test_change_of_client_that_never_pushes(tmp_path: Path, before_ms: int) -> None:
    rows = [
        seen(NOW_MS - before_ms, ("acks", "1"), ("compression.type", "lz4")),
        seen(NOW_MS - 30 * MINUTE_MS, ("acks", "all"), ("compression.type", "lz4"), ("max.request.size", "9")),
        seen(NOW_MS - 10 * MINUTE_MS, ("acks", "all"), client_software_version="1.5"),  # less was seen: nothing is unset
        seen(NOW_MS - 9 * MINUTE_MS, ("fetch.min.bytes", "1"), ("group.id", "g")),  # a consumer of its name
    ]
    append(tmp_path, "pushes", rows)
    (one,) = differing(tmp_path, client_id="app")
    assert when(one) == (-10, [("acks", "1", "all")])
    assert [(one[side]["seen"], one[side]["software_version"]) for side in ("before", "after")] == [(True, "1.4"), (True, "1.5")]
    assert differing(tmp_path, Span(NOW_MS - 9 * MINUTE_MS, NOW_MS), client_id="app") == []


def test_old_value_seen_beside_others_is_compared(tmp_path: Path) -> None:
    rows = [
        seen(NOW_MS - 3 * HOUR_MS, ("acks", "1"), ("compression.type", "lz4")),
        seen(NOW_MS - 2 * HOUR_MS, ("compression.type", "lz4")),
        seen(NOW_MS - 30 * MINUTE_MS, ("acks", "all")),
        seen(NOW_MS - 20 * MINUTE_MS, ("compression.type", "none")),
    ]
    append(tmp_path, "pushes", rows)
    changes = [("acks", "1", "all"), ("compression.type", "lz4", "none")]
    assert [change for one in differing(tmp_path, client_id="app") for change in changed(one)] == changes


def test_claims_nothing_where_the_start_before_was_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_COMPARED", 1)
    rows = [push(NOW_MS - DAY_MS, setting("acks", "all"), client_id="orders-1", principal=f"User:{name}") for name in "ab"]
    append(tmp_path, "pushes", [*rows, push(NOW_MS - 9, setting("acks", "1"), client_id="orders-1", principal="User:a")])
    assert differences.differences(Tables(tmp_path), SPAN, Whose(application="orders")) == {"unread": 1, "items": []}


def test_more_starts_than_fit_into_memory_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [(f"some.setting.number.{number}", f"value-{number}-{'x' * 40}") for number in range(13)]
    for first in range(0, 12_000, 4_000):
        each = range(first, first + 4_000)
        append(tmp_path, "pushes", [seen(NOW_MS - HOUR_MS + number, *settings, name=f"orders-{number % 30}") for number in each])
    monkeypatch.setattr(tables, "_SETTINGS", ("SET datafusion.runtime.memory_limit = '64M'", *tables._SETTINGS[1:]))
    assert differences.differences(Tables(tmp_path), SPAN, Whose(application="orders")) == {"unread": 0, "items": []}
    monkeypatch.setattr(tables, "_SETTINGS", ("SET datafusion.runtime.memory_limit = '1M'", *tables._SETTINGS[1:]))
    with pytest.raises(NoAnswer, match="too much for one question"):
        differences.differences(Tables(tmp_path), SPAN, Whose(application="orders"))
