"""The query ``gauges``: ``clientscope.connections`` -> newest count per series -> ``clientscope.gauges``.

Spark keeps no state for it: what is published is the state, and the topic is where it lasts (``streaming.gauges``). ``bench/gauges.py``
measures that against Spark's own aggregation and against TransformWithState.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import ExitStack, closing
from functools import partial

import pyarrow as pa
from kafka.errors import KafkaError
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from clientscope.clock import now_ms
from clientscope.findings.conditions import lost_gateway
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.compacted import read_compacted
from clientscope.kafka.reader import TopicReader
from clientscope.kafka.writer import TopicWriter, partition_of
from clientscope.records.topics import CONNECTIONS, GAUGES
from streaming.gauges import Changes, GaugeEntry, Gauges, ReadClock
from streaming.job_metrics import JobMetrics
from streaming.limits import PassedOver
from streaming.queries.query import LIVE_INTERVAL_S, JobContext, JobQuery, source, start
from streaming.spark import last_report, read_to, to_table
from streaming.transforms import entries
from udfs.arrays.lists import as_list
from udfs.arrays.streams import of_streams
from udfs.kernels.connection_counts import PLACED, newest

_ANSWER_S = 5.0
"""The longest that a look at the topic's ends waits for Kafka."""


def counted(job: JobContext, records: DataFrame) -> DataFrame:
    """The query's step."""
    return entries(records, job.digest_key)


class GaugesQuery:
    """The query, and what its sink does without input: gateways fall silent.

    `tick` is called by the job every second.  Timers in the query's state would do the same at the cost of empty batches all
    the time.
    """

    def __init__(self, job: JobContext) -> None:
        settings = job.settings
        self._conditions = job.conditions
        self._passed_over = PassedOver("the engine of gauges", job.conditions)
        self._lock = threading.Lock()
        self._expired: tuple[float, dict[int, float]] = (0.0, {})
        with ExitStack() as opened:  # closed again where the rest fails, which it may do every minute
            self._writer = TopicWriter(KafkaAccess.of(settings), GAUGES)
            opened.callback(self._writer.close)
            self._ends = opened.enter_context(closing(TopicEnds(KafkaAccess.of(settings), CONNECTIONS)))
            self._clock = ReadClock()
            self._gauges = Gauges(read_compacted(KafkaAccess.of(settings), GAUGES), 0.0, self._lost, partition_of, self._failed)
            beginning = job.checkpoints.begin("gauges")
            rows = counted(job, source(job, "gauges", beginning))
            writer = rows.writeStream.foreachBatch(self._write)
            self.query: StreamingQuery = start(writer, "gauges", beginning.location, LIVE_INTERVAL_S)
            self._opened = opened.pop_all()

    def tick(self) -> None:
        """Publishes which gateways have been lost, as far as their records have been read."""
        before = time.monotonic()
        ends = self._ends.ask()
        after, report = time.monotonic(), last_report(self.query)
        with self._lock:
            if ends is None:
                self._clock.missed()
                return
            self._clock.looked(ends, before, after)
            if report is not None:
                self._clock.read(read_to(report).get(CONNECTIONS, {}))
            self._expire()

    def measure(self, metrics: JobMetrics) -> None:
        """Rows and bytes of the state."""
        with self._lock:
            for topic, number in self._passed_over.take().items():
                metrics.passed_over(topic, number)
            metrics.state("gauges", *self._gauges.size())
            metrics.silence_paused(self._clock.waits)
            limits = *self._gauges.limits, self._clock.full
            metrics.limits(limits)
            for each in limits:
                if (condition := each.condition(now_ms())) is not None:
                    self._conditions.report(condition)

    def close(self) -> None:
        """After the query has stopped."""
        self._opened.close()

    def _write(self, rows: DataFrame, _batch_id: int) -> None:
        found, at = arrived(to_table(rows)), time.monotonic()
        with self._lock:
            self._publish(self._gauges.apply(found, self._clock.now(at), partial(self._clock.appended, at=at)))
            self._clock.applied(found)
            self._expire()

    def _expire(self) -> None:
        read_to = self._clock.read_to()
        if read_to != self._expired:  # where thousands of gateways are known, looking at all takes milliseconds
            self._expired = read_to
            self._publish(self._gauges.expire(*read_to, self._clock.returned))

    def _lost(self, cluster: str, broker: int, gateway: str) -> None:
        host = self._gauges.host(cluster, broker, gateway)
        self._conditions.report(lost_gateway(cluster, broker, gateway, host, now_ms()))

    def _failed(self, entry: GaugeEntry, error: Exception) -> None:
        batch = f"A batch of gateway {json.dumps(entry.gateway)} from record {entry.offset} of partition {entry.partition} of {CONNECTIONS}"
        self._passed_over.add(CONNECTIONS, batch, error, entry.appended_ms)

    def _publish(self, changes: Changes) -> None:
        if changes:
            self._writer.write(changes)


def arrived(rows: pa.Table) -> list[GaugeEntry]:
    """What ``streaming.transforms.entries`` made, as the sink takes it."""
    return gauge_entries(of_streams(rows.column("entries"), PLACED))


def gauge_entries(rows: pa.Table) -> list[GaugeEntry]:
    """The same of rows of `PLACED`."""
    rows = newest(rows)
    return list(map(GaugeEntry._make, zip(*(as_list(rows.column(name)) for name in GaugeEntry._fields), strict=True)))


class TopicEnds:
    """Asks where a topic's partitions end, over the same connections; for one thread, but for `close`."""

    def __init__(self, kafka: KafkaAccess, topic: str) -> None:
        self._kafka, self._topic = kafka, topic
        self._reader: TopicReader | None = None
        self._asking = threading.Lock()

    def ask(self) -> dict[int, int] | None:
        """The end of each partition; None where a partition's leader doesn't answer."""
        with self._asking:
            try:
                if self._reader is None:
                    self._reader = TopicReader(self._kafka, "clientscope-stream", silence_s=_ANSWER_S)
                ranges = self._reader.ranges(self._topic)
            except (KafkaError, OSError):
                self._close()
                return None
            return {place.partition: found.end for place, found in ranges.items()} or None

    def close(self) -> None:
        """Closes the connections, once an answer has come or is too late."""
        with self._asking:
            self._close()

    def _close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


QUERY = JobQuery(start=GaugesQuery, reads=(CONNECTIONS, GAUGES), writes=(GAUGES,), step=counted, is_live=True)
