"""Pauses between attempts."""

from __future__ import annotations

from clientscope.backoff import Backoff


def test_pauses_double_and_have_an_end_however_often_it_fails() -> None:
    backoff = Backoff(1.0, 60.0)
    assert [backoff.seconds(retry) for retry in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff.seconds(1_000_000) == 60


def test_a_pause_is_spread_once_it_is_bounded_and_bounded_again() -> None:
    low, high = (Backoff(1.0, 8.0, spread=(0.5, 1.5), random=lambda value=value: value) for value in (0.0, 1.0))
    assert [low.seconds(retry) for retry in range(5)] == [0.5, 1, 2, 4, 4], "at the longest pause, too, not all come back at once"
    assert [high.seconds(retry) for retry in range(5)] == [1.5, 3, 6, 8, 8]


def test_no_pause_is_shorter_than_the_least() -> None:
    assert Backoff(0.0, 0.0, least_s=0.01).seconds(0) == 0.01
