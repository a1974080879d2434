"""Fetching of single records of ``clientscope.configs`` on request: few, within a deadline, by one consumer for all requests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from kafka import TopicPartition
from kafka.errors import KafkaError

from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import Kafka
from clientscope.kafka.reader import OffsetRange, TopicReader
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
    """A `Fetch` from Kafka.  One request at a time; a request that waits for longer than the deadline fails."""

    def __init__(self, kafka: Kafka, deadline_s: float = DEADLINE_S) -> None:
        self._kafka = kafka
        self._deadline_s = deadline_s
        self._lock = threading.Lock()
        self._reader: TopicReader | None = None

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
        """Ends it."""
        with self._lock:
            self._drop()

    def _read(self, places: Sequence[Place], until: float) -> dict[Place, bytes]:
        reader = self._reader = self._reader or self._made()
        found = {}
        for partition, offset in places:
            of = TopicPartition(CONFIGS, partition)
            reader.seek({of: OffsetRange(offset, offset + 1)})
            for record in (record for batches in reader.read(until) for record in batches.get(of, ())):
                # Others come with it; it is compacted away where the client has pushed again, or is gone.
                if record.offset == offset and record.value is not None:
                    found[partition, offset] = record.value
        return found

    def _made(self) -> TopicReader:
        return TopicReader(self._kafka, "clientscope-serve-configs", silence_s=self._deadline_s, fetch_bytes=64 * 1024, wait_ms=100)

    def _drop(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


def _late() -> EnvironmentProblem:
    return EnvironmentProblem("Kafka didn't give the configuration in time", "try again; is the broker well?")
