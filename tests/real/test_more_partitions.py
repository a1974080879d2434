"""F49: topics get more partitions under load, and of each key the last value counts, for whoever reads along and whoever begins later."""

from __future__ import annotations

import json
import random
import re
from contextlib import closing

import kafka
import pytest
from conftest import RunningBroker
from every import every
from observe import read_all
from page_state import gauge
from patience import until

from clientscope.cli import main
from clientscope.kafka.compacted import Follower, clear_old_places, read_compacted
from clientscope.kafka.writer import TopicWriter, partition_of
from clientscope.model.topics import GAUGES, TOPICS
from sinks.dashboard.state.reader import StateReader
from sinks.dashboard.state.state import State

pytestmark = pytest.mark.faults

KEYED = [topic.name for topic in TOPICS if topic.retention_days is None]
KEYS = 100


class Load:
    """A writer of one topic, which knows the last value of each key; every fifth is a tombstone."""

    def __init__(self, broker: RunningBroker, topic: str, seed: int) -> None:
        self.last: dict[str, bytes | None] = {}
        self._broker, self._topic = broker, topic
        self._chance = random.Random(seed)  # noqa: S311  # keys, not secrets
        self._count = 0

    def write(self, writer: TopicWriter, records: int) -> None:
        for _ in range(records):
            self._count += 1
            record = gauge(self._count, gateway=f"gw-{self._chance.randrange(KEYS)}")
            key = record.key.decode()
            value = None if self._chance.random() < 0.2 else record.value
            writer.write({key: value})
            self.last[key] = value

    def grow(self, partitions: int) -> None:
        with kafka.KafkaAdminClient(bootstrap_servers=self._broker.internal) as admin:
            admin.create_partitions({self._topic: partitions})

    @property
    def values(self) -> dict[str, bytes]:
        return {key: value for key, value in self.last.items() if value is not None}


class Followed:
    """A topic under load, with a reader that began before it got partitions."""

    def __init__(self, broker: RunningBroker, topic: str) -> None:
        self.topic, self.load = topic, Load(broker, topic, seed=KEYED.index(topic))
        self._broker = broker
        self._writer = TopicWriter(broker.internal, topic)
        self._follower = Follower(broker.internal, topic)
        self._values: dict[str, bytes | None] = {}

    def grow(self, partitions: int) -> None:
        """Reads what there is; then the topic grows. One writer doesn't know that yet, another one writes to the new partitions too."""
        self._values |= self._follower.read_to_end()
        self.load.grow(partitions)
        self.load.write(self._writer, 30)
        with closing(TopicWriter(self._broker.internal, self.topic)) as another:
            self.load.write(another, 150)

    def write(self, records: int) -> None:
        self.load.write(self._writer, records)

    def has_followed(self) -> bool:
        self._values.update(self._follower.news())
        return {key: value for key, value in self._values.items() if value is not None} == self.load.values

    def close(self) -> None:
        self._follower.close()
        self._writer.close()


def test_f49_the_last_value_of_each_key_counts(lone: RunningBroker) -> None:
    """For one that reads along, and for one that begins later; all topics at a time, since readers hear of new partitions in 30 s."""
    topics = [Followed(lone, topic) for topic in KEYED]
    for each in topics:
        each.write(150)
    for each in topics:
        each.grow(3)
        moved = [key for key in each.load.last if partition_of(key.encode(), range(3))]
        assert len(moved) > KEYS // 3, "keys that have records in two partitions"
        assert read_compacted(lone.internal, each.topic) == each.load.values, each.topic
    for each in topics:
        until(each.has_followed, why=each.topic)
    for each in topics:
        each.close()


def partitions_of_values(broker: RunningBroker, topic: str) -> dict[bytes, list[int]]:
    """Where each key still has a value, as compaction will leave it."""
    last: dict[tuple[bytes, int], bool] = {}
    for record in read_all(broker.internal, topic):
        last[record.key, record.partition] = record.value is not None
    places: dict[bytes, list[int]] = {}
    for key, partition in sorted(place for place, there in last.items() if there):
        places.setdefault(key, []).append(partition)
    return places


def test_f49_earlier_partitions_are_cleared_and_nothing_else(lone: RunningBroker, capfd: pytest.CaptureFixture[str]) -> None:
    """Otherwise an old value would count again once compaction has removed the tombstone that replaced it."""
    before = {topic: read_compacted(lone.internal, topic) for topic in KEYED}
    for topic in KEYED:
        assert any(len(places) > 1 for places in partitions_of_values(lone, topic).values()), "the test above has made such keys"
    command = ["topics", "--bootstrap-servers", lone.internal]
    assert main([*command, "--migrate"]) == 0
    assert set(re.findall(r"cleared [0-9,]+ values in earlier partitions of (\S+)", capfd.readouterr().out)) == set(KEYED)
    assert main([*command, "--migrate"]) == 0
    assert capfd.readouterr().out == "all topics are as they should be\n", "nothing is left to clear"
    for topic in KEYED:
        assert read_compacted(lone.internal, topic) == before[topic]
        places = partitions_of_values(lone, topic)
        assert all(len(there) == 1 for there in every(places.values()))
        assert {key.decode() for key in places} == before[topic].keys(), "no value is left of keys that are gone"


def test_f49_the_page_shows_the_last_value_of_each_key(lone: RunningBroker) -> None:
    state, restarted = State(), State()
    first = StateReader(lone.internal, state)
    load = Load(lone, GAUGES, seed=7)
    load.last = dict(read_compacted(lone.internal, GAUGES))

    def shows(shown: State) -> bool:
        wanted = {json.loads(value)["gateway"]: json.loads(value)["connections"] for value in load.values.values()}
        return shown.feed.now == "live" and {each.gateway: each.connections for each in shown.counts().series} == wanted

    first.start()
    try:
        until(lambda: shows(state))
        load.grow(7)
        with closing(TopicWriter(lone.internal, GAUGES)) as writer:
            load.write(writer, 150)
        until(lambda: shows(state))
        second = StateReader(lone.internal, restarted)
        second.start()
        try:
            until(lambda: shows(restarted))
            assert clear_old_places(lone.internal, GAUGES, "test") > 0
            assert shows(state) and shows(restarted)
        finally:
            second.stop()
    finally:
        first.stop()
