"""The session, as far as nothing else would notice what it lacks."""

from __future__ import annotations

from pyspark.sql import SparkSession


def test_local_files_are_written_without_a_process_for_each_chmod(spark: SparkSession) -> None:
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    system = spark._jvm.org.apache.hadoop.fs.FileSystem.get(spark._jvm.java.net.URI("file:///"), configuration)
    assert system.getClass().getSimpleName() == "BareLocalFileSystem"
