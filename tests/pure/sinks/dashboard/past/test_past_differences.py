"""sinks/dashboard/past/differences: what changed between two times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from past_tables import DAY_MS, HOUR_MS, NOW_MS, append, push, setting

from clientscope.records.layouts import ValueState
from sinks.dashboard.past import differences
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
            *(instance(NOW_MS - 30 * 60_000 + number, f"orders-{number}", "1") for number in range(1, 14)),
            instance(NOW_MS - 40 * 60_000, "orders-1", "0"),  # not the newest within
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
    assert (one["before"] is None) == (from_ms == NOW_MS - 60_000)
    assert one["after"]["pushed_ms"] == NOW_MS - 1
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
