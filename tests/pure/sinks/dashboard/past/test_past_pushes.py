"""sinks/dashboard/past/pushes and findings: what changed, and what was wrong then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golden import is_golden
from past_tables import DAY_MS, HELD_BACK, HOUR_MS, NOW_MS, append, at, changed, finding, push, setting

from clientscope.query import HISTORY_FINDINGS
from sinks.dashboard.past import findings, pushes
from sinks.dashboard.past.pushes import Whose
from sinks.dashboard.past.tables import NoAnswer, Span, Tables

SPAN = Span(NOW_MS - DAY_MS, NOW_MS)


def starts(folder: Path, offset: int = 0, limit: int = 10, span: Span = SPAN, **whose: str) -> dict[str, Any]:
    return pushes.starts(Tables(folder), span, Whose(**whose), offset, limit)


def test_each_push_tells_what_changed_since_the_one_before(tmp_path: Path) -> None:
    acks, linger = setting("acks", "all"), setting("linger.ms", "5")
    append(
        tmp_path,
        "pushes",
        [
            push(NOW_MS - 4 * HOUR_MS, acks, linger, HELD_BACK, client_id="orders-1"),
            push(NOW_MS - 3 * HOUR_MS, setting("acks", "0"), HELD_BACK | {"value_digest": bytes(32)}, client_id="orders-1"),
            push(NOW_MS - 2 * HOUR_MS, setting("group.id", "g"), setting("fetch.min.bytes", "1"), client_id="orders-1"),  # a consumer
            push(NOW_MS - HOUR_MS, acks, client_id="orders-2"),
            push(NOW_MS - HOUR_MS, acks, client_id="others"),
            push(NOW_MS - 2 * DAY_MS, acks, client_id="orders-1"),
        ],
    )
    own = starts(tmp_path, client_id="orders-1")
    assert own["total"] == 3
    consumer, second, first = own["items"]
    assert (consumer["client_type"], consumer["changes"]) == ("consumer", None), "a producer of the same name is no start before it"
    assert changed(second) == [
        ("acks", "all", "0"),
        ("linger.ms", "5", None),
        ("sasl.jaas.config", "[key_infix, 90 bytes, 00010203]", "[key_infix, 90 bytes, 00000000]"),
    ]
    assert (first["changes"], first["first"], first["setting_count"], first["redacted_count"]) == (None, True, 3, 1)
    application = starts(tmp_path, application="orders")
    assert [item["client_id"] for item in application["items"]] == ["orders-2", "orders-1", "orders-1", "orders-1"]
    assert [key for key, *_ in changed(application["items"][0])] == ["acks", "sasl.jaas.config"], "to the application's producer before it"
    assert starts(tmp_path, offset=1, limit=1, application="orders")["items"] == application["items"][1:2]


def test_offset_decides_within_partition(tmp_path: Path) -> None:
    times = [NOW_MS - 9_000, NOW_MS - 60_000, NOW_MS - 59_000, NOW_MS - 1_000]  # the next leader's clock was behind
    append(tmp_path, "pushes", [push(ms, setting("acks", value)) for ms, value in zip(times, "abcd", strict=True)])
    before = push(NOW_MS - 9 * HOUR_MS, setting("acks", "a"), client_id="again") | {"offset": 900_000}
    after = push(NOW_MS - HOUR_MS, setting("acks", "b"), client_id="again") | {"offset": 3}  # of a topic that was made again
    append(tmp_path, "pushes", [before, after])

    def changes(limit: int, **whose: str) -> list[tuple[str, str | None, str | None]]:
        found = [item for offset in range(0, 4, limit) for item in starts(tmp_path, offset, limit, **whose)["items"]]
        return [change for item in found for change in changed(item)]

    for limit in (1, 10):
        assert changes(limit, client_id="app") == [("acks", "c", "d"), ("acks", "b", "c"), ("acks", "a", "b")]
    assert changes(10, client_id="again") == [("acks", "a", "b")]


NAMES = ["' OR 1=1 --", "o'neil", "%", "_", "*", "x'); --", 'a"b', "\\", "ends\\' OR ''='"]


def test_a_name_means_itself_alone(tmp_path: Path) -> None:
    append(tmp_path, "pushes", [push(NOW_MS - 9, client_id=name, principal=name and f"User:{name}") for name in (*NAMES, "other", None)])
    for name in NAMES:
        for whose in (
            {"client_id": name},
            {"principal": f"User:{name}"},
            {"client_id": name, "principal": f"User:{name}", "address": "10.0.0.1"},
        ):
            assert [item["client_id"] for item in starts(tmp_path, **whose)["items"]] == [name], whose
        assert starts(tmp_path, client_id=f"{name}x") == {"total": 0, "items": []}
        assert starts(tmp_path, client_id=name, principal="")["total"] == 0
    assert [item["client_id"] for item in starts(tmp_path, client_id="")["items"]] == [None]


def test_a_value_that_is_a_secret_by_todays_rules_is_withheld_though_the_table_has_it(tmp_path: Path) -> None:
    secret = "hunter2-correct-horse"
    rows = [push(NOW_MS - 9 + number, setting("ssl.key.password", f"{secret}{number}"), setting("acks", "1")) for number in range(2)]
    append(tmp_path, "pushes", rows)
    answer = starts(tmp_path, client_id="app")
    assert secret not in str(answer)
    assert answer["items"][0]["redacted_count"] == 1


def test_an_application_of_too_many_names_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushes, "MOST_NAMES", 3)
    append(tmp_path, "pushes", [push(NOW_MS - 9, client_id=f"app-{number}") for number in range(4)])
    assert starts(tmp_path, client_id="app-1")["total"] == 1
    with pytest.raises(NoAnswer, match="more than 3 clients") as error:
        starts(tmp_path, application="app")
    assert error.value.kind == "wide"


def test_findings_as_they_were(tmp_path: Path) -> None:
    day = NOW_MS - DAY_MS
    first = {"client_id": "o'neil", "opened": at(day)}
    again = {**first, "opened": at(day + 2 * HOUR_MS)}
    leak = {"severity": "critical", "code": "SK001"}
    recorded: list[tuple[int, int, str, dict[str, Any]]] = [
        (0, 1, "open", first), (1, 1, "resolved", first), (2, 1, "open", again),
        (3, 1, "closed", {**again, "decided_as": "accepted", "decided_by": "alice"}),
        (0, 2, "open", leak), (1, 2, "stopped", leak), (0, 3, "open", {"severity": "low", "client_count": 7}),
    ]  # fmt: skip
    append(tmp_path, "findings", [finding(day + hour * HOUR_MS, number, state, **changed) for hour, number, state, changed in recorded])

    then = [
        *((day + hours * HOUR_MS + 1, "", "") for hours in (0, 1, 2)), (day, "", ""), (NOW_MS, "severity:>=high", ""),
        (day + 1, 'client_id:"o\'neil" acks -code:SK* clients:<5', ""), (day + 1, "", "-clients,severity"),
    ]  # fmt: skip
    text = ""
    for at_ms, q, sort in then:
        found = findings.page(findings.at_a_time(Tables(tmp_path), at_ms), q, sort, 0, 10, NOW_MS)
        text += f"at {at(at_ms)} {q}{sort}: {[(int(item['fingerprint'], 16), item['state']) for item in found['items']]}\n"
    for span in (SPAN, Span(day, day + 2 * HOUR_MS), Span(day - DAY_MS, day)):
        items = findings.page(findings.ended(Tables(tmp_path), span), "", "-ended", 0, 10, NOW_MS)["items"]
        over = [(item["state"], (item["decided"] or {}).get("by"), str(at(item["ended_ms"]))) for item in items]
        text += f"ended from {at(span.from_ms)} to {at(span.to_ms)}: {over}\n"
    assert is_golden(text, __file__, "findings_then.txt")


def test_findings_then_are_searched_by_every_field_of_their_grammar(tmp_path: Path) -> None:
    append(tmp_path, "findings", [finding(NOW_MS - 9, 1), finding(NOW_MS - 9, 2, code="SK001")])
    found = findings.at_a_time(Tables(tmp_path), NOW_MS)
    assert HISTORY_FINDINGS.keys() <= found[0][0].keys()

    def matching(q: str) -> list[str]:
        return [item["code"] for item in findings.page(found, q, "code", 0, 10, NOW_MS)["items"]]

    assert (matching("risk:loss"), matching("risk:secret"), matching("-risk:secret")) == (["AN101"], ["SK001"], ["AN101"])
