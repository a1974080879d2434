"""The Spark session's settings that no other test would notice."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import pandas_udf

SUBMITTED = """
from clientscope.config import StreamSettings
from clientscope.errors import ClientscopeError
from streaming.session import session
try:
    session(StreamSettings(bootstrap_servers="127.0.0.1:1"))
except ClientscopeError as error:
    print(f"refused: {error}; {error.hint}")
"""


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


@pytest.mark.parametrize(
    ("time_zone", "refused"),
    [
        ("Europe/Berlin", "spark-submit has spark.sql.session.timeZone=Europe/Berlin; the job needs UTC"),
        ("UTC", "Spark was started without its Kafka connector; give spark-submit deploy/spark/clientscope.properties"),
    ],
)
def test_what_spark_submit_must_not_change_or_leave_out(tmp_path: Path, time_zone: str, refused: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(SUBMITTED)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = (
        "spark.driver.bindAddress=127.0.0.1",
        "spark.driver.host=127.0.0.1",
        "spark.ui.enabled=false",
        f"spark.sql.session.timeZone={time_zone}",
    )
    command = [submit, "--master", "local[1]", "--driver-memory", "1g", *(part for each in settings for part in ("--conf", each)), program]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment["PYSPARK_PYTHON"] = sys.executable
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=180, check=False)
    assert f"refused: {refused}" in done.stdout, done.stdout + done.stderr[-3000:]
