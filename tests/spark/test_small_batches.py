"""Small batches copy rows without generated code, large ones with it, by a setting of the running query alone."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from streaming import small_batches
from streaming.queries.start import begin

_PROJECTIONS = "spark.sql.codegen.factoryMode"


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
