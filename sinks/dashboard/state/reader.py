"""Reader of Kafka's topics into `State`, and of single records of ``clientscope.configs`` on request.

A copy of ``clientscope serve`` reads every partition itself, so any number of copies show the same: by one thread and one consumer, without
a consumer group; nothing is committed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

from clientscope.background import Background
from clientscope.clock import now_ms
from clientscope.errors import EnvironmentProblem
from clientscope.kafka.access import Kafka, access
from clientscope.kafka.compacted import LatestByKey, by_time, clears_old_place
from clientscope.kafka.reader import OffsetRange, TopicReader
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES, RESULTS, STATUS
from sinks.dashboard.state.known import TopicRecord
from sinks.dashboard.state.pushes import DAY_MS
from sinks.dashboard.state.state import State

TOPICS = (GAUGES, CONNECTIONS, RESULTS, FINDINGS, CONFIGS, STATUS)

_LAST_DAY = (CONNECTIONS, RESULTS)
"""Read from a day ago: an open connection is recorded again every six hours. Of the other topics the newest record of each key counts;
connections have sequences, and of results each source counts."""

_POLL_S = 0.2
_TIMEOUT_S = 5.0
CHECK_SECONDS = 1.0
"""Between two looks at the ends of the topics."""
RETRY_SECONDS = 2.0
"""Until topics that could not be read are tried again."""

_log = logging.getLogger(__name__)


class StateReader(Background):
    """Feeds ``state`` until stopped.  Whatever goes wrong with Kafka makes the feed unreachable, and is tried again.

    Partitions that a topic gets later are read too. Until everything has been read, an older record of a key may come from a partition
    after a newer one from another, and is left out.
    """

    def __init__(self, kafka: Kafka, state: State, clock: Callable[[], int] = now_ms) -> None:
        super().__init__("clientscope-reader")
        self._kafka = access(kafka)
        self._state = state
        self._clock = clock
        self._positions: dict[TopicPartition, int] = {}
        self._ranges: dict[TopicPartition, OffsetRange] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._latest: LatestByKey | None = None

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._read()
            except (KafkaError, OSError) as error:
                _log.warning("Kafka at %s can't be read, trying again: %s", self._kafka.bootstrap_servers, type(error).__name__)
                self._fail(error)
            except Exception as error:  # a bug must not leave a page that looks alive
                _log.exception("reading stopped, trying again")
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._state.unreachable(f"Kafka at {self._kafka.bootstrap_servers} can't be read ({type(error).__name__}).")
        self._stopping.wait(RETRY_SECONDS)

    def _read(self) -> None:
        with closing(TopicReader(self._kafka, "clientscope-serve", silence_s=_TIMEOUT_S, wait_ms=100)) as reader:
            self._seek(reader)
            self._follow(reader)

    def _seek(self, reader: TopicReader) -> None:
        """Where an earlier reader stopped, or else at the beginning of what matters."""
        ranges = reader.ranges(*TOPICS, since_ms=dict.fromkeys(_LAST_DAY, self._clock() - DAY_MS))
        missing = sorted(set(TOPICS) - {partition.topic for partition in ranges})
        if missing:
            raise KafkaError(f"no such topic: {', '.join(missing)}")
        self._ranges = ranges | self._ranges
        self._positions = {partition: first for partition, (first, _) in ranges.items()} | self._positions
        reader.seek({partition: OffsetRange(self._positions[partition], end) for partition, (_, end) in ranges.items()}, growing=True)
        self._latest = LatestByKey(ranges)

    def _follow(self, reader: TopicReader) -> None:
        next_check = 0.0
        while not self._stopping.is_set():
            if batches := reader.poll(_POLL_S):
                self._state.apply(
                    TopicRecord(r.topic, r.timestamp, r.key, r.value, r.partition, r.offset)
                    for r in by_time(batches)
                    if r.topic in _LAST_DAY or self._is_latest(r)
                )
                self._positions |= {partition: records[-1].offset + 1 for partition, records in batches.items()}
            if time.monotonic() >= next_check:
                self._check(reader)
                next_check = time.monotonic() + CHECK_SECONDS

    def _is_latest(self, record: Any) -> bool:
        return not clears_old_place(record) if self._latest is None else self._latest.is_latest(record)

    def _check(self, reader: TopicReader) -> None:
        """Asks for the ends: that Kafka answers is also the proof that silence means nothing happened.

        Raises:
            KafkaError, TimeoutError: it doesn't answer.
        """
        ends = reader.ends()
        before, self._ends = self._ends, ends
        for partition in ends.keys() - self._positions.keys():
            self._positions[partition], self._ranges[partition] = 0, OffsetRange(0, 0)
        if self._state.feed.now == "live":
            # A gateway must not be taken for silent because its heartbeat is still to be read.
            if all(self._positions[partition] >= end for partition, end in before.items()):
                self._state.tick(self._clock())
            return
        # The position moves past what compaction took away, where the last record read doesn't.
        positions = {partition: reader.position(partition) for partition in ends}
        if all(positions[partition] >= end for partition, end in ends.items()):
            self._state.live()
            self._latest = None  # from now on records come as they are appended
        else:
            self._state.catching_up(
                read=sum(positions[partition] - self._ranges[partition].first for partition in ends),
                total=sum(end - self._ranges[partition].first for partition, end in ends.items()),
            )


DEADLINE_S = 3.0
MOST_RECORDS = 12

Place = tuple[int, int]
"""Partition and offset."""

Fetch = Callable[[Sequence[Place]], Mapping[Place, bytes]]
"""Reads the values of records that are still there; raises EnvironmentProblem where Kafka can't be read within the deadline."""


class PushFetcher:
    """A `Fetch` from Kafka.  One request at a time; a request that waits for longer than the deadline fails."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._lock = threading.Lock()
        self._reader: TopicReader | None = None

    def __call__(self, places: Sequence[Place]) -> Mapping[Place, bytes]:
        """See `Fetch`."""
        until = time.monotonic() + DEADLINE_S
        if not self._lock.acquire(timeout=DEADLINE_S):
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
        return TopicReader(self._kafka, "clientscope-serve-configs", silence_s=DEADLINE_S, fetch_bytes=64 * 1024, wait_ms=100)

    def _drop(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


def _late() -> EnvironmentProblem:
    return EnvironmentProblem("Kafka didn't give the configuration in time", "try again; is the broker well?")
