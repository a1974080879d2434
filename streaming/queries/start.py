"""Starting a query under its name."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from streaming.checkpoints.plans import folder


def start(writer: DataStreamWriter, name: str, checkpoint_dir: Path, interval_seconds: float = 0) -> StreamingQuery:
    """Starts a query.

    Args:
        name: one of `streaming.checkpoints.plans.PLANS`.
        interval_seconds: between the starts of its batches; 0 for as soon as there is something new.
    """
    # The thread that starts a query gives it its scheduler pool.
    writer._spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)
    return (
        writer.queryName(name)
        .option("checkpointLocation", str(folder(checkpoint_dir, name)))
        .trigger(processingTime=f"{interval_seconds} seconds")
        .start()
    )
