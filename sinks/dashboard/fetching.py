"""Single records of ``clientscope.configs``, read when somebody asks: few, within a deadline, by one consumer for all who ask."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from clientscope.errors import EnvironmentProblem
from clientscope.kafka_access import Kafka, access
from clientscope.records.topics import CONFIGS

DEADLINE_S = 3.0
MOST_RECORDS = 12

Place = tuple[int, int]
"""Partition and offset."""

_log = logging.getLogger(__name__)


class Fetch(Protocol):
    """Reads records."""

    def __call__(self, places: Sequence[Place]) -> Mapping[Place, bytes]:
        """The values that are still there.

        Raises:
            EnvironmentProblem: Kafka can't be read within the deadline.
        """
        ...


class PushFetcher:
    """A `Fetch` from Kafka.  One request at a time; who waits for longer than the deadline is told so."""

    def __init__(self, kafka: Kafka, deadline_s: float = DEADLINE_S) -> None:
        self._kafka = access(kafka)
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._consumer: KafkaConsumer | None = None

    def __call__(self, places: Sequence[Place]) -> Mapping[Place, bytes]:
        """See `Fetch`."""
        until = time.monotonic() + self._deadline_s
        if not self._lock.acquire(timeout=self._deadline_s):
            raise _late()
        try:
            return self._read(sorted(set(places))[:MOST_RECORDS], until)
        except (KafkaError, OSError, TimeoutError) as error:
            _log.warning("a configuration could not be read: %s", type(error).__name__)
            self._drop()
            raise _late() from None
        finally:
            self._lock.release()

    def close(self) -> None:
        """Ends the consumer."""
        with self._lock:
            self._drop()

    def _read(self, places: Sequence[Place], until: float) -> dict[Place, bytes]:
        consumer = self._consumer = self._consumer or self._made()
        found = {}
        for partition, offset in places:
            of = TopicPartition(CONFIGS, partition)
            consumer.assign([of])
            consumer.seek(of, offset)
            while True:
                left_s = until - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError
                records = consumer.poll(timeout_ms=max(1, int(min(left_s, 0.5) * 1000)), max_records=1).get(of, ())
                if records:
                    # Another offset: that one is compacted away, since the client has pushed again, or is gone.
                    if records[0].offset == offset and records[0].value is not None:
                        found[partition, offset] = records[0].value
                    break
                if consumer.position(of, timeout_ms=1_000) > offset:  # nothing but what compaction left
                    break
        return found

    def _made(self) -> KafkaConsumer:
        return KafkaConsumer(
            **self._kafka.client_arguments(),
            client_id="clientscope-serve-configs",
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
            max_partition_fetch_bytes=64 * 1024,  # Kafka sends one record at least, however large
            request_timeout_ms=int(self._deadline_s * 1000),
            bootstrap_timeout_ms=int(self._deadline_s * 1000),
        )

    def _drop(self) -> None:
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close(autocommit=False, timeout_ms=500)


def _late() -> EnvironmentProblem:
    return EnvironmentProblem("Kafka didn't give the configuration in time", "try again; is the broker well?")
