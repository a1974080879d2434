"""A compacted topic, from its beginning to its end, and then what comes."""

from __future__ import annotations

from kafka import KafkaConsumer, TopicPartition

from clientscope.kafka_access import Kafka, access

_AT_ONCE = 5_000


class Feed:
    """For one thread at a time.  Kafka's errors pass through; where one was raised, the feed goes on from where it was."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._topic = topic
        self._consumer = KafkaConsumer(
            **access(kafka).client_arguments(), client_id="clientscope-deliver", enable_auto_commit=False, max_poll_records=_AT_ONCE
        )
        self._ends: dict[TopicPartition, int] = {}
        self.newest_ms: int | None = None

    def read_to_end(self, patience_s: float = 60.0) -> dict[str, bytes | None]:
        """The newest value of each key up to where the topic ends now, None for tombstones.

        Raises:
            TimeoutError: the end wasn't reached; a broker must have gone away.
        """
        partitions = [TopicPartition(self._topic, number) for number in self._consumer.partitions_for_topic(self._topic) or ()]
        self._consumer.assign(partitions)
        self._consumer.seek_to_beginning(*partitions)
        ends = self._consumer.end_offsets(partitions)
        newest: dict[str, bytes | None] = {}
        idle = 0.0
        while any(self._consumer.position(partition) < ends[partition] for partition in partitions):
            news = self.news(0.5)
            idle = 0.0 if news else idle + 0.5
            if idle > patience_s:
                raise TimeoutError(f"{self._topic} could not be read to its end")
            newest |= news
        return newest

    def news(self, timeout_s: float = 0.0) -> dict[str, bytes | None]:
        """The newest value of each key since the last call."""
        found: dict[str, bytes | None] = {}
        while batches := self._consumer.poll(timeout_ms=int(timeout_s * 1000)):
            for record in (record for batch in batches.values() for record in batch):
                self.newest_ms = max(self.newest_ms or 0, record.timestamp)
                if record.key is not None:
                    found[record.key.decode("utf-8", "replace")] = record.value
            timeout_s = 0.0
            if len(found) >= _AT_ONCE:
                break
        return found

    def close(self) -> None:
        """Ends it."""
        self._consumer.close()
