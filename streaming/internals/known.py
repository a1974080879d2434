"""List of Spark's internals that the job relies on: where each is used, and what happens without it.

``tests/spark/test_internals.py`` tries them on the Spark that is installed.
"""

from __future__ import annotations

from typing import NamedTuple


class Internal(NamedTuple):
    """One of them.

    Attributes:
        name: Spark's own.
        used_in: the module.
        purpose: what the job has by it.
        without: what happens where a release has it no more, or means something else by it.
    """

    name: str
    used_in: str
    purpose: str
    without: str


INTERNALS = (
    Internal(
        "spark.python.daemon.module, pyspark.daemon.manager",
        "streaming.worker_daemon",
        "Python workers that have imported everything before the first record",
        "the first record after a quiet minute waits some three seconds longer, and each task collects more garbage",
    ),
    Internal(
        "spark.sql.streaming.checkpointFileManagerClass",
        "streaming.session",
        "checkpoints on file systems without a process for each file",
        "no query starts: the class is not found",
    ),
    Internal(
        "PythonStreamingQueryListenerWrapper",
        "streaming.internals.jvm",
        "each batch's report, as one call",
        "the job doesn't start",
    ),
    Internal(
        "sql.streaming.queryId",
        "streaming.internals.jvm",
        "history's rows once, though a batch is written twice",
        "history's queries are parked: they refuse to write without it",
    ),
    Internal(
        "DataStreamWriter._spark",
        "streaming.internals.jvm",
        "an equal share of the cores for each query",
        "no query starts",
    ),
    Internal(
        "SparkContext._ensure_initialized",
        "streaming.internals.jvm",
        "settings of spark-submit, before there is a session",
        "the job doesn't start under spark-submit",
    ),
    Internal(
        "SparkSession._jvm",
        "streaming.internals.jvm",
        "whether the connector is there; the JVM's memory on /metrics",
        "the job doesn't start",
    ),
    Internal(
        "DataFrame._collect_as_arrow",
        "streaming.internals.frames",
        "rows on the driver before Spark 4.0",
        "gauges and findings are parked on Spark 3.5",
    ),
    Internal(
        "StreamingQueryProgress._jdict",
        "streaming.internals.progress_reports",
        "offsets in progress reports before Spark 4.2",
        "how far queries are behind is unknown on Spark 4.0 and 4.1, and the job reports queries that can't be read",
    ),
    Internal(
        "Current Committed Offsets and Current Available Offsets in a failure's text",
        "streaming.internals.messages",
        "where a query begins anew whose records are gone, and which batch has a record that kills",
        "it begins where it was some seconds before, and such records are not found",
    ),
    Internal(
        "error conditions and exceptions' texts",
        "streaming.internals.messages",
        "the cause of a failure in words, and whether to search a record that kills",
        "the failure's first line is reported, and the query is retried; a record that kills is not searched",
    ),
)
