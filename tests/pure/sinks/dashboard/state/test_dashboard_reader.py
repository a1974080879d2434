"""Where reading begins, when it is complete, and that it continues at its position; against a cluster in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import page_state
import pytest
from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError
from patience import until

from clientscope.kafka.reader import OffsetRange
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES, RESULTS, STATUS
from sinks.dashboard.state import reader
from sinks.dashboard.state.pushes import DAY_MS
from sinks.dashboard.state.reader import StateReader
from sinks.dashboard.state.state import State

NOW = 10 * DAY_MS


class Cluster:
    """Topics of one partition: offset → (timestamp, value), where compaction may have left gaps, up to the end."""

    def __init__(self) -> None:
        self.logs: dict[str, dict[int, tuple[int, bytes]]] = {
            topic: {} for topic in (GAUGES, CONNECTIONS, RESULTS, FINDINGS, CONFIGS, STATUS)
        }
        self.ends = dict.fromkeys(self.logs, 0)
        self.up = True
        self.fetched: list[tuple[str, int]] = []

    def write(self, topic: str, value: bytes, at: int = NOW, gap: int = 0) -> None:
        self.logs[topic][self.ends[topic]] = (at, value)
        self.ends[topic] += 1 + gap

    def reader(self, kafka: Any, client_id: str, **settings: Any) -> Reader:
        return Reader(self)


class Reader:
    """The part of `TopicReader` that is used."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._positions: dict[TopicPartition, int] = {}
        self._check()

    def _check(self) -> None:
        if not self._cluster.up:
            raise KafkaTimeoutError("down")

    def ranges(self, *topics: str, since_ms: Mapping[str, int]) -> dict[TopicPartition, OffsetRange]:
        def first(topic: str) -> int:
            young = [offset for offset, (at, _) in self._cluster.logs[topic].items() if at >= since_ms.get(topic, 0)]
            return min(young, default=self._cluster.ends[topic] if topic in since_ms else 0)

        there = [topic for topic in topics if topic in self._cluster.logs]
        return {TopicPartition(topic, 0): OffsetRange(first(topic), self._cluster.ends[topic]) for topic in there}

    def ends(self) -> dict[TopicPartition, int]:
        self._check()
        return {partition: self._cluster.ends[partition.topic] for partition in self._positions}

    def seek(self, ranges: Mapping[TopicPartition, OffsetRange], *, growing: bool = False) -> None:
        self._positions = {partition: first for partition, (first, _) in ranges.items()}

    def position(self, partition: TopicPartition) -> int:
        return self._positions[partition]

    def poll(self, timeout_s: float) -> dict[TopicPartition, list[Any]]:
        time.sleep(0.001)
        found: dict[TopicPartition, list[Any]] = {}
        for partition, position in self._positions.items():
            if not self._cluster.up:
                continue
            for offset, (at, value) in self._cluster.logs[partition.topic].items():
                if offset >= position:
                    self._cluster.fetched.append((partition.topic, offset))
                    found.setdefault(partition, []).append(
                        SimpleNamespace(
                            topic=partition.topic, timestamp=at, key=SERIES, value=value, partition=0, offset=offset, headers=[]
                        )
                    )
            self._positions[partition] = self._cluster.ends[partition.topic]
        return found

    def close(self) -> None: ...


SERIES = b'["c",1,"gw","l","n","v"]'


def gauge(count: int) -> bytes:
    return page_state.gauge(count).value or b""


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(reader, "TopicReader", made.reader)
    monkeypatch.setattr(reader, "CHECK_SECONDS", 0.005)
    monkeypatch.setattr(reader, "RETRY_SECONDS", 0.01)
    return made


@pytest.fixture
def start() -> Iterator[Callable[[], State]]:
    readers = []

    def start_one() -> State:
        state = State()
        readers.append(StateReader("kafka:9092", state, lambda: NOW))
        readers[-1].start()
        return state

    yield start_one
    for started in readers:
        started.stop()
        assert not started.is_alive()


def is_live(state: State) -> bool:
    return state.feed.now == "live"


def test_gauges_are_read_whole_and_the_rest_from_a_day_ago(cluster: Cluster, start: Callable[[], State]) -> None:
    cluster.write(GAUGES, gauge(3), at=1, gap=7)  # which compaction has taken away
    for topic in (CONNECTIONS, RESULTS):
        cluster.write(topic, b"", at=NOW - DAY_MS - 1)
    cluster.write(RESULTS, b"", at=NOW - DAY_MS + 1)
    state = start()
    until(lambda: is_live(state))
    assert cluster.fetched == [(GAUGES, 0), (RESULTS, 1)]
    assert state.overview(NOW).connections == 3


def test_it_continues_at_its_position_when_kafka_comes_back(cluster: Cluster, start: Callable[[], State]) -> None:
    cluster.write(GAUGES, gauge(3))
    state = start()
    until(lambda: is_live(state))
    cluster.up = False
    until(lambda: state.feed.now == "unreachable")
    assert state.feed.detail == "Kafka at kafka:9092 can't be read (KafkaTimeoutError)."
    cluster.write(GAUGES, gauge(4))
    cluster.up = True
    until(lambda: is_live(state))
    assert cluster.fetched == [(GAUGES, 0), (GAUGES, 1)]
    assert state.overview(NOW).connections == 4


def test_a_missing_topic_is_reported_and_tried_again(cluster: Cluster, start: Callable[[], State]) -> None:
    log = cluster.logs.pop(RESULTS)
    state = start()
    until(lambda: state.feed.now == "unreachable")
    cluster.logs[RESULTS] = log
    until(lambda: is_live(state))


def test_a_bug_leaves_no_page_that_looks_alive(cluster: Cluster, start: Callable[[], State], monkeypatch: pytest.MonkeyPatch) -> None:
    state = start()
    until(lambda: is_live(state))
    with monkeypatch.context() as patched:
        patched.setattr(Reader, "poll", lambda self, timeout_s: 1 / 0)
        until(lambda: state.feed.now == "unreachable")
    until(lambda: is_live(state))
