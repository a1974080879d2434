"""gauges: ``clientscope.connections`` -> newest per series -> ``clientscope.gauges``.

Spark keeps no state for it: what is published is the state, and the topic is where it lasts (``streaming.gauges``). ``bench/gauges.py``
measures that against Spark's own aggregation and against TransformWithState.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from clientscope.findings.conditions import Condition, gateway_subject
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.compacted import read_compacted
from clientscope.kafka.writer import TopicWriter
from clientscope.records.topics import CONNECTIONS, GAUGES
from streaming.gauges import Changes, GaugeEntry, Gauges
from streaming.job_metrics import JobMetrics
from streaming.queries.query import JobContext, JobQuery
from streaming.queries.start import source, start
from streaming.transforms.gauges import entries
from udfs.kernels.connection_counts import counts, newest


class GaugesQuery:
    """The query, and what of its sink goes on without input: gateways fall silent.

    `tick` is called by the job every second.  Timers in the query's state would do the same at the cost of empty batches all
    the time.
    """

    def __init__(self, job: JobContext) -> None:
        settings = job.settings
        self._conditions = job.conditions
        self._lock = threading.Lock()
        with ExitStack() as opened:  # closed again where the rest fails, which it may do every minute
            self._writer = TopicWriter(KafkaAccess.of(settings), GAUGES)
            opened.callback(self._writer.close)
            self._gauges = Gauges(read_compacted(KafkaAccess.of(settings), GAUGES), time.monotonic(), self._lost)
            rows = entries(source(job.spark, settings, "gauges"), job.digest_key)
            self.query: StreamingQuery = start(rows.writeStream.foreachBatch(self._write), "gauges", settings.checkpoint_dir)
            self._opened = opened.pop_all()

    def tick(self) -> None:
        """Publishes that gateways have been lost, if all that was there has been read."""
        if not self.query.status["isDataAvailable"]:
            with self._lock:
                self._publish(self._gauges.expire(time.monotonic()))

    def measure(self, metrics: JobMetrics) -> None:
        """Rows and bytes of the state."""
        with self._lock:
            metrics.state("gauges", *self._gauges.size())

    def close(self) -> None:
        """After the query has stopped."""
        self._opened.close()

    def _write(self, rows: DataFrame, _batch_id: int) -> None:
        found = arrived(rows.toArrow())
        with self._lock:
            self._publish(self._gauges.apply(found, time.monotonic()))

    def _lost(self, cluster: str, broker: int, gateway: str) -> None:
        message = "This gateway sends no heartbeats any more: see whether it and its host are up, or remove it by stopping it with SIGTERM."
        subject = gateway_subject(cluster, broker, gateway)
        self._conditions.tell(Condition("OP001", subject, True, "high", message, int(time.time() * 1000)))

    def _publish(self, changes: Changes) -> None:
        if changes:
            self._writer.write(changes)


def arrived(rows: pa.Table) -> list[GaugeEntry]:
    """What ``streaming.transforms.gauges.entries`` made, as the sink takes it."""
    rows = newest(rows)
    return [GaugeEntry(*values) for values in zip(*(rows.column(name).to_pylist() for name in GaugeEntry._fields), strict=True)]


QUERY = JobQuery(start=GaugesQuery, reads=(CONNECTIONS, GAUGES), writes=(GAUGES,), kernel=lambda digest_key: counts, is_live=True)
