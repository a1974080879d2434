"""From Kafka to `State`: one thread, one consumer, no consumer group, nothing committed.

A copy of ``clientscope serve`` reads every partition itself, so any number of copies show the same.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from clientscope.kafka_access import Kafka, access
from clientscope.records.topics import AHEAD, CONFIGS, CONNECTIONS, FINDINGS, GAUGES, RESULTS, STATUS
from sinks.dashboard.pushes import DAY_MS
from sinks.dashboard.record import Record
from sinks.dashboard.state import State

TOPICS = (GAUGES, CONNECTIONS, RESULTS, FINDINGS, CONFIGS, STATUS)

_LAST_DAY = (CONNECTIONS, RESULTS)
"""Read from a day ago: an open connection is recorded again every six hours."""

_POLL_MS = 200
_CHECK_SECONDS = 1.0
_TIMEOUT_MS = 5_000
_RETRY_SECONDS = 2.0

_log = logging.getLogger(__name__)


def now_ms() -> int:
    """The time, in ms since the epoch."""
    return time.time_ns() // 1_000_000


class Reader:
    """Feeds ``state`` until stopped.  Whatever goes wrong with Kafka makes the feed unreachable, and is tried again.

    Partitions that are added to a topic later are read after a restart.
    """

    def __init__(self, kafka: Kafka, state: State, clock: Callable[[], int] = now_ms) -> None:
        self._kafka = access(kafka)
        self._state = state
        self._clock = clock
        self._stopping = threading.Event()
        self._positions: dict[TopicPartition, int] = {}
        self._starts: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._thread = threading.Thread(target=self._run, name="clientscope-reader", daemon=True)

    def start(self) -> None:
        """Begins to read."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the reading; waits for the thread, at most twice Kafka's timeout."""
        self._stopping.set()
        self._thread.join(2 * _TIMEOUT_MS / 1000)

    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

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
        self._stopping.wait(_RETRY_SECONDS)

    def _read(self) -> None:
        consumer = KafkaConsumer(
            **self._kafka.client_arguments(),
            client_id="clientscope-serve",
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
            max_poll_records=2_000,
            request_timeout_ms=_TIMEOUT_MS,
            bootstrap_timeout_ms=_TIMEOUT_MS,
        )
        try:
            self._seek(consumer)
            self._follow(consumer)
        finally:
            consumer.close(autocommit=False, timeout_ms=1_000)

    def _seek(self, consumer: KafkaConsumer) -> None:
        """Where an earlier consumer stopped, or else at the beginning of what matters."""
        partitions = [TopicPartition(topic, partition) for topic in TOPICS for partition in consumer.partitions_for_topic(topic) or ()]
        missing = sorted(set(TOPICS) - {partition.topic for partition in partitions})
        if missing:
            raise KafkaError(f"no such topic: {', '.join(missing)}")
        consumer.assign(partitions)
        fresh = [partition for partition in partitions if partition not in self._positions]
        begins = consumer.beginning_offsets(fresh, timeout_ms=_TIMEOUT_MS)
        ends = consumer.end_offsets(fresh, timeout_ms=_TIMEOUT_MS)
        day_ago = self._clock() - DAY_MS
        of_last_day = {partition: day_ago for partition in fresh if partition.topic in _LAST_DAY}
        found = consumer.offsets_for_times(of_last_day, timeout_ms=_TIMEOUT_MS) if of_last_day else {}
        for partition in fresh:
            start = begins[partition]
            if partition in of_last_day:  # nothing so young in it: only what comes
                start = found[partition].offset if found.get(partition) else ends[partition]
            self._starts[partition] = self._positions[partition] = start
        for partition in partitions:
            consumer.seek(partition, self._positions[partition])

    def _follow(self, consumer: KafkaConsumer) -> None:
        next_check = 0.0
        while not self._stopping.is_set():
            batches = consumer.poll(timeout_ms=_POLL_MS)
            for partition, records in batches.items():
                self._state.apply(Record(r.topic, r.timestamp, r.key, r.value, _ahead(r.headers), r.partition, r.offset) for r in records)
                self._positions[partition] = records[-1].offset + 1
            if time.monotonic() >= next_check:
                self._check(consumer)
                next_check = time.monotonic() + _CHECK_SECONDS

    def _check(self, consumer: KafkaConsumer) -> None:
        """Asks for the ends: that Kafka answers is also the proof that silence means nothing happened.

        Raises:
            KafkaError: it doesn't answer.
        """
        ends = consumer.end_offsets(list(self._positions), timeout_ms=_TIMEOUT_MS)
        before, self._ends = self._ends, ends
        if self._state.feed()[0] == "live":
            # A gateway must not be taken for silent because its heartbeat is still to be read.
            if all(self._positions[partition] >= end for partition, end in before.items()):
                self._state.tick(self._clock())
            return
        # The position moves past what compaction took away, where the last record read doesn't.
        positions = {partition: consumer.position(partition, timeout_ms=_TIMEOUT_MS) for partition in ends}
        if all(positions[partition] >= end for partition, end in ends.items()):
            self._state.live()
        else:
            self._state.catching_up(
                read=sum(positions[partition] - self._starts[partition] for partition in ends),
                total=sum(end - self._starts[partition] for partition, end in ends.items()),
            )


def _ahead(headers: Sequence[tuple[str, bytes | None]]) -> bool:
    return any(name == AHEAD for name, _ in headers)
