"""Journal of progress: each entry is kept until Kafka has acknowledged it."""

from __future__ import annotations

from contextlib import suppress

from kafka.errors import KafkaError

from clientscope.kafka.access import Kafka
from clientscope.kafka.writer import TopicWriter
from clientscope.records.topics import DEADLETTER, DELIVERIES
from sinks.alerts.progress import DeadLetter, DeliveryPlan, Disabled, LastDelivery, Request


class Journal:
    """For one thread."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._writers: dict[str, TopicWriter] = {}
        self._unwritten: dict[str, dict[str, bytes | None]] = {DELIVERIES: {}, DEADLETTER: {}}

    def put(self, *records: LastDelivery | DeliveryPlan | Disabled | Request) -> None:
        """To be written with the next `flush`; the newest of each key counts."""
        for record in records:
            self._unwritten[DELIVERIES][record.key] = record.model_dump_json().encode()

    def delete(self, *keys: str) -> None:
        """Tombstones."""
        self._unwritten[DELIVERIES] |= dict.fromkeys(keys)

    def dead(self, letter: DeadLetter) -> None:
        """A message that was given up."""
        self._unwritten[DEADLETTER][letter.id] = letter.model_dump_json().encode()

    def flush(self) -> None:
        """Writes all that isn't written.

        Raises:
            KafkaError: not all was acknowledged; it is still to be written.
        """
        for topic in (DEADLETTER, DELIVERIES):  # first why, then that it is settled
            records = self._unwritten[topic]
            if not records:
                continue
            if topic not in self._writers:
                self._writers[topic] = TopicWriter(self._kafka, topic, "clientscope-deliver")
            self._writers[topic].write(records)
            self._unwritten[topic] = {}

    def close(self) -> None:
        """Closes the journal; entries that aren't written are lost, and the next copy does that work again."""
        for writer in self._writers.values():
            with suppress(KafkaError):
                writer.close()
