"""sinks/dashboard/past/differences: what changed between two times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from past_tables import DAY_MS, HOUR_MS, NOW_MS, append, push, setting

from clientscope.records.layouts import ValueState
from sinks.dashboard.past import differences, pushes, tables
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
    restarted, together, back, away = differing(tmp_path, application="orders")
    assert (restarted["client_ids"], restarted["changes"]) == (["orders-14"], []), "it started again as it was"
    assert restarted["before"]["pushed_ms"] == NOW_MS - 2 * HOUR_MS
    assert (together["clients"], together["client_type"], len(together["client_ids"])) == (12, "producer", 10)
    assert changed(together) == [("acks", "all", "1")]
    assert [together[side]["software_version"] for side in ("before", "after")] == ["3.9.1", "4.1.0"]
    assert [(one["client_ids"], changed(one), one["after"]["pushed_ms"]) for one in (back, away)] == [
        (["orders-1"], [("acks", "0", "1")], NOW_MS - 30 * 60_000 + 1),
        (["orders-1"], [("acks", "all", "0")], NOW_MS - 40 * 60_000),
    ], "one changed twice"
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
    one, *first = differing(tmp_path, Span(from_ms, NOW_MS), client_id="orders-1")
    assert [each["before"] for each in first] == [None] * (from_ms == NOW_MS - 60_000)
    assert (one["after"]["pushed_ms"], changed(one)) == (NOW_MS - 1, [("acks", "all", "1")])
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


def test_finds_each_change_of_client_that_came_within_the_range(tmp_path: Path) -> None:
    pushed = [(-50, "all"), (-40, "0"), (-30, "0"), (-20, "all"), (-10, "0")]
    append(tmp_path, "pushes", [instance(NOW_MS + minutes * MINUTE_MS, "orders-1", acks) for minutes, acks in pushed])
    *found, first = differing(tmp_path, client_id="orders-1")
    there_and_back = [("acks", "all", "0")], [("acks", "0", "all")]
    assert [when(one) for one in found] == [(-10, there_and_back[0]), (-20, there_and_back[1]), (-30, []), (-40, there_and_back[0])]
    assert (first["before"], first["changes"], first["after"]["pushed_ms"]) == (None, None, NOW_MS - 50 * MINUTE_MS)


def test_new_instances_change_as_the_first_of_them(tmp_path: Path) -> None:
    names = {-50: ("orders-1", "all"), -40: ("orders-2", "1"), -39: ("orders-3", "1"), -20: ("orders-4", "0"), -19: ("orders-5", "0")}
    append(tmp_path, "pushes", [instance(NOW_MS + minutes * MINUTE_MS, *each) for minutes, each in names.items()])
    found = differing(tmp_path, Span(NOW_MS - 45 * MINUTE_MS, NOW_MS), application="orders")
    assert [(one["client_ids"], changed(one)) for one in found] == [
        (["orders-5", "orders-4"], [("acks", "1", "0")]),
        (["orders-3", "orders-2"], [("acks", "all", "1")]),
    ]


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


@pytest.mark.parametrize("before_ms", [2 * HOUR_MS, 20 * DAY_MS])
def test_change_of_client_that_never_pushes(tmp_path: Path, before_ms: int) -> None:
    rows = [
        seen(NOW_MS - before_ms, ("acks", "1"), ("compression.type", "lz4")),
        seen(NOW_MS - before_ms + 1, ("acks", "1"), gateway=2),
        seen(NOW_MS - 50 * MINUTE_MS, ("acks", "1")),  # less was seen: nothing is unset
        seen(NOW_MS - 40 * MINUTE_MS, ("acks", "1 | all")),  # two of its name
        seen(NOW_MS - 30 * MINUTE_MS, ("acks", "all"), ("compression.type", "lz4"), ("max.request.size", "9")),
        seen(NOW_MS - 29 * MINUTE_MS, ("acks", "all"), gateway=2),
        seen(NOW_MS - 10 * MINUTE_MS, ("acks", "all"), client_software_version="1.5"),
        seen(NOW_MS - 9 * MINUTE_MS, ("fetch.min.bytes", "1"), ("group.id", "g")),  # a consumer of its name
    ]
    append(tmp_path, "pushes", rows)
    upgraded, changed_once = differing(tmp_path, client_id="app")
    assert when(changed_once) == (-30, [("acks", "1", "all")])
    assert (changed_once["before"]["seen"], changed_once["after"]["seen"]) == (True, True)
    versions = [upgraded[side]["software_version"] for side in ("before", "after")]
    assert (when(upgraded), versions) == ((-10, []), ["1.4", "1.5"])
    assert differing(tmp_path, Span(NOW_MS - 9 * MINUTE_MS, NOW_MS), client_id="app") == []


def test_what_is_seen_again_hides_no_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_COMPARED", 5)
    values = ["1"] * 3 + ["all"] * 30
    append(tmp_path, "pushes", [seen(NOW_MS - HOUR_MS + number, ("acks", value)) for number, value in enumerate(values)])
    assert [changed(one) for one in differing(tmp_path, client_id="app")] == [[("acks", "1", "all")]]


def test_push_is_never_compared_with_log(tmp_path: Path) -> None:
    logged = push(NOW_MS - 2 * HOUR_MS, setting("acks", "all"), setting("retries", "5"), client_id="a", origin=3)
    append(tmp_path, "pushes", [logged, push(NOW_MS - 9, setting("acks", "1"), client_id="a")])
    (one,) = differing(tmp_path, client_id="a")
    assert (one["before"], one["changes"]) == (None, None)


def test_answers_range_with_more_seen_than_fits_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [(f"some.setting.number.{number}", f"value-{number}-{'x' * 40}") for number in range(13)]
    count = 12_000
    for first in range(0, count, 4_000):
        each = range(first, first + 4_000)
        append(tmp_path, "pushes", [seen(NOW_MS - HOUR_MS + number, *settings, name=f"orders-{number % 30}") for number in each])
    append(tmp_path, "pushes", [instance(NOW_MS - 90, "orders-1", "all"), instance(NOW_MS - 9, "orders-1", "0")])
    monkeypatch.setattr(tables, "_SETTINGS", ("SET datafusion.runtime.memory_limit = '64M'", *tables._SETTINGS[1:]))
    answer = differences.differences(Tables(tmp_path), SPAN, Whose(application="orders"))
    assert (answer["unread"], answer["items"][0]["changes"]) == (0, [{"key": "acks", "before": "all", "after": "0"}])
    monkeypatch.setattr(tables, "_SETTINGS", ("SET datafusion.runtime.memory_limit = '16M'", *tables._SETTINGS[1:]))
    narrow = differences.differences(Tables(tmp_path), SPAN, Whose(application="orders"))
    assert (narrow["unread"], narrow["items"]) == (count, answer["items"])


def test_counts_starts_that_are_too_many_and_claims_nothing_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_COMPARED", 5)
    rows = [instance(NOW_MS - DAY_MS, "orders-1", "9")]
    rows += [instance(NOW_MS - HOUR_MS + number, "orders-1", str(number)) for number in range(1, 9)]
    append(tmp_path, "pushes", [*rows, instance(NOW_MS - 9, "orders-2", "7")])
    answer = differences.differences(Tables(tmp_path), SPAN, Whose(client_id="orders-1"))
    assert [changed(one) for one in answer["items"]] == [[("acks", str(number - 1), str(number))] for number in (8, 7, 6, 5)]  # type: ignore[arg-type]
    assert answer["unread"] == 4


def test_finds_change_long_before_the_newest_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_COMPARED", 5)
    values = ["all"] * 3 + ["0"] * 30
    append(tmp_path, "pushes", [instance(NOW_MS - HOUR_MS + number, "orders-1", value) for number, value in enumerate(values)])
    answer = differences.differences(Tables(tmp_path), SPAN, Whose(client_id="orders-1"))
    assert [(one["before"] is None, one["changes"]) for one in answer["items"]] == [
        (False, [{"key": "acks", "before": "all", "after": "0"}]),
        (True, None),
    ]
    assert answer["unread"] == 0


def test_what_was_seen_of_clients_that_push_is_not_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_COMPARED", 5)
    java = {"client_software_name": "apache-kafka-java"}
    names = [f"orders-{number}" for number in range(9)]
    append(tmp_path, "pushes", [instance(NOW_MS - 9 * DAY_MS, name, "all") for name in names])
    append(tmp_path, "pushes", [seen(NOW_MS - 9, ("acks", "all"), name=name, gateway=n, **java) for n, name in enumerate(names)])
    assert differences.differences(Tables(tmp_path), SPAN, Whose(application="orders")) == {"unread": 0, "items": []}


@pytest.mark.parametrize(
    "changing",
    [
        [{}, {"client_software_version": "1.5"}, {}],
        [{}, {"gateway": 2}, {}],
        [{}, {"client_address": "10.0.0.2"}, {"client_address": "10.0.0.3"}],
    ],
)
def test_change_back_of_client_that_never_pushes(tmp_path: Path, changing: list[dict[str, Any]]) -> None:
    values = [(-50, "1"), (-20, "all"), (-10, "1")]
    rows = [seen(NOW_MS + at * MINUTE_MS, ("acks", acks), **more) for (at, acks), more in zip(values, changing, strict=True)]
    append(tmp_path, "pushes", rows)
    assert [when(one) for one in differing(tmp_path, client_id="app")] == [(-10, [("acks", "all", "1")]), (-20, [("acks", "1", "all")])]


def test_two_instances_that_differ_all_the_time_have_not_changed(tmp_path: Path) -> None:
    two = ("1", "10.0.0.1"), ("all", "10.0.0.2")
    rows = [seen(NOW_MS - (200 - n) * MINUTE_MS, ("acks", two[n % 2][0]), client_address=two[n % 2][1]) for n in range(199)]
    append(tmp_path, "pushes", rows)
    assert differing(tmp_path, client_id="app") == []


def test_two_gateways_that_see_other_values_are_said_once(tmp_path: Path) -> None:
    rows = [seen(NOW_MS - (60 - n) * MINUTE_MS, ("acks", "1" if n % 2 else "all"), gateway=n % 2) for n in range(59)]
    append(tmp_path, "pushes", rows)
    assert sorted(changed(one) for one in differing(tmp_path, client_id="app")) == [[("acks", "1", "all")], [("acks", "all", "1")]]


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


def test_claims_nothing_of_what_was_seen_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences, "MOST_COMPARED", 5)
    values = [(-DAY_MS, "9"), *((number - HOUR_MS, str(number)) for number in range(1, 9))]
    append(tmp_path, "pushes", [seen(NOW_MS + at, ("batch.size", value)) for at, value in values])
    answer = differences.differences(Tables(tmp_path), SPAN, Whose(client_id="app"))
    assert [changed(one) for one in answer["items"]] == [[("batch.size", str(number - 1), str(number))] for number in (8, 7, 6, 5)]  # type: ignore[arg-type]
    assert answer["unread"] == 3
