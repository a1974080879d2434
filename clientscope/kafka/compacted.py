"""Compacted topics: the newest value of each key."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from heapq import merge
from typing import Any

from kafka import TopicPartition

from clientscope.kafka.access import Kafka
from clientscope.kafka.reader import Batches, TopicReader
from clientscope.kafka.writer import MOVED, TopicWriter


# Producers then write a key's new records to another partition than its old ones, and no reader reads partitions in the order of time.
# The topics have LogAppendTime, so of one key the record that Kafka appended last is the newest. Within a partition the order is that
# of offsets.
#
# Compaction knows nothing of other partitions: a key's old value stays for ever, and would count again once compaction has removed a
# tombstone in the new partition. So `clear_old_places` removes what newer records have replaced.
class LatestByKey:
    """Which records are newer than all that were seen of their keys.

    It keeps a place for each key of topics with several partitions, some 150 bytes; for one partition it keeps nothing.

    Args:
        partitions: those that are read from now on. Of a topic that has one of them, and gets others, what is there already is older.
    """

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        several = Counter(partition.topic for partition in partitions)
        self._places: dict[str, dict[bytes, tuple[int, int]]] = {topic: {} for topic, count in several.items() if count > 1}

    def is_latest(self, record: Any) -> bool:
        """Takes in a record of kafka-python's; whether no newer one of its key was seen in another partition."""
        if record.key is None:
            return True
        if clears_old_place(record):
            return False
        places = self._places.get(record.topic)
        if places is None:
            if record.partition == 0:
                return True
            places = self._places[record.topic] = {}
        before = places.get(record.key)
        if before is not None and before[1] != record.partition and record.timestamp < before[0]:
            return False
        places[record.key] = record.timestamp, record.partition
        return True


def clears_old_place(record: Any) -> bool:
    """Whether a record only clears a place that its key has left."""
    return record.value is None and any(name == MOVED for name, _ in record.headers)


def by_time(batches: Batches) -> Iterator[Any]:
    """The records of all partitions, those of each in its order, and between partitions those appended earlier first."""
    return merge(*batches.values(), key=lambda record: record.timestamp)


def clear_old_places(kafka: Kafka, topic: str, client_id: str, keys: Collection[bytes] | None = None) -> int:
    """Writes tombstones where a key has a value in one partition, and a newer record in another; returns how many.

    Args:
        keys: of these alone; None is all.

    Raises:
        KafkaError, TimeoutError: the topic can't be read to its end, or not written.
    """
    values: dict[bytes, dict[int, int]] = defaultdict(dict)
    newest: dict[bytes, tuple[int, int]] = {}
    with closing(TopicReader(kafka, client_id)) as reader:
        ranges = reader.ranges(topic)
        if len(ranges) < 2:
            return 0
        reader.seek(ranges)
        for record in (record for batches in reader.read() for batch in batches.values() for record in batch):
            if record.key is None or (keys is not None and record.key not in keys):
                continue
            if record.value is None:
                values[record.key].pop(record.partition, None)
            else:
                values[record.key][record.partition] = record.timestamp
            if not clears_old_place(record):
                newest[record.key] = max(newest.get(record.key, (-1, -1)), (record.timestamp, record.partition))
    old: dict[int, list[bytes]] = defaultdict(list)
    for key, places in values.items():
        for partition in places:
            if newest[key][1] != partition:
                old[partition].append(key)
    if old:
        with closing(TopicWriter(kafka, topic, client_id)) as writer:
            for partition, there in old.items():
                writer.clear(partition, there)
    return sum(map(len, old.values()))


_AT_ONCE = 5_000


class Follower:
    """Reads a compacted topic from its beginning, and then what comes, also in partitions that it gets later. For one thread at a time.

    Kafka's errors pass through; the next call continues where the reader was.

    Attributes:
        has_begun: whether the topic was there when it was read.
        newest_ms: Kafka's time of the newest record that was read; None before the first.
    """

    def __init__(self, kafka: Kafka, topic: str, client_id: str = "clientscope-stream") -> None:
        self._topic = topic
        self._reader = TopicReader(kafka, client_id)
        self.has_begun = False
        self._latest = LatestByKey(())
        self.newest_ms: int | None = None

    def read_to_end(self) -> dict[str, bytes | None]:
        """The newest value of each key since the last call, up to where the topic ends now, None for tombstones.

        Raises:
            KafkaError, TimeoutError: the end was not reached.
        """
        if self.has_begun:
            self._reader.extend()
        else:
            self._begin()
        found: dict[str, bytes | None] = {}
        for batches in self._reader.read():
            self._take(found, batches)
        return found

    def news(self) -> dict[str, bytes | None]:
        """The newest value of each key since the last call, some 5,000 at once; nothing where there is nothing yet."""
        if not self.has_begun:
            self._begin()
        found: dict[str, bytes | None] = {}
        while len(found) < _AT_ONCE and (batches := self._reader.poll()):
            self._take(found, batches)
        return found

    def has_caught_up(self) -> bool:
        """Whether all has been read that there was when reading began."""
        return self._reader.has_caught_up()

    def close(self) -> None:
        """Ends it."""
        self._reader.close()

    def _begin(self) -> None:
        ranges = self._reader.ranges(self._topic)
        self._reader.seek(ranges, growing=True)
        self._latest = LatestByKey(ranges)
        self.has_begun = bool(ranges)

    def _take(self, found: dict[str, bytes | None], batches: Batches) -> None:
        for record in by_time(batches):
            self.newest_ms = max(self.newest_ms or 0, record.timestamp)
            if record.key is not None and self._latest.is_latest(record):
                key = record.key.decode("utf-8", "replace")
                found.pop(key, None)  # the order is that of the newest records
                found[key] = record.value


def read_compacted(kafka: Kafka, topic: str, client_id: str = "clientscope-stream") -> dict[str, bytes]:
    """The newest value of each key, from the beginning of a topic to where it ends now; tombstones leave nothing.

    Raises:
        KafkaError, TimeoutError: the end was not reached.
    """
    with closing(Follower(kafka, topic, client_id)) as follower:
        return {key: value for key, value in follower.read_to_end().items() if value is not None}
