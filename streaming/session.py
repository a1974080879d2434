"""Spark session of the job, and of its tests.

``clientscope stream`` starts the JVM itself, and everything is set here. With spark-submit the JVM exists before the job: the settings of
its command line and properties win, and settings of the JVM itself are in deploy/spark/clientscope.properties.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from pyspark.sql import SparkSession

from clientscope.config import StreamSettings
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.kafka.access import JAAS_VARIABLE, KafkaAccess
from streaming.releases import release
from streaming.spark import given_settings, has_class, unlogged_errors

LOG4J = Path(__file__).with_name("log4j2.properties")
JVM = (
    "-Duser.timezone=UTC",
    # Small batches are planned and generated more than they are run: the optimising compiler takes a core for minutes to make up
    # for it.  Its code cache would shrink to 48 MB with that, overflow, and keep a thread busy sweeping it.
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    # What a record leaves behind is garbage at once: G1's barriers and its second thread cost a backlog 3 % of its rate.
    "-XX:+UseParallelGC",
    # By default the young generation takes a third of the heap and fills it before it is collected: half a gigabyte that nobody needs.
    "-XX:MaxNewSize=160m",
    # A core dump would hold records, as clients pushed them.
    "-XX:-CreateCoredumpOnCrash",
)
"""Options of the driver's JVM."""

ARENAS = "2"
"""For ``MALLOC_ARENA_MAX``: glibc would keep freed memory in up to eight arenas for each core."""

DAEMON = "streaming.worker_daemon"
"""For ``spark.python.daemon.module``.  Each executor must be able to import it before Spark has sent it any ``--py-files``."""

PROGRAM = "submit.py"
"""The program that spark-submit runs."""

_BY_SPARK_SUBMIT = "PYSPARK_GATEWAY_PORT"
"""Environment variable by which spark-submit gives a Python program the JVM that started it."""

# Otherwise rows would be filed under other dates: no setting of a cluster may change it.
_TIME_ZONE = "spark.sql.session.timeZone"
_CONNECTOR = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


def submitted() -> bool:
    """Whether spark-submit has started this process."""
    return _BY_SPARK_SUBMIT in os.environ


def session(settings: StreamSettings, jars: Iterable[Path] = ()) -> SparkSession:
    """A session with the Kafka connector.

    Args:
        jars: as `clientscope.local.jars.jars` finds them for this release of Spark; none where spark-submit brings them.

    Raises:
        SettingsError: a setting of spark-submit is one that the job can't work with.
        EnvironmentProblem: spark-submit was started without the connector's jars.
    """
    if submitted():
        return _session_of_spark_submit(settings)
    # Without these, workers are started with whatever python3 is first on PATH and miss the virtual environment.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("MALLOC_ARENA_MAX", ARENAS)
    jars = list(jars)
    own = {
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join((*JVM, f"-Dlog4j2.configurationFile={LOG4J.as_uri()}")),
        "spark.python.daemon.module": DAEMON,
        "spark.jars": ",".join(map(str, jars)),
    }
    if settings.master.startswith("local"):
        own |= {**local_file_system(jars), "spark.python.unix.domain.socket.dir": _private_folder()}
    return _built(SparkSession.builder.master(settings.master), own | configuration(settings, settings.master))


def _private_folder() -> str:
    """For the sockets of Python workers, of which nothing is asked but who may write to them. It goes when the process ends.

    A socket's address has 103 characters on macOS, of which the user's own temporary folder takes half.
    """
    folder = TemporaryDirectory(prefix="clientscope-", dir="/tmp")  # nobody else may enter it
    atexit.register(folder.cleanup)
    return folder.name


def local_file_system(jars: Iterable[Path]) -> dict[str, str]:
    """Settings of the JVM for ``file:``, of which each must be there before it starts.

    Without its native library Hadoop's own starts a process for every chmod, two for each file with its checksum; a batch writes
    four files. This one asks Java.
    """
    return {
        "spark.driver.extraClassPath": next(str(jar) for jar in jars if "bare-naked-local-fs" in jar.name),
        "spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
    }


def _session_of_spark_submit(settings: StreamSettings) -> SparkSession:
    for name, flag in (("master", "--master"), ("driver_memory", "--driver-memory")):
        if name in settings.model_fields_set:
            raise SettingsError(f"stream.{name} has no effect under spark-submit", f"take it away, and give spark-submit its own {flag}")
    java_environment = KafkaAccess.of(settings).java_environment()
    if java_environment and JAAS_VARIABLE not in os.environ:
        raise SettingsError(
            f"with SASL, spark-submit and every executor need the environment variable {JAAS_VARIABLE}",
            "their JVMs started before these settings were read; docs/cluster.md says how",
        )
    given = given_settings()
    if given.get("spark.app.name") == PROGRAM:  # the user gave it no name: this one is spark-submit's own
        del given["spark.app.name"]
    ours = configuration(settings, given.get("spark.master", ""))
    if given.get(_TIME_ZONE, ours[_TIME_ZONE]) != ours[_TIME_ZONE]:
        raise SettingsError(f"spark-submit has {_TIME_ZONE}={given[_TIME_ZONE]}", f"the job needs {ours[_TIME_ZONE]}")
    spark = _built(SparkSession.builder, {key: value for key, value in ours.items() if key not in given})
    _require_connector(spark)
    return spark


def _built(builder: SparkSession.Builder, configuration: Mapping[str, str]) -> SparkSession:
    unlogged_errors()
    for key, value in configuration.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _require_connector(spark: SparkSession) -> None:
    if not has_class(spark, _CONNECTOR):
        spark.stop()
        raise EnvironmentProblem(
            "Spark was started without its Kafka connector",
            "give spark-submit deploy/spark/clientscope.properties; docs/cluster.md",
        )


def configuration(settings: StreamSettings, master: str) -> dict[str, str]:
    """Settings of the session, without those that its JVM needs before it starts."""
    found = {
        "spark.app.name": "clientscope",
        "spark.ui.enabled": str(settings.ui_port > 0).lower(),
        "spark.ui.port": str(settings.ui_port),
        "spark.ui.showConsoleProgress": "false",
        # One query's long job must not hold up another's short one.
        "spark.scheduler.mode": "FAIR",
        # A Kafka partition's tasks prefer the executor that has its consumer. By default they wait three seconds for it, while another is
        # free; a new consumer takes some hundredths of a second.
        "spark.locality.wait": "0s",
        # Rows of history are filed by the date in UTC, wherever the job runs.
        _TIME_ZONE: "UTC",
        # Nothing is written there, but Spark would make a folder of its own in the working directory.
        "spark.sql.warehouse.dir": str(settings.checkpoint_dir.absolute()),
        # Made for long queries: it would plan each small write of history several times.
        "spark.sql.adaptive.enabled": "false",
        # How often a query without an interval, if it has nothing to do, asks Kafka for more; the default of 10 ms takes a fifth of a core.
        "spark.sql.streaming.pollingDelay": "50ms",
        # The job asks for the newest one alone; what counts batches is given each (`streaming.spark`). Spark keeps one less than this.
        "spark.sql.streaming.numRecentProgressUpdates": "2",
        # For Spark's own pages, which show the plan of each batch: its long form is a twentieth of what a batch costs, and beyond this
        # number (a thousand by default) each batch goes through all that are kept to drop the oldest.
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.ui.retainedExecutions": "100",
        # Through FileSystem rather than FileContext, which starts a process for each file; only the driver writes checkpoints.
        "spark.sql.streaming.checkpointFileManagerClass": release(pyspark.__version__).file_manager,
        "spark.sql.shuffle.partitions": "1" if master.startswith("local") else "8",
        # A live batch has some dozens of rows: to generate code for them anew in each task costs more than it saves.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # Each step of a kernel costs some microseconds, whatever it is for: of 1,000 pushes nearly half of the time. A fifth of what a task
        # reads of a backlog. By bytes too, since a record on the topic may have a megabyte.
        # So few that the JVM takes one batch in while Python works on the next; a record may have a megabyte.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
        "spark.sql.execution.arrow.maxBytesPerBatch": "32m",
        # Python workers keep the memory that they free. By default Arrow's allocator and glibc return each batch's memory to the kernel,
        # which zeroes it again page by page for the next batch.
        "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
        "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(256 << 20),
        "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    }
    if master.startswith("local"):
        found |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # A task writes to its Python worker in small pieces. Over TCP each task waits 40 ms in the middle of them, until the worker's
            # side acknowledges (Nagle's algorithm and delayed acknowledgements). Spark 4.1 and later; earlier ones know TCP alone. Not on a
            # cluster: the folder of a YARN container is longer than the address of a socket may be.
            "spark.python.unix.domain.socket.enabled": "true",
        }
    return found
