"""Spark itself, as it is installed: its internals and settings on which the job depends, and reports of each batch."""

from __future__ import annotations

import gc
import getpass
import logging
import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyspark
import pytest
from programs import ran
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.protocol import Py4JError
from pyspark import daemon
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from pyspark.sql.functions import pandas_udf
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streaming.job_metrics import JobMetrics
from streaming.queries.query import start
from streaming.releases import RELEASES, installed
from streaming.spark import (
    BatchReports,
    given_settings,
    has_class,
    memory_bean,
    record_batches,
    to_table,
    unlogged_errors,
    unlogged_failures,
)


def test_the_installed_spark_is_one_that_internals_were_read_from() -> None:
    """Fails with another version: read what `streaming.spark` lists in its source, and add it to `tested`."""
    assert pyspark.__version__ in [version for each in RELEASES for version in each.tested]


def test_classes_are_where_this_release_has_them(spark: SparkSession) -> None:
    assert has_class(spark, installed().file_manager)
    assert has_class(spark, "org.apache.spark.sql.kafka010.KafkaSourceProvider")
    assert not has_class(spark, "org.apache.spark.NoSuchClass")
    assert memory_bean(spark).getHeapMemoryUsage().getUsed() > 0
    assert given_settings()["spark.master"] == "local[2]"


def test_a_jvm_that_ends_before_it_answers_is_an_error_and_not_a_log_message(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger(), "filters", [])

    def answer_none(server: socket.socket) -> None:
        connection = server.accept()[0]
        server.close()  # py4j tries some errors once more
        connection.recv(1, socket.MSG_PEEK)
        connection.close()  # what was not read makes it a reset, after the command was sent

    def logged() -> list[str]:
        caplog.clear()
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=answer_none, args=(server,)).start()
            gateway = ClientServer(JavaParameters(port=server.getsockname()[1]), PythonParameters(eager_load=False))
            with pytest.raises(Py4JError):
                gateway.jvm.java.lang.System.nanoTime()
        return [record.message for record in caplog.records if record.name == "root"]

    assert logged() == ["Exception while sending command."]
    unlogged_errors()
    assert logged() == []


def test_the_daemon_is_run_as_ours_runs_it() -> None:
    assert daemon.manager.__code__.co_argcount == 0
    source = Path(sys.modules["pyspark.daemon"].__file__ or "").read_text()
    assert re.search(r'if __name__ == "__main__":\s+manager\(\)', source)


def test_rows_come_to_the_driver(spark: SparkSession) -> None:
    table = to_table(spark.createDataFrame([(b"a",), (None,)], "entries binary"))
    assert table.column("entries").to_pylist() == [b"a", None]
    assert to_table(spark.createDataFrame([], "entries binary")).column("entries").to_pylist() == []


def test_rows_come_to_the_driver_in_pages_of_each_task(spark: SparkSession) -> None:
    rows = spark.range(0, 4_000, numPartitions=8).withColumn("text", F.lit("x" * 100)).persist()
    before = spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    try:
        for page_bytes in (150_000, 1 << 30):
            found = list(record_batches(rows, page_bytes))
            assert sorted(number for batch in found for number in batch.column("id").to_pylist()) == list(range(4_000)), page_bytes
            assert max(batch.num_rows for batch in found) <= 100
        assert list(record_batches(rows.where("id < 0"))) == []
    finally:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", before)
        rows.unpersist()


def test_a_batch_that_fails_is_logged_by_py4j_until_the_job_ends(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("py4j.clientserver"), "filters", [])

    def fail(_rows: DataFrame, _number: int) -> None:
        raise OSError("cut off")

    def logged(name: str) -> list[str]:
        caplog.clear()
        query = start(spark.readStream.format("rate").load().writeStream.foreachBatch(fail), name, (tmp_path / name).as_uri(), 0.1)
        with pytest.raises(StreamingQueryException, match="cut off"):
            query.awaitTermination(60)
        return [record.levelname for record in caplog.records if record.name == "py4j.clientserver" and record.levelno >= logging.ERROR]

    assert logged("before") == ["ERROR"]
    unlogged_failures()
    assert logged("at the end") == []


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


@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="it knows TCP alone")
def test_workers_are_reached_where_nobody_else_may_enter(spark: SparkSession) -> None:
    def found(values: pd.Series) -> pd.Series:
        return values.map(lambda _: os.environ["PYTHON_WORKER_FACTORY_SOCK_DIR"])

    (row,) = spark.range(1).select(pandas_udf(found, "string")("id").alias("path")).collect()
    folder = Path(row["path"])
    assert (folder.stat().st_mode & 0o777, folder.owner()) == (0o700, getpass.getuser())


def test_a_worker_of_which_nobody_reads_any_more_says_nothing() -> None:
    """As when a query is stopped within a batch."""
    code = "import socket; from streaming.worker_daemon import worker; ours, theirs = socket.socketpair(); theirs.close()"
    environment = {**os.environ, "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1"}  # as Spark sets it
    ended = ran(sys.executable, "-c", f"{code}; print(worker(ours, True))", env=environment)
    assert (ended.stdout in ("1\n", "-1\n"), "Traceback" in ended.stderr) == (True, False), ended.stderr


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
