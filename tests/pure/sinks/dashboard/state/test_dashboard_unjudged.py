"""Rules that could not judge a push: packed, and shown with their reason."""

from __future__ import annotations

from page_state import NOW_MS, live, opened, pushed, result

from sinks.dashboard.state.one_client import OneClient
from sinks.dashboard.state.unjudged import pack, unpack
from udfs.rules.registry import EVERY_RULE


def test_each_rule_has_its_reason_and_one_of_another_release_is_left_out() -> None:
    found = unpack(pack(["ZZ999", "AN101", "AN101"]))
    assert [(each.code, each.name, each.why) for each in found] == [("AN101", "acks_zero", "acks was not pushed, or is not 0, 1 or all.")]
    assert unpack(pack([])) == []


def test_every_rule_has_its_own_bit() -> None:
    codes = [rule.code for rule in EVERY_RULE]
    assert [each.code for each in unpack(pack(codes))] == sorted(codes)
    assert [[each.code for each in unpack(pack([code]))] for code in codes] == [[code] for code in codes]


def test_without_a_result_nothing_is_known_and_a_later_push_has_its_own() -> None:
    state = live(opened(1), pushed(1))
    (client,) = state.clients(10).items

    def unjudged() -> list[str] | None:
        detail = OneClient(state).detail(client.key, NOW_MS)
        return None if detail is None or detail.not_judged_by is None else [each.code for each in detail.not_judged_by]

    assert unjudged() is None
    state.apply([result(1, passed=["AN101"], not_evaluable=[])])
    assert unjudged() == []
    state.apply([pushed(2)])
    assert unjudged() is None
    state.apply([result(2, passed=["AN101"], not_evaluable=["AN102"])])
    assert unjudged() == ["AN102"]
    state.apply([result(3, passed=["AN101"], not_evaluable=["AN115"])])
    state.apply([pushed(3)])
    assert unjudged() == ["AN115"], "in whatever order they are read"
