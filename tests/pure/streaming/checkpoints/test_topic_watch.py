"""Topics of running queries: a replaced topic of the same name is noticed, and nothing else is mistaken for one."""

from __future__ import annotations

import threading

import pytest
from job_topics import cluster

from clientscope.errors import EnvironmentProblem
from clientscope.model.topics import CONFIGS
from streaming.checkpoints import topics_now as module
from streaming.checkpoints.topics_now import TopicsNow, TopicWatch


class Kafka:
    """What is asked, and what comes of it."""

    def __init__(self) -> None:
        self.failing = self.broken = False
        self.stale: dict[str, str] = {}
        self.asked = threading.Semaphore(0)
        self.refused: list[tuple[str, str]] = []
        self.back = 0

    def ask(self) -> TopicsNow:
        self.asked.release()
        if self.broken:
            raise ValueError("x")
        if self.failing:
            raise EnvironmentProblem("no broker answers", "is it up?")
        return cluster()

    def is_back(self) -> None:
        self.back += 1

    def watch(self) -> TopicWatch:
        return TopicWatch(self.ask, lambda now: self.stale, lambda *refused: self.refused.append(refused), self.is_back)


def test_who_has_to_begin_anew_is_refused_until_it_has() -> None:
    kafka = Kafka()
    watch = kafka.watch()
    watch.look()
    assert kafka.refused == []
    kafka.stale = {"live": CONFIGS, "history_pushes": ""}
    watch.look()
    assert kafka.refused == [("live", CONFIGS), ("history_pushes", "")]


def test_a_broker_that_is_away_is_no_cause() -> None:
    kafka = Kafka()
    watch = kafka.watch()
    kafka.failing, kafka.stale = True, {"live": CONFIGS}
    watch.look()
    assert (kafka.refused, kafka.back, watch.away) == ([], 0, "no broker answers; is it up?")
    kafka.failing, kafka.stale = False, {}
    watch.look()
    assert (kafka.back, watch.away) == (1, ""), "who waits for it need not wait longer"
    watch.look()
    assert kafka.back == 1


def test_it_asks_until_it_is_stopped_whatever_happens(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(module, "EVERY_S", 0.001)
    kafka = Kafka()
    watch = kafka.watch()
    kafka.broken = True
    watch.start()
    for _ in range(4):
        assert kafka.asked.acquire(timeout=10)
    watch.stop()
    threads = [thread for thread in threading.enumerate() if thread.name == "topics"]
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert "could not be seen" in caplog.text
