"""gauges: ``clientscope.connections`` -> newest per series -> ``clientscope.gauges``."""

from __future__ import annotations

import threading
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from clientscope.config import StreamSettings
from clientscope.kafka_access import KafkaAccess
from clientscope.records.topics import CONNECTIONS, GAUGES
from sinks.gauges import Changes, Gauges
from sinks.topics import TopicWriter, read_compacted
from streaming.checkpoints.start_file import starting_offsets
from streaming.queries.start import start
from streaming.sources import records
from streaming.transforms.gauges import gauges


class GaugesQuery:
    """The query, and what of its sink goes on without input: gateways fall silent.

    `tick` is called by the job every second.  Timers in the query's state would do the same at the cost of empty batches all
    the time.
    """

    def __init__(self, spark: SparkSession, settings: StreamSettings) -> None:
        self._writer = TopicWriter(KafkaAccess.of(settings), GAUGES)
        self._gauges = Gauges(read_compacted(KafkaAccess.of(settings), GAUGES), time.monotonic())
        self._lock = threading.Lock()
        rows = gauges(records(spark, KafkaAccess.of(settings), CONNECTIONS, starting_offsets(settings.checkpoint_dir, "gauges")))
        self.query: StreamingQuery = start(
            rows.writeStream.outputMode("update").foreachBatch(self._write), "gauges", settings.checkpoint_dir
        )

    def tick(self) -> None:
        """Publishes that gateways have been lost, if all that was there has been read."""
        if not self.query.status["isDataAvailable"]:
            with self._lock:
                self._publish(self._gauges.expire(time.monotonic()))

    def close(self) -> None:
        """After the query has stopped."""
        self._writer.close()

    def _write(self, rows: DataFrame, _batch_id: int) -> None:
        newest = [row.asDict() for row in rows.collect()]
        with self._lock:
            self._publish(self._gauges.apply(newest, time.monotonic()))

    def _publish(self, changes: Changes) -> None:
        if changes:
            self._writer.write(changes)
