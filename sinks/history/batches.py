"""Writer of batches to Delta tables: each row once, however often a batch is written."""

from __future__ import annotations

from pyspark.sql import DataFrame

from clientscope.stores.store_path import AnyPath
from sinks.history.commit_lock import committing


def append(rows: DataFrame, table: AnyPath, query_id: str, batch_id: int) -> None:
    """Appends a batch to a table that is partitioned by ``date``; does nothing if this batch was appended before.

    Args:
        query_id: the checkpoint's own id.  Delta skips a batch whose number is not above the last one of the same id, and batch
            numbers start again at 0 with a new checkpoint: a fixed id would lose those rows without a word.
    """
    with committing(table):
        (
            rows.repartition(1)  # a file for each day that it has, rather than one for each partition of its topic
            .write.format("delta")
            .mode("append")
            .partitionBy("date")
            .option("txnAppId", query_id)
            .option("txnVersion", batch_id)
            .option("mergeSchema", "true")
            .save(str(table))
        )
