"""The Spark session's settings that no other test would notice."""

from __future__ import annotations

import gc
import os

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf


def test_local_files_are_written_without_a_process_for_each_chmod(spark: SparkSession) -> None:
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    system = spark._jvm.org.apache.hadoop.fs.FileSystem.get(spark._jvm.java.net.URI("file:///"), configuration)
    assert system.getClass().getSimpleName() == "BareLocalFileSystem"


def test_workers_pass_over_what_was_imported_and_keep_what_they_free(spark: SparkSession) -> None:
    def found(values: pd.Series) -> pd.Series:
        kept = [pa.default_memory_pool().backend_name, os.environ["MALLOC_TRIM_THRESHOLD_"], os.environ["MALLOC_MMAP_THRESHOLD_"]]
        return pd.Series([f"{gc.get_freeze_count() > 100_000} {' '.join(kept)}"] * len(values))

    (row,) = spark.range(1).select(pandas_udf(found, "string")("id").alias("found")).collect()
    assert row["found"] == f"True system {256 << 20} {32 << 20}"
