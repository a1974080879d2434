"""The reader of topics, on a cluster of two brokers: it reaches every end, reports when it can't, and never takes more than it may."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from conftest import running_brokers
from fixed_cluster import FixedCluster, plan
from kafka import KafkaAdminClient, TopicPartition
from kafka.errors import KafkaError, MessageSizeTooLargeError
from observe import write
from patience import LIMIT_S, meanwhile, until

from clientscope.kafka.compacted import Follower, read_compacted
from clientscope.kafka.reader import OffsetRange, TopicReader
from clientscope.kafka.writer import TopicWriter, partition_of
from clientscope.local.broker import EmbeddedBroker, new_cluster_id
from clientscope.local.process import free_port

MIB = 1024 * 1024
SHORT_S = 1.0


@dataclass(frozen=True)
class TwoBrokers:
    """The first is the controller too; the second may leave."""

    first: EmbeddedBroker
    second: EmbeddedBroker

    @property
    def internal(self) -> str:
        return self.first.plan.internal

    def create(self, topic: str, nodes: list[int] | None = None, **configs: str) -> str:
        """One partition on each of these nodes; on the first broker where none are named."""
        admin = AdminClient({"bootstrap.servers": self.internal})
        assigned = [[node] for node in nodes or [1]]
        new = NewTopic(topic, len(assigned), replica_assignment=assigned, config=configs)
        admin.create_topics([new])[topic].result(LIMIT_S)
        return topic

    def write(self, topic: str, *records: tuple[bytes | None, bytes | None], partition: int = 0) -> None:
        write(self.internal, topic, *records, partition=partition)

    def read(self, topic: str) -> list[Any]:
        """All records of a topic."""
        with self.reader() as reader:
            reader.seek(reader.ranges(topic))
            return [record for batches in reader.read() for batch in batches.values() for record in batch]

    def reader(self, **settings: Any) -> closing[TopicReader]:
        return closing(TopicReader(self.internal, "test-reader", **settings))


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[TwoBrokers]:
    fixed = FixedCluster(folder, {1: free_port()}, new_cluster_id())
    extra = {"log.cleaner.backoff.ms": "100", "log.cleaner.min.cleanable.ratio": "0.01", "transaction.state.log.replication.factor": "1"}
    with running_brokers([plan(1, folder, fixed.voters, fixed.cluster_id, extra)]) as (first,), fixed.added:
        fixed.add(2, extra)
        yield TwoBrokers(first, fixed.brokers[2])


def offsets(reader: TopicReader, **until: float) -> list[tuple[int, int]]:
    """What `TopicReader.read` gives: partition and offset of each record."""
    return [(record.partition, record.offset) for batches in reader.read(**until) for batch in batches.values() for record in batch]


def end(ranges: Mapping[TopicPartition, OffsetRange], partition: int = 0) -> int:
    return next(found.end for place, found in ranges.items() if place.partition == partition)


def test_an_empty_topic_is_at_its_end_and_what_comes_is_followed(cluster: TwoBrokers) -> None:
    topic = cluster.create("reader.empty", [1, 2])
    with cluster.reader() as reader:
        assert reader.ranges("reader.nobody") == {}
        ranges = until(lambda: reader.ranges("reader.nobody", topic))  # the other broker may hear of it later than the controller
        assert ranges == {TopicPartition(topic, number): (0, 0) for number in (0, 1)}
        assert not reader.has_caught_up(), "nothing is read yet"
        reader.seek(ranges)
        assert offsets(reader) == []
        assert reader.has_caught_up()
        cluster.write(topic, (b"k", b"v"), partition=1)
        (batch,) = reader.poll(20.0).values()
        assert [(record.key, record.value, record.partition) for record in batch] == [(b"k", b"v", 1)]
        assert reader.ends() == {TopicPartition(topic, 0): 0, TopicPartition(topic, 1): 1}


def test_all_is_read_once_and_then_what_comes(cluster: TwoBrokers) -> None:
    topic = cluster.create("reader.follow", [1, 2], **{"message.timestamp.type": "LogAppendTime"})
    cluster.write(topic, *[(b"k", bytes(100))] * 3_000)
    time.sleep(0.05)
    since_ms = int(time.time() * 1000)
    cluster.write(topic, *[(b"k", bytes(100))] * 10)
    with cluster.reader() as reader:
        reader.seek(reader.ranges(topic))
        assert offsets(reader) == [(0, offset) for offset in range(3_010)]
        cluster.write(topic, (b"k", b""))
        (batch,) = reader.poll(20.0).values()
        assert [record.offset for record in batch] == [3_010]
        late = reader.ranges(topic, since_ms={topic: since_ms})
        assert late == {TopicPartition(topic, 0): (3_000, 3_011), TopicPartition(topic, 1): (0, 0)}
        reader.seek({TopicPartition(topic, 0): OffsetRange(1_000, 1_001)})
        assert offsets(reader)[0] == (0, 1_000), "a place of its own, too"


def test_the_newest_of_each_key_whatever_compaction_left(cluster: TwoBrokers) -> None:
    settings = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
    topic = cluster.create("reader.compacted", **settings)
    cluster.write(topic, *[(b"a", b"%d" % number) for number in range(300)], (b"gone", b"x"), (b"gone", None), (b"b", b"kept"))

    def roll() -> bool:
        cluster.write(topic, (b"c", b"1"))  # compaction leaves the segment alone that is written to
        return len(cluster.read(topic)) < 100

    until(roll, why="compaction has run")
    newest = read_compacted(cluster.internal, topic)
    assert newest == {"a": b"299", "b": b"kept", "c": b"1"}
    with cluster.reader() as reader:
        place = TopicPartition(topic, 0)
        reader.seek({place: OffsetRange(0, 200)})
        found = offsets(reader)
        assert reader.position(place) >= 200, "the end lies in what compaction has taken"
        assert found and found[0][1] > 0
    with closing(Follower(cluster.internal, topic)) as follower:
        assert follower.read_to_end()["c"] == b"1"
        assert follower.has_caught_up() and follower.newest_ms
        cluster.write(topic, (b"a", None))
        news: dict[str, bytes | None] = {}
        until(lambda: news.update(follower.news()) or bool(news))
        assert news == {"a": None}
    assert read_compacted(cluster.internal, topic) == {"b": b"kept", "c": b"1"}, "nothing is left of a tombstone"


@pytest.mark.parametrize("commits", [True, False])
def test_a_transaction_s_marker_is_the_last_of_a_log(cluster: TwoBrokers, commits: bool) -> None:
    topic = cluster.create(f"reader.transactions.{commits}")
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.internal, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(3):
        producer.produce(topic, b"%d" % number)
    producer.flush(LIMIT_S)
    producer.commit_transaction(30) if commits else producer.abort_transaction(30)
    with cluster.reader(silence_s=5.0) as reader:
        reader.seek(reader.ranges(topic))
        assert end(reader.ranges(topic)) == 4
        assert offsets(reader) == ([(0, 0), (0, 1), (0, 2)] if commits else []), "what was taken back is not read"
        assert reader.position(TopicPartition(topic, 0)) == 4


def test_what_is_deleted_while_it_is_read_is_left_out_and_nothing_else(cluster: TwoBrokers) -> None:
    topic = cluster.create("reader.deleted")
    cluster.write(topic, *[(None, os.urandom(1_000)) for _ in range(2_000)])
    place = TopicPartition(topic, 0)
    with cluster.reader(fetch_bytes=64 * 1024) as reader, KafkaAdminClient(bootstrap_servers=cluster.internal) as admin:
        reader.seek(reader.ranges(topic))
        reading = reader.read()
        first = [record.offset for batch in next(reading).values() for record in batch]
        assert first[0] == 0 and first[-1] < 500
        admin.delete_records({place: 1_900})
        rest = [record.offset for batches in reading for batch in batches.values() for record in batch]
    assert rest[-100:] == list(range(1_900, 2_000))
    assert len(rest) < 1_500


def test_a_topic_that_is_deleted_meanwhile_is_named(cluster: TwoBrokers) -> None:
    topic = cluster.create("reader.removed")
    cluster.write(topic, *[(None, os.urandom(1_000)) for _ in range(1_000)])
    with (
        cluster.reader(fetch_bytes=64 * 1024, silence_s=SHORT_S) as reader,
        KafkaAdminClient(bootstrap_servers=cluster.internal) as admin,
    ):
        reader.seek(reader.ranges(topic))
        reading = reader.read()
        next(reading)
        admin.delete_topics([topic])
        with pytest.raises(TimeoutError, match=r"^reader\.removed could not be read to its end: partition 0 is gone$"):
            list(reading)


def test_a_record_larger_than_a_fetch_is_read(cluster: TwoBrokers) -> None:
    topic = cluster.create("reader.large")
    cluster.write(topic, (b"k", os.urandom(MIB // 2)), (b"k", b"small"))
    with cluster.reader(fetch_bytes=64 * 1024) as reader:
        reader.seek(reader.ranges(topic))
        assert offsets(reader) == [(0, 0), (0, 1)]


def test_memory_is_bounded_by_what_a_broker_may_send_at_once(cluster: TwoBrokers) -> None:
    """By default a broker sends kafka-python 50 MiB at once, and a MiB of each partition."""
    topic = cluster.create("reader.memory", [1] * 32)
    for number in range(32):
        cluster.write(topic, *[(None, os.urandom(100_000))] * 15, partition=number)
    with cluster.reader(fetch_bytes=2 * MIB) as reader:
        reader.seek(reader.ranges(topic))
        tracemalloc.start()
        try:
            count = sum(len(batch) for batches in reader.read() for batch in batches.values())
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert count == 32 * 15
    assert peak < 12 * MIB, f"{peak / MIB:.1f} MiB of 46"


def test_a_writer_continues_after_a_record_that_is_too_large(cluster: TwoBrokers) -> None:
    topic = cluster.create("writer.large", **{"max.message.bytes": "10000"})
    with closing(TopicWriter(cluster.internal, topic)) as writer:
        writer.write({"a": b"1"})
        with pytest.raises(MessageSizeTooLargeError):
            writer.write({"large": os.urandom(20_000)})
        writer.write({b"\xff": b"2"})
        writer.write({"a": None})
    assert [(record.key, record.value) for record in cluster.read(topic)] == [(b"a", b"1"), (b"\xff", b"2"), (b"a", None)]


def test_a_key_s_partition_is_the_producers(cluster: TwoBrokers) -> None:
    topic = cluster.create("writer.partitions", [1] * 5)
    keys = [f"gateway-{number}" for number in range(20)]
    with closing(TopicWriter(cluster.internal, topic)) as writer:
        writer.write(dict.fromkeys(keys, b""))
    assert {record.key.decode(): record.partition for record in cluster.read(topic)} == {
        key: partition_of(key.encode(), range(5)) for key in keys
    }


def test_nobody_answers(cluster: TwoBrokers) -> None:
    for silence_s, error in ((0.3, KafkaError), (0.0, TimeoutError)):
        with pytest.raises(error):
            TopicReader(f"127.0.0.1:{free_port()}", "test-reader", silence_s=silence_s)


def test_where_a_partition_s_leader_leaves_reading_ends_with_its_name(cluster: TwoBrokers) -> None:
    """However busy another partition is. The last test: the second broker does not come back."""
    topic, alone = cluster.create("reader.leaderless", [1, 2]), cluster.create("reader.alone", [2])
    cluster.write(topic, *[(None, b"")] * 10)
    cluster.write(topic, *[(None, os.urandom(1_000)) for _ in range(2_000)], partition=1)
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.internal})

    def busy() -> None:
        producer.produce(topic, b"", partition=0)
        producer.poll(0)

    problem = r"^reader\.leaderless could not be read to its end: partition 1 has no leader$"
    with meanwhile(busy, 0.05), cluster.reader(silence_s=SHORT_S, fetch_bytes=64 * 1024) as reader:
        ranges = reader.ranges(topic)
        reader.seek(ranges)
        reading = reader.read()
        next(reading)
        cluster.second.stop()
        with pytest.raises(TimeoutError, match=problem):
            list(reading)
        assert not reader.has_caught_up()
        with pytest.raises(TimeoutError, match=problem):
            reader.ends()
        with pytest.raises(TimeoutError, match=problem):
            reader.ranges(topic)
        with pytest.raises(TimeoutError, match=r"^reader\.alone could not be read to its end: partition 0 has no leader$"):
            reader.ranges(alone)
        reader.seek({place: found for place, found in ranges.items() if place.partition == 0})
        assert len(offsets(reader)) >= 10, "the other partition is read"
        reader.seek({TopicPartition(topic, 1): OffsetRange(0, 2_000)})
        with pytest.raises(TimeoutError):
            offsets(reader, until=time.monotonic() + 0.2)
    producer.flush(LIMIT_S)
