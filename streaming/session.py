"""The Spark session of the job, and of its tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from clientscope.config import StreamSettings

_LOG4J = Path(__file__).with_name("log4j2.properties")
_JVM = (
    "-Duser.timezone=UTC",
    # Small batches are planned and generated more than they are run: the optimising compiler takes a core for minutes to make up
    # for it.  Its code cache would shrink to 48 MB with that, overflow, and keep a thread busy sweeping it.
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
)


def session(settings: StreamSettings, jars: Iterable[Path]) -> SparkSession:
    """A session with the Kafka connector, Delta, and state that restarts quickly.

    Args:
        jars: as ``clientscope.local.jars.jars("spark")`` finds them.
    """
    # Without these, workers are started with whatever python3 is first on PATH and miss the virtual environment.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(settings.master).appName("clientscope")
    for key, value in _configuration(settings, list(jars)).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def shuffle_partitions(master: str) -> int:
    """Of a new checkpoint.  Every partition of the state costs a task and a commit in each batch."""
    return 1 if master.startswith("local") else 8


def _configuration(settings: StreamSettings, jars: Sequence[Path]) -> dict[str, str]:
    configuration = {
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join((*_JVM, f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}")),
        "spark.python.daemon.module": "streaming.worker_daemon",
        "spark.ui.enabled": str(settings.ui_port > 0).lower(),
        "spark.ui.port": str(settings.ui_port),
        "spark.ui.showConsoleProgress": "false",
        # One query's long job must not hold up another's short one.
        "spark.scheduler.mode": "FAIR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(settings.history_dir.absolute()),
        # Made for long queries: it would plan each small write of history several times.
        "spark.sql.adaptive.enabled": "false",
        # How often a query that has nothing to do asks Kafka for more; the default of 10 ms takes a fifth of a core.
        "spark.sql.streaming.pollingDelay": "50ms",
        # The job asks for them every five seconds (`streaming.job`), and a query has no more batches than that meanwhile.
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        # A checkpoint keeps what it began with, whatever stands here.
        "spark.sql.shuffle.partitions": str(shuffle_partitions(settings.master)),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
        "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # Made for lakes of many files: the log of a small table needn't be read in fifty tasks.
        "spark.databricks.delta.snapshotPartitions": "1",
        # Optional files that say what the log says; making one costs more than the commit itself.
        "spark.databricks.delta.writeChecksumFile.enabled": "false",
        "spark.databricks.delta.properties.defaults.checkpointInterval": "100",
    }
    if settings.master.startswith("local"):
        configuration |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Without Hadoop's native library its local file system starts a process for every chmod: two for each file with its checksum,
            # four files a batch.  This one asks Java.  It has no FileContext, so checkpoints are written through FileSystem, which is for
            # one process on one machine, as is the log store.
            "spark.driver.extraClassPath": next(str(jar) for jar in jars if "bare-naked-local-fs" in jar.name),
            "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
            "spark.sql.streaming.checkpointFileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing"
            ".FileSystemBasedCheckpointFileManager",
            "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
        }
    return configuration
