"""Rules that could not judge a push: kept by its place, within bounds, with the reason."""

from __future__ import annotations

from page_state import NOW_MS, live, opened, pushed, result

from sinks.dashboard.state.one_client import OneClient
from sinks.dashboard.state.unjudged import UnjudgedRules


def test_each_rule_has_its_reason_and_an_unknown_one_is_named() -> None:
    rules = UnjudgedRules()
    rules.put(0, 7, ["ZZ999", "AN101"])
    found = rules.of(0, 7)
    assert found is not None
    assert [(each.code, each.name, each.why) for each in found] == [
        ("AN101", "acks_zero", "acks was not pushed, or is not 0, 1 or all."),
        ("ZZ999", "", ""),
    ]
    assert rules.of(0, 8) is None, "of a push without a result nothing is known"
    rules.put(0, 7, [])
    assert rules.of(0, 7) == [], "all rules could judge"


def test_it_is_bounded() -> None:
    rules = UnjudgedRules(limit=2, combinations=2)
    for offset in range(4):
        rules.put(0, offset, ["AN101"])
    assert [rules.of(0, offset) is None for offset in range(4)] == [True, True, False, False]
    rules.put(0, 9, ["AN102"])
    rules.put(0, 3, ["AN103"])
    assert rules.of(0, 9) is not None
    assert rules.of(0, 3) is None, "a third combination isn't kept, nor what was known before"


def test_a_clients_page_has_them() -> None:
    state = live(opened(1), pushed(1), result(1, passed=["AN101"], not_evaluable=["AN115"]))
    (client,) = state.clients(10).items
    detail = OneClient(state).detail(client.key, NOW_MS)
    assert detail is not None and detail.not_judged_by is not None
    assert [each.code for each in detail.not_judged_by] == ["AN115"]
    assert "max.request.size" in detail.not_judged_by[0].why
