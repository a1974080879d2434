"""Topics of running queries: a replaced topic of the same name is noticed, and nothing else is mistaken for one."""

from __future__ import annotations

import threading

import pytest

from clientscope.errors import EnvironmentProblem
from clientscope.records.topics import CONFIGS, CONNECTIONS
from streaming.checkpoints import watch as module
from streaming.checkpoints.broker import TopicsNow
from streaming.checkpoints.compare import RecordsLost
from streaming.checkpoints.manifest import Refused, SeenTopic
from streaming.checkpoints.offsets import Extent
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.watch import TopicWatch


class Kafka:
    """What is asked, and what of it is examined."""

    def __init__(self) -> None:
        self.ids: dict[str, str | None] = {CONFIGS: "a", CONNECTIONS: "b"}
        self.ends = {CONFIGS: 100, CONNECTIONS: 100}
        self.failing = False
        self.examined: list[str] = []
        self.refusal: type[Refused] | type[RecordsLost] | None = Refused
        self.broken = False
        self.asked = threading.Semaphore(0)
        self.lost: list[str] = []
        self.back = 0

    def ask(self) -> TopicsNow:
        self.asked.release()
        if self.broken:
            raise ValueError("x")
        if self.failing:
            raise EnvironmentProblem("no broker answers", "is it up?")
        seen = {topic: SeenTopic(topic_id=topic_id, partitions=1) for topic, topic_id in self.ids.items()}
        return TopicsNow(seen, {topic: {0: Extent(0, end)} for topic, end in self.ends.items()})

    def examine(self, query: str) -> None:
        self.examined.append(query)
        if self.refusal is RecordsLost:
            raise RecordsLost(query, [])
        if self.refusal is Refused:
            raise Refused(f"{query}: another topic")

    def refused(self, query: str, why: Refused) -> None:
        self.lost.append(str(why))

    def is_back(self) -> None:
        self.back += 1

    def watch(self) -> TopicWatch:
        return TopicWatch(self.ask().topics, self.ask, self.examine, self.refused, self.is_back)


def test_the_same_topics_are_left_alone() -> None:
    kafka = Kafka()
    watch = kafka.watch()
    watch.read("results", {CONFIGS: {0: 100}})
    kafka.ends[CONFIGS] = 1000
    for _ in range(3):
        watch.look()
    assert kafka.examined == []


def test_another_id_is_another_topic() -> None:
    kafka = Kafka()
    watch = kafka.watch()
    kafka.ids[CONNECTIONS] = "c"
    watch.look()
    watch.look()
    readers = [name for name, plan in PLANS.items() if plan.topic == CONNECTIONS]
    assert "gauges" in readers
    assert kafka.lost == [f"{name}: another topic" for name in readers], "each once"


def test_records_that_are_gone_are_left_to_the_query() -> None:
    """It fails by them itself; what is done then must not be done under a query that runs."""
    kafka = Kafka()
    watch = kafka.watch()
    kafka.refusal = RecordsLost
    kafka.ids[CONNECTIONS] = "c"
    watch.look()
    assert kafka.lost == []


def test_a_broker_without_ids_is_believed() -> None:
    kafka = Kafka()
    watch = kafka.watch()
    kafka.ids = dict.fromkeys(kafka.ids, None)
    watch.look()
    assert kafka.lost == []


def test_an_end_before_what_was_read_counts_once_it_stays() -> None:
    kafka = Kafka()
    watch = kafka.watch()
    watch.read("results", {CONFIGS: {0: 100}})
    for end in (99, 100, 99):
        kafka.ends[CONFIGS] = end
        watch.look()
    assert kafka.examined == [], "a new leader's"
    watch.look()
    assert kafka.lost == ["results: another topic"]


def test_a_query_that_is_sound_continues() -> None:
    kafka = Kafka()
    kafka.refusal = None
    watch = kafka.watch()
    kafka.ids[CONFIGS] = "z"
    watch.look()
    assert (kafka.examined, kafka.lost) == (["results", "history_pushes"], [])


def test_a_broker_that_is_away_is_no_cause() -> None:
    kafka = Kafka()
    watch = kafka.watch()
    watch.read("results", {CONFIGS: {0: 100}})
    kafka.ends[CONFIGS] = 99
    watch.look()
    kafka.failing = True
    watch.look()
    assert (kafka.back, watch.away) == (0, "no broker answers; is it up?")
    kafka.failing = False
    watch.look()
    assert kafka.examined == []
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
