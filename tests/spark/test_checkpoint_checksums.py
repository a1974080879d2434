"""Spark's handling of another ``spark.sql.shuffle.partitions`` over a checkpoint, as the manifest and the docs describe it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streaming.internals import spark_files

_KEY = "spark.sql.shuffle.partitions"


def test_the_checkpoint_keeps_what_it_began_with(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint, source = tmp_path / "checkpoint", tmp_path / "source"
    source.mkdir()
    counted: dict[str, int] = {}

    def run(partitions: int, *words: str) -> None:
        (source / f"{partitions}.txt").write_text("\n".join(words))
        spark.conf.set(_KEY, str(partitions))
        rows = spark.readStream.schema("value string").text(str(source)).groupBy("value").count()
        query = (
            rows.writeStream.outputMode("update")
            .foreachBatch(lambda batch, _: counted.update({row["value"]: row["count"] for row in batch.collect()}))
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(60)

    before = spark.conf.get(_KEY)
    assert before is not None
    try:
        run(2, "a", "b", "c")
        run(3, "a", "d")
    finally:
        spark.conf.set(_KEY, before)
    assert counted == {"a": 2, "b": 1, "c": 1, "d": 1}
    assert sorted(path.name for path in (checkpoint / "state" / "0").iterdir() if path.name.isdigit()) == ["0", "1"]
    # The offsets of this source are no Kafka source's: that is all that may be wrong for `spark_files`.
    found = spark_files.read(checkpoint)
    assert (found.planned, found.committed, found.shuffle_partitions) == (1, 1, None)
    assert f'"{_KEY}":"2"' in (checkpoint / "offsets" / "1").read_text()
    assert all(problem.startswith("offsets/") for problem in found.problems), found.problems


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
