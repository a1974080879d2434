"""gauges: ``clientscope.connections`` -> newest per series -> ``clientscope.gauges``.

Spark keeps no state for it: what is published is the state, and the topic is where it lasts (``sinks.gauges``). ``bench/gauges.py``
measures that against Spark's own aggregation and against TransformWithState.
"""

from __future__ import annotations

import threading
import time

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from clientscope.compacted import TopicWriter, read_compacted
from clientscope.config import StreamSettings
from clientscope.kafka_access import KafkaAccess
from clientscope.policy.redaction import DigestKey
from clientscope.records.topics import GAUGES
from sinks.findings.conditions import Condition, Conditions, gateway_subject
from sinks.gauges import Changes, Entry, Gauges
from streaming.queries.start import source, start
from streaming.transforms.gauges import entries
from udfs.counts import newest


class GaugesQuery:
    """The query, and what of its sink goes on without input: gateways fall silent.

    `tick` is called by the job every second.  Timers in the query's state would do the same at the cost of empty batches all
    the time.
    """

    def __init__(self, spark: SparkSession, settings: StreamSettings, digest_key: DigestKey | None, conditions: Conditions) -> None:
        self._writer = TopicWriter(KafkaAccess.of(settings), GAUGES)
        self._conditions = conditions
        self._gauges = Gauges(read_compacted(KafkaAccess.of(settings), GAUGES), time.monotonic(), self._lost)
        self._lock = threading.Lock()
        rows = entries(source(spark, settings, "gauges"), digest_key)
        self.query: StreamingQuery = start(rows.writeStream.foreachBatch(self._write), "gauges", settings.checkpoint_dir)

    def tick(self) -> None:
        """Publishes that gateways have been lost, if all that was there has been read."""
        if not self.query.status["isDataAvailable"]:
            with self._lock:
                self._publish(self._gauges.expire(time.monotonic()))

    def size(self) -> tuple[int, int]:
        """Rows and bytes of the state."""
        with self._lock:
            return self._gauges.size()

    def close(self) -> None:
        """After the query has stopped."""
        self._writer.close()

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


def arrived(rows: pa.Table) -> list[Entry]:
    """What ``streaming.transforms.gauges.entries`` made, as the sink takes it."""
    rows = newest(rows)
    return [Entry(*values) for values in zip(*(rows.column(name).to_pylist() for name in Entry._fields), strict=True)]
