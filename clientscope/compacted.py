"""Reading compacted topics, to their end or for as long as they grow, and writing records that Kafka has acknowledged."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from types import MappingProxyType

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from clientscope.kafka_access import Kafka, access

_TIMEOUT_S = 30.0

Headers = list[tuple[str, bytes]]


class TopicWriter:
    """Writes records to one topic, and returns once Kafka has acknowledged them.  For one thread at a time.

    kafka-python rather than Spark's batch writer: the few changed series are in the driver already, and a Spark job to
    write them would take longer than the writing.
    """

    def __init__(self, kafka: Kafka, topic: str, client_id: str = "clientscope-stream") -> None:
        self._topic = topic
        self._producer = KafkaProducer(**access(kafka).client_arguments(), client_id=client_id, acks="all", linger_ms=0)

    def write(self, records: Mapping[str, bytes | None], headers: Mapping[str, Headers] = MappingProxyType({})) -> None:
        """A None value is a tombstone.

        Args:
            headers: by key, of those that have any.

        Raises:
            KafkaError: a record was not acknowledged; others may have been.
        """
        sent = [self._producer.send(self._topic, key=key.encode(), value=value, headers=headers.get(key)) for key, value in records.items()]
        self._producer.flush(timeout=_TIMEOUT_S)
        for future in sent:
            future.get(timeout=_TIMEOUT_S)

    def close(self) -> None:
        self._producer.close(timeout=_TIMEOUT_S)


def read_compacted(kafka: Kafka, topic: str, client_id: str = "clientscope-stream") -> dict[str, bytes]:
    """The newest value of each key, from the beginning of a topic to where it ends now; tombstones leave nothing.

    Raises:
        TimeoutError: the end was not reached; a broker must have gone away.
    """
    newest: dict[str, bytes] = {}
    with closing(KafkaConsumer(**access(kafka).client_arguments(), client_id=client_id, enable_auto_commit=False)) as consumer:
        partitions = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic) or ()]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        idle = 0
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            batches = consumer.poll(timeout_ms=1000)
            idle = 0 if batches else idle + 1
            if idle > _TIMEOUT_S:
                raise TimeoutError(f"{topic} could not be read to its end")
            for batch in batches.values():
                for record in batch:
                    key = record.key.decode("utf-8", "replace")  # a compacted topic takes no record without a key
                    newest.pop(key, None)
                    if record.value is not None:
                        newest[key] = record.value
    return newest


class Follower:
    """Reads a compacted topic from its beginning, and then what comes.  For one thread at a time."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._topic = topic
        self._consumer = KafkaConsumer(**access(kafka).client_arguments(), client_id="clientscope-stream", enable_auto_commit=False)
        self._partitions: list[TopicPartition] = []
        self._ends: dict[TopicPartition, int] = {}

    def news(self) -> dict[str, bytes | None]:
        """The newest value of each key since the last call, None for a tombstone; returns at once where there is nothing."""
        if not self._partitions:
            self._partitions = [TopicPartition(self._topic, number) for number in self._consumer.partitions_for_topic(self._topic) or ()]
            self._consumer.assign(self._partitions)
            self._consumer.seek_to_beginning(*self._partitions)
            self._ends = self._consumer.end_offsets(self._partitions)
        found: dict[str, bytes | None] = {}
        while batches := self._consumer.poll(timeout_ms=0):
            for batch in batches.values():
                found |= {record.key.decode("utf-8", "replace"): record.value for record in batch if record.key is not None}
        return found

    def has_caught_up(self) -> bool:
        """Whether all has been read that there was at the first call of `news`."""
        return bool(self._ends) and all(self._consumer.position(partition) >= end for partition, end in self._ends.items())

    def close(self) -> None:
        self._consumer.close()
