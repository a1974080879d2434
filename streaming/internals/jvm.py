"""What the job does in Spark's JVM for which PySpark has no public name.

Read from Spark 3.5.9, 4.0.5, 4.1.4 and 4.2.0; `streaming.internals.known` says what happens without each.
"""

from __future__ import annotations

import logging
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter

LISTENER = "org.apache.spark.sql.streaming.PythonStreamingQueryListener"
"""The interface by which the JVM calls a listener in Python."""

_QUERY_ID = "sql.streaming.queryId"


def given_settings() -> dict[str, str]:
    """The settings that spark-submit was started with."""
    SparkContext._ensure_initialized()  # connects to the JVM, whose system properties that is
    return dict(SparkConf().getAll())


def unlogged_errors() -> None:
    """Keeps py4j from logging, as an error of the root logger, what it raises too, as when the JVM ends before a thread has its answer."""
    logging.getLogger().addFilter(_is_not_of_py4j)


def unlogged_failures() -> None:
    """Keeps py4j from logging, with all of Java's stack, that a batch's function failed: for the job's end, which cuts off batches."""
    logging.getLogger("py4j.clientserver").addFilter(lambda record: record.levelno != logging.ERROR)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


def has_class(spark: SparkSession, name: str) -> bool:
    """Whether the driver finds a class, also in jars that spark-submit has added."""
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(name)
    except Py4JJavaError:
        return False
    return True


def query_id(spark: SparkSession) -> str:
    """The id in the checkpoint of the query whose batch this thread writes: Spark keeps it with the thread.

    Raises:
        RuntimeError: not in a query's batch.
    """
    found = spark.sparkContext.getLocalProperty(_QUERY_ID)
    if found is None:
        raise RuntimeError("not in a query's batch")
    return str(found)


def set_pool(writer: DataStreamWriter, name: str) -> None:
    """Gives a query that this thread starts a scheduler pool of its own."""
    writer._spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)


def wrapped_listener(spark: SparkSession, listener: object) -> Any:
    """What the JVM takes in a listener's place; ``listener`` implements `LISTENER`."""
    return spark._jvm.PythonStreamingQueryListenerWrapper(listener)


def memory_bean(spark: SparkSession) -> Any:
    """The JVM's own java.lang.management.MemoryMXBean."""
    return spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
