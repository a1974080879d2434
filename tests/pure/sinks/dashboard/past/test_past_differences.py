"""sinks/dashboard/past/differences: what changed between two times."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from golden import is_golden, texts
from past_tables import DAY_MS, HELD_BACK, HOUR_MS, MINUTE_MS, NOW_MS, append, changed, push, setting

from sinks.dashboard.past import pushes, tables
from sinks.dashboard.past.pushes import Whose
from sinks.dashboard.past.tables import NoAnswer, Span, Tables

SPAN = Span(NOW_MS - HOUR_MS, NOW_MS)


def ago(minutes: int) -> int:
    return NOW_MS - minutes * MINUTE_MS


def differing(folder: Path, span: Span = SPAN, **whose: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [*pushes.differences(Tables(folder), span, Whose(**whose))["items"]]  # type: ignore[list-item]
    return found


def instance(ms: int, name: str, acks: str, **more: Any) -> dict[str, Any]:
    return push(ms, setting("acks", acks), setting("client.id", name), HELD_BACK, client_id=name, **more)


SEEN = {"origin": "observed", "software_name": "sarama", "software_version": "1.4"}


def seen(ms: int, *settings: tuple[str, str], name: str = "app", gateway: int = 1, **more: Any) -> dict[str, Any]:
    """What one gateway saw of a client's requests."""
    who = {"client_id": name, "instance_id": str(UUID(int=gateway)), **SEEN}
    return push(ms, *(setting(key, value) for key, value in settings), **{**who, **more})


def test_clients_that_changed_alike_are_one_difference(tmp_path: Path) -> None:
    old = {"software_version": "3.9.1"}
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


def row(line: str) -> dict[str, Any]:
    """A push that cases/compared.txt has."""
    minutes, origin, name, *words = line.split()
    settings = [setting(*word.split("=", 1)) if "=" in word else HELD_BACK for word in words if ":" not in word]
    more = (SEEN if origin == "observed" else {}) | dict(word.split(":") for word in words if ":" in word)
    return push(ago(int(minutes)), *settings, **{"client_id": name, "origin": origin, **more})


def test_compares_with_the_start_before(tmp_path: Path) -> None:
    def started(side: dict[str, Any] | None) -> str:
        return "nothing" if side is None else f"{(NOW_MS - side['pushed_ms']) // MINUTE_MS} minutes ago"

    text = ""
    for number, (name, why, rows) in enumerate(texts(__file__, "compared.txt")):
        append(tmp_path / str(number), "pushes", map(row, rows.splitlines()))
        text += f"{why}\n"
        for each in differing(tmp_path / str(number), **{"application" if name == "orders" else "client_id": name}):
            changes = each["changes"] if each["changes"] is None else changed(each)
            text += f"  {started(each['after'])}{', seen' * each['after']['seen']}, after {started(each['before'])}: {changes}\n"
    assert is_golden(text, __file__, "starts_compared.txt")


def test_the_range_is_exact(tmp_path: Path) -> None:
    append(tmp_path, "pushes", [instance(ago(1), "orders-1", "all"), instance(NOW_MS - 1, "orders-1", "1")])
    for from_ms, to_ms, expected in (
        (ago(1), NOW_MS, [(NOW_MS - 1, False)]), (ago(1) + 1, NOW_MS, [(NOW_MS - 1, True)]), (ago(1), NOW_MS - 1, [(ago(1), False)]),
    ):  # fmt: skip
        found = differing(tmp_path, Span(from_ms, to_ms), client_id="orders-1")
        assert [(each["after"]["pushed_ms"], each["before"] is not None) for each in found] == expected


def test_what_is_not_compared_is_counted_and_nothing_is_claimed_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unread(folder: str, rows: list[dict[str, Any]]) -> tuple[int, list[int]]:
        append(tmp_path / folder, "pushes", rows)
        answer = pushes.differences(Tables(tmp_path / folder), SPAN, Whose(application="orders"))
        return answer["unread"], [item["clients"] for item in answer["items"]]

    monkeypatch.setattr(pushes, "MOST_COMPARED", 5)
    names = [f"orders-{number}" for number in range(8)]
    assert unread("many", [instance(NOW_MS - 1, name, "all") for name in names]) == (3, [5])
    java = {"software_name": "apache-kafka-java"}
    of_pushing = [seen(NOW_MS - 9, ("acks", "all"), name=name, gateway=n, **java) for n, name in enumerate(names)]
    assert unread("seen", [*(instance(ago(9 * 1440), name, "all") for name in names), *of_pushing]) == (0, [])
    monkeypatch.setattr(pushes, "MOST_COMPARED", 1)
    rows = [push(ago(1440), setting("acks", "all"), client_id="orders-1", principal=f"User:{name}") for name in "ab"]
    assert unread("before", [*rows, push(NOW_MS - 9, setting("acks", "1"), client_id="orders-1", principal="User:a")]) == (1, [])


def test_rolling_restart_of_pods_with_one_name_is_no_change(tmp_path: Path) -> None:
    racks = ["az-a", "az-b", "az-c"] * 2
    rows = []
    for minutes in (-300, -30):
        for number, rack in enumerate(racks):
            more = {"client_id": "app", "address": f"10.0.0.{number}"}
            rows.append(push(NOW_MS + (minutes + number) * MINUTE_MS, setting("acks", "all"), setting("client.rack", rack), **more))
    append(tmp_path, "pushes", rows)
    (one,) = differing(tmp_path, client_id="app")
    assert changed(one) == []
    listed = pushes.starts(Tables(tmp_path), Span(NOW_MS - DAY_MS, NOW_MS), Whose(client_id="app"), 0, 6)
    assert [start["changes"] for start in listed["items"]] == [[]] * 6


def test_more_starts_than_fit_into_memory_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [(f"some.setting.number.{number}", f"value-{number}-{'x' * 40}") for number in range(13)]
    for first in range(0, 12_000, 4_000):
        each = range(first, first + 4_000)
        append(tmp_path, "pushes", [seen(NOW_MS - HOUR_MS + number, *settings, name=f"orders-{number % 30}") for number in each])
    monkeypatch.setattr(tables, "_SETTINGS", ("SET datafusion.runtime.memory_limit = '64M'", *tables._SETTINGS[1:]))
    assert pushes.differences(Tables(tmp_path), SPAN, Whose(application="orders")) == {"unread": 0, "items": []}
    monkeypatch.setattr(tables, "_SETTINGS", ("SET datafusion.runtime.memory_limit = '1M'", *tables._SETTINGS[1:]))
    with pytest.raises(NoAnswer, match="too much for one question"):
        pushes.differences(Tables(tmp_path), SPAN, Whose(application="orders"))
