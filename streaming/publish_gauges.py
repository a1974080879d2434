"""Publisher of gauges: what gateways report -> newest count per series -> ``clientscope.gauges``.

What is published is the state, and the topic is where it lasts (`streaming.gauges`).
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kafka import TopicPartition
from kafka.errors import KafkaError

from clientscope.clock import now_ms
from clientscope.findings.conditions import Conditions, lost_gateway
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.compacted import read_compacted
from clientscope.kafka.writer import TopicWriter
from clientscope.model.input import InputRecord
from clientscope.model.topics import CONNECTIONS, GAUGES
from streaming.gauges import Changes, Gauges, ReadClock
from streaming.job_metrics import PASSED_OVER, JobMetrics
from streaming.limits import PassedOver

log = logging.getLogger(__name__)


class EndsAsked(NamedTuple):
    """Where topics' partitions end.

    Attributes:
        before, after: when Kafka was asked, and when it had answered, by the monotonic clock.
    """

    ends: Mapping[TopicPartition, int]
    before: float
    after: float


class GaugesPublisher:
    """The engine, its topic, and what happens without input: gateways fall silent.

    From any thread. `take` is called with what is new, `tick` every second, `close` at the end.
    """

    def __init__(self, kafka: KafkaAccess, conditions: Conditions) -> None:
        """
        Raises:
            KafkaError, TimeoutError: no broker answers.
        """
        self._conditions = conditions
        self._passed_over = PassedOver("the engine of gauges", conditions)
        self._lock = threading.Lock()
        self._unwritten: Changes = {}
        now = time.monotonic()
        self._clock = ReadClock(now)
        self._expired = now
        self._writer = TopicWriter(kafka, GAUGES)
        try:
            self._gauges = Gauges(read_compacted(kafka, GAUGES), now, self._lost, self._failed)
        except Exception:
            self._writer.close()
            raise

    def take(self, inputs: Sequence[InputRecord]) -> None:
        """Takes in what is new, and writes what follows."""
        now = time.monotonic()
        with self._lock:
            self._publish(self._gauges.apply(inputs, now, partial(self._clock.appended, now=now)))
            self._clock.applied(inputs)
            self._expire()

    def tick(self, asked: EndsAsked | None, read_to: Mapping[int, int]) -> None:
        """Publishes which gateways have been lost, as far as their records have been taken in.

        Args:
            asked: where the partitions of ``clientscope.connections`` end, among others; None where Kafka doesn't answer.
            read_to: by partition, up to where their records were taken in.
        """
        with self._lock:
            if asked is None:
                self._clock.missed()
                return
            ends = {place.partition: end for place, end in asked.ends.items() if place.topic == CONNECTIONS}
            self._clock.read(read_to)
            self._clock.looked(ends, asked.before, asked.after)
            self._expire()
            self._publish({})

    def measure(self, metrics: JobMetrics) -> None:
        """Rows of the state."""
        with self._lock:
            for topic, number in self._passed_over.take().items():
                metrics.quarantined(topic, PASSED_OVER, number)
            metrics.set("state_rows", self._gauges.size(), "live")
            metrics.set("silence_paused", self._clock.waits(time.monotonic()))
            metrics.limits(self._gauges.limits)
            for overflow in self._gauges.limits:
                if (condition := overflow.condition(now_ms())) is not None:
                    self._conditions.report(condition)

    def close(self) -> None:
        """Ends it."""
        self._writer.close()

    def _expire(self) -> None:
        if self._clock.read_to != self._expired:  # where thousands of gateways are known, looking at all takes milliseconds
            self._expired = self._clock.read_to
            self._publish(self._gauges.expire(self._expired, self._clock.returned))

    def _lost(self, cluster: str, broker: int, gateway: str) -> None:
        host = self._gauges.host(cluster, broker, gateway)
        self._conditions.report(lost_gateway(cluster, broker, gateway, host, now_ms()))

    def _failed(self, first: InputRecord, error: Exception) -> None:
        gateway = json.dumps(first.record.gateway)
        batch = f"A batch of gateway {gateway} from record {first.offset} of partition {first.partition} of {CONNECTIONS}"
        self._passed_over.add(CONNECTIONS, batch, error, first.appended_ms)

    def _publish(self, changes: Changes) -> None:
        self._unwritten |= changes
        if not self._unwritten:
            return
        try:
            self._writer.write(self._unwritten)
        except (KafkaError, TimeoutError) as error:
            log.warning("gauges could not be written, and are written again: %s", error)
        else:
            self._unwritten = {}
