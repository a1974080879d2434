"""gateway/idle_closes: a close counts by itself alone, and closes that contradict each other show nothing."""

from __future__ import annotations

import pytest

from clientscope.gateway.idle_closes import APART_S, MOST_COUNTED, IdleClose, IdleCloses

MEMBER = 7


def close(idle_ms: int, opened_ms: int = 1_000) -> IdleClose:
    return IdleClose(idle_ms, opened_ms, MEMBER, 2_000)


def after(*idle_ms: int, opened_ms: int = 1_000) -> IdleCloses:
    """Closes that are far apart."""
    closes = IdleCloses()
    for number, each in enumerate(idle_ms):
        assert closes.closed(close(each, opened_ms), number * 60.0)
        assert closes.settle(MEMBER)
    return closes


def test_before_any_close_nothing_is_known() -> None:
    assert IdleCloses().text("java") is None
    assert not IdleCloses().settle(MEMBER)
    assert not IdleCloses().settle(None)


def test_closes_give_their_range() -> None:
    assert after(540_012).text("java") == "~540000 (540012, of 1 connection)"
    assert after(541_200, 540_012, 540_900).text("java") == "~540000 (540012 to 541200, of 3 connections)"


def test_closes_that_contradict_each_other_show_nothing() -> None:
    assert after(540_012, 545_500).text("java") is None
    assert after(300_000, 540_012, 540_013).text("java") is None


@pytest.mark.parametrize("seconds", [0.0, APART_S - 0.1])
def test_of_two_closes_at_about_the_same_time_none_counts(seconds: float) -> None:
    closes = IdleCloses()
    assert closes.closed(close(540_012), 100.0)
    assert not closes.closed(close(540_012), 100.0 + seconds)
    assert not closes.settle(MEMBER)
    assert closes.closed(close(540_012), 100.0 + seconds + APART_S)


def test_a_close_for_another_reason_counts_as_one_as_well() -> None:
    closes = IdleCloses()
    assert not closes.closed(None, 100.0)
    assert not closes.closed(close(540_012), 101.0)
    assert closes.closed(close(540_012), 200.0)
    assert not closes.closed(None, 201.0)
    assert not closes.settle(MEMBER)


@pytest.mark.parametrize("member", [None, MEMBER + 1])
def test_a_close_counts_only_if_the_member_stays(member: int | None) -> None:
    closes = IdleCloses()
    closes.closed(close(540_012), 100.0)
    assert not closes.settle(member)
    assert not closes.settle(MEMBER), "it is settled once"


@pytest.mark.parametrize(("opened_ms", "known"), [(2_000, True), (12_000, True), (12_001, False), (-8_001, False)])
def test_one_close_is_enough_only_of_a_connection_of_the_same_start(opened_ms: int, known: bool) -> None:
    assert (after(540_012, opened_ms=opened_ms).text("java") is not None) == known
    assert after(540_012, 540_013, opened_ms=opened_ms).text("java") == "~540000 (540012 to 540013, of 2 connections)"


def test_so_many_closes_are_enough() -> None:
    closes = after(*[540_012] * MOST_COUNTED)
    assert not closes.closed(close(540_012), 1e6)
    assert closes.text("java") == f"~540000 (540012 to 540012, of {MOST_COUNTED} connections)"
