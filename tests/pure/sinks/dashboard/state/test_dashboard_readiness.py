"""sinks/dashboard upgrade readiness: from gateways' records to the API's answer."""

from __future__ import annotations

import re
from typing import Any

import pytest
from golden import is_golden
from page_state import NOW_MS, answers, broker, browser, live, opened

from clientscope.model.enums import Kind
from clientscope.model.finding import Owner
from clientscope.profiles.client_patterns import ClientPattern
from clientscope.profiles.owners import Owners
from clientscope.readiness import known_releases
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.readiness import ReadinessView, targets
from sinks.dashboard.state.state import State

OLD = ((3, 0), (0, 2), (1, 3))
NEW = ((18, 3), (3, 9), (0, 9), (1, 12))
OWNERS = Owners(((ClientPattern(principal=("User:alice",)), Owner("payments", "#payments")),))


def used(number: int, *versions: tuple[int, int], at_ms: int = NOW_MS - 60_000, kind: Kind = Kind.PRESENT, **fields: Any) -> TopicRecord:
    """A connection that requested these versions; several with a number of their own are several clients."""
    named = {"client_id": f"orders-{number}", "principal": "User:alice", "software_name": "unknown", **fields}
    return opened(number, at_ms=at_ms, kind=kind, requested_versions=tuple(versions), **named)


def asked(state: State, words: str = "target=4.0.0") -> dict[str, Any]:
    answer = browser(state).get(f"/api/v1/readiness?{words}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


MIXED = (
    used(1, *OLD, at_ms=NOW_MS - 50_000),
    used(2, *NEW),
    used(3, *NEW, client_id="billing", principal="User:bob", kind=Kind.CLOSED),
    used(4, (18, 0), (0, 2), client_id="legacy", principal="User:bob", software_name="librdkafka", software_version="1.0"),
)


def test_groups_with_the_worst_verdict_first() -> None:
    """By application and by principal, paged, with owners; and of brokers whose release is known from their status."""
    known, unknown = live(*MIXED, broker(software_version="3.9", source="jmx")), live(*MIXED)
    owned = live(*MIXED, owners=OWNERS)

    def brief(body: Any) -> Any:
        return {name: value for name, value in body.items() if name not in ("version", "targets")}

    text = answers(browser(owned), ["readiness?target=4.0.0"], brief)
    pages = ["readiness?target=4.0.0&by=principal", "readiness?target=4.0.0&by=principal&offset=1&limit=1"]
    text += answers(browser(unknown), pages, brief) + answers(browser(known), ["readiness?target=4.0.0"], brief)
    assert is_golden(re.sub(r"(\[\{|\}, )", r"\1\n  ", text), __file__, "readiness.txt")


def test_the_target_decides() -> None:
    assert asked(live(*MIXED), "target=3.9")["verdicts"] == {"fine": 4}
    assert asked(live(*MIXED), "")["target"] == known_releases()[-1]
    answer = browser(live(*MIXED)).get("/api/v1/readiness?target=9.9")
    assert answer.status_code == 400 and "9.9" in answer.json()["detail"]
    assert targets()[0] == known_releases()[-1] and "4.0.0" in targets() and "3.9.2" in targets()


def test_a_new_version_is_news_and_a_repeated_one_is_not() -> None:
    state = live(used(1, *NEW))
    view = ReadinessView(state)

    def verdicts(now_ms: int) -> dict[str, int]:
        return view.groups("4.0.0", "application", 10, 0, now_ms).verdicts

    assert verdicts(NOW_MS) == {"fine": 1}
    version = state.version
    state.apply([used(1, *NEW, at_ms=NOW_MS)])
    assert state.version == version
    state.apply([used(1, *OLD, at_ms=NOW_MS)])
    assert state.version > version and verdicts(NOW_MS + 1) == {"unknown": 1}


def test_what_did_not_fit_and_what_was_not_read_is_counted() -> None:
    nobody = {"client_id": None, "principal": None}
    records = [used(number, address=f"10.0.1.{number}", kind=Kind.CLOSED, **nobody) for number in range(3)]
    many = [used(100 + number, (1, number % 18), (0, number % 10), client_id="many") for number in range(40)]
    state = live(*records, *many)
    answer = asked(state)
    assert answer["unread"] == 3
    assert answer["forgotten"] == state.counts().dropped["seen_versions"] > 0


def test_an_answer_about_many_clients_is_at_most_ten_seconds_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sinks.dashboard.state.readiness._FEW", 0)
    state = live(used(1, *NEW))
    view = ReadinessView(state)
    first = view.groups("4.0.0", "application", 10, 0, NOW_MS)
    state.apply([used(1, *OLD, at_ms=NOW_MS)])
    assert view.groups("4.0.0", "application", 10, 0, NOW_MS + 9_999) == first
    assert view.groups("4.0.0", "application", 10, 0, NOW_MS + 10_000).verdicts == {"unknown": 1}
