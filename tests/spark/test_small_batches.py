"""Small batches copy rows without generated code and take few tasks, large ones don't, by settings of the running query alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.kafka.access import KafkaAccess
from clientscope.records.topics import CONFIGS
from streaming import small_batches
from streaming.queries.start import begin
from streaming.sources import records
from streaming.transforms.findings import arrivals
from streaming.transforms.gauges import entries
from streaming.transforms.results import results

_PROJECTIONS = "spark.sql.codegen.factoryMode"
_EXCLUDED = "spark.sql.optimizer.excludedRules"
_PARTITIONS = 12


def test_a_running_query_changes_its_own_setting_and_no_other(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get(_PROJECTIONS)
    found: list[str | None] = []

    def look(rows: DataFrame, _: int) -> None:
        assert all(row["twice"] == 2 * row["value"] for row in rows.collect())
        found.append(rows.sparkSession.conf.get(_PROJECTIONS))

    rows = spark.readStream.format("rate").load().withColumn("twice", F.col("value") * 2)
    query = begin(rows.writeStream.foreachBatch(look), "small", (tmp_path / "small").as_uri(), 0.1)
    try:
        for unread, mode in ((0, "NO_CODEGEN"), (small_batches.MOST + 1, "FALLBACK"), (small_batches.MOST, "NO_CODEGEN")):
            small_batches.fit(query, unread)
            found.clear()
            while mode not in found:
                assert query.isActive, query.exception()
                query.awaitTermination(0.05)
    finally:
        query.stop()
    assert spark.conf.get(_PROJECTIONS) == before


def test_a_small_batch_of_many_partitions_takes_as_many_tasks_as_there_are_cores(spark: SparkSession, tmp_path: Path) -> None:
    tasks: list[int] = []

    def look(rows: DataFrame, _: int) -> None:
        found = sorted(row["value"] for row in rows.collect())
        assert found == list(range(found[0], found[0] + len(found))), "nothing is lost"
        tasks.append(rows.rdd.getNumPartitions())

    source = spark.readStream.format("rate-micro-batch").options(rowsPerBatch=120, numPartitions=_PARTITIONS).load()
    query = begin(small_batches.few_tasks(source).writeStream.foreachBatch(look), "tasks", (tmp_path / "tasks").as_uri(), 0.1)
    try:
        for unread, expected in ((0, spark.sparkContext.defaultParallelism), (small_batches.MOST + 1, _PARTITIONS)):
            small_batches.fit(query, unread)
            tasks.clear()
            while expected not in tasks:
                assert query.isActive, query.exception()
                query.awaitTermination(0.05)
            tasks.clear()
            while len(tasks) < 3:
                assert query.isActive, query.exception()
                query.awaitTermination(0.05)
            assert set(tasks) == {expected}
    finally:
        query.stop()


@pytest.mark.parametrize(
    "step", [lambda rows: results(rows, None), entries, lambda rows: arrivals(rows, None)], ids=["results", "gauges", "findings"]
)
def test_each_live_query_takes_few_tasks_before_its_kernel_while_its_batches_are_small(
    spark: SparkSession, plan_of: Callable[[DataFrame], str], step: Callable[[DataFrame], DataFrame]
) -> None:
    """Spark drops the columns that a step doesn't need between source and kernel, which must not keep it from dropping the coalesce."""

    def coalesced() -> list[str]:
        rows = step(records(spark, KafkaAccess("127.0.0.1:1"), CONFIGS, with_keys=True))
        lines = [line.strip(" +-:*()") for line in plan_of(rows).splitlines()]
        kernel = next(number for number, line in enumerate(lines) if line.startswith(("ArrowEvalPython", "MapInArrow", "PythonMapInArrow")))
        assert not [line for line in lines[:kernel] if line.startswith("Coalesce")], "the kernel runs once a task"
        return [line.split()[1] for line in lines[kernel:] if line.startswith("Coalesce")]

    (most,) = coalesced()
    assert int(most) > 1_000, "the outer one, which changes nothing"
    spark.conf.set(_EXCLUDED, small_batches.COLLAPSE)
    try:
        assert coalesced()[1:] == [str(spark.sparkContext.defaultParallelism)]
    finally:
        spark.conf.unset(_EXCLUDED)
