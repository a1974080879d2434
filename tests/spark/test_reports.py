"""Each batch is counted once, also of a query that fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streaming.job_metrics import JobMetrics
from streaming.spark import BatchReports

BATCHES = 40
"""More than Spark keeps reports of."""


class Broken(Exception):
    """What the query ends by."""


def test_every_batch_is_counted_once_also_of_a_query_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    metrics, counted = JobMetrics(), threading.Event()

    def take(report: StreamingQueryProgress) -> None:
        metrics.finished(report)
        if report.batchId == BATCHES - 1:
            counted.set()

    def write(frame: DataFrame, batch_id: int) -> None:
        frame.collect()
        if batch_id == BATCHES:
            raise Broken

    def value(name: str) -> float | None:
        return metrics.registry.get_sample_value(f"clientscope_stream_{name}", {"query": "counted"})

    BatchReports(spark, ("counted",), take).listen()
    writers = [
        spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 3).load().writeStream.foreachBatch(write).queryName(name)
        for name in ("counted", "another")
    ]
    queries = [writer.option("checkpointLocation", str(tmp_path / str(number))).start() for number, writer in enumerate(writers)]
    for query in queries:
        with pytest.raises(Exception, match="Broken"):
            query.awaitTermination()
    assert len(queries[0].recentProgress) == 1, "the newest, and polling would miss the others"
    assert counted.wait(60)
    assert (value("input_rows_total"), value("batch_seconds_count")) == (3.0 * BATCHES, BATCHES)
    assert metrics.registry.get_sample_value("clientscope_stream_input_rows_total", {"query": "another"}) is None
    assert value("last_progress_timestamp_seconds")
