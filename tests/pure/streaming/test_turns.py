"""Turns of history's batches: one at a time, after the live queries, and not for ever."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from streaming import turns as module
from streaming.turns import Stopped, Turns, live_queries_behind


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.001)


def in_thread(call: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=call)
    thread.start()
    return thread


def test_a_turn_waits_for_live_queries() -> None:
    asked: list[bool] = []

    def behind() -> bool:
        asked.append(len(asked) < 3)
        return asked[-1]

    with Turns(behind).turn():
        assert asked == [True, True, True, False]


def test_one_at_a_time() -> None:
    turns, order = Turns(lambda: False), []

    def other() -> None:
        with turns.turn():
            order.append("other")

    with turns.turn():
        waiting = in_thread(other)
        waiting.join(0.05)
        order.append("first")
    waiting.join()
    assert order == ["first", "other"]


def test_patience_ends() -> None:
    times = iter([0.0, 599.0, 600.0])
    with Turns(lambda: True, clock=lambda: next(times)).turn():
        assert next(times, None) is None


def test_nobody_waits_once_the_job_stops() -> None:
    turns, said = Turns(lambda: True), []

    def wait() -> None:
        with pytest.raises(Stopped), turns.turn():
            said.append("a turn")
        said.append("stopped")

    waiting = in_thread(wait)
    turns.stop()
    waiting.join(10)
    assert said == ["stopped"]


def test_a_batch_that_fails_gives_its_turn_back() -> None:
    turns = Turns(lambda: False)
    with pytest.raises(ValueError, match="x"), turns.turn():
        raise ValueError("x")
    with turns.turn():
        pass


def query(name: str, *unread: int) -> Any:
    read = {str(partition): 100 for partition in range(len(unread))}
    latest = {str(partition): 100 + number for partition, number in enumerate(unread)}
    source = SimpleNamespace(endOffset=json.dumps({"t": read}), latestOffset=json.dumps({"t": latest}))
    return SimpleNamespace(name=name, lastProgress=SimpleNamespace(sources=[source]))


@pytest.mark.parametrize(
    ("queries", "behind"),
    [
        ([], False),
        ([query("results", 50_000), query("gauges", 0)], False),
        ([query("results", 25_000, 25_001)], True),
        ([query("results", 0), query("gauges", 50_001)], True),
        ([query("history_pushes", 10**6), query("results", 0)], False),
        ([SimpleNamespace(name="results", lastProgress=None)], True),
    ],
)
def test_behind_is_more_than_a_moments_work(queries: list[Any], behind: bool) -> None:
    spark: Any = SimpleNamespace(streams=SimpleNamespace(active=queries))
    assert live_queries_behind(spark, ("results", "gauges")) is behind
