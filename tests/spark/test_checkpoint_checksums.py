"""Checksums that Spark writes beside a checkpoint's files."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streaming.internals import spark_files


@pytest.mark.parametrize("name", ["commits", "offsets"])
def test_spark_writes_hadoops_checksums(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "1.txt").write_text("a")
    rows = spark.readStream.schema("value string").text(str(tmp_path / "source"))
    checkpoint = tmp_path / "checkpoint"
    query = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    file = checkpoint / name / "0"
    file.write_bytes(file.read_bytes().replace(b"0", b"1", 1))
    assert f"{name}/0 was changed after it was written: its checksum differs" in spark_files.read(checkpoint).problems
