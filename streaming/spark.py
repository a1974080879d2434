"""What the job uses of Spark for which PySpark has no public name. Read from Spark 3.5.9, 4.0.5, 4.1.4 and 4.2.0.

What for, and what happens where a release has one no more, or means something else by it:

- ``PythonStreamingQueryListenerWrapper``: each batch's report, as one call. The job doesn't start.
- ``SparkSession._jvm``: whether the connector is there; the JVM's memory on ``/metrics``. The job doesn't start.
- ``SparkContext._ensure_initialized``: settings of spark-submit, before there is a session. The job doesn't start under spark-submit.
- ``DataStreamWriter._spark``: an equal share of the cores for each query. No query starts.
- ``DataFrame._collect_as_arrow``: rows on the driver before Spark 4.0. History is parked on Spark 3.5.
- ``StreamingQueryProgress._jdict``: offsets in reports before Spark 4.2. How far queries are behind is unknown on Spark 4.0 and 4.1.

And elsewhere:

- ``spark.python.daemon.module`` and ``pyspark.daemon`` (`streaming.worker_daemon`): workers that have imported everything before the first
  record. The first record after a quiet minute waits some three seconds longer, and each task collects more garbage.
- ``spark.sql.streaming.checkpointFileManagerClass`` (`streaming.session`): checkpoints without a process for each file. No query starts.
- Error conditions and exceptions' texts (`streaming.failures`): the cause of a failure in words, and whether to search a record that kills.
  The failure's first line is reported, and the query is retried; a record that kills is not searched.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import pandas as pd
import pyarrow as pa
import pyspark
from kafka import TopicPartition
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import pandas_udf
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streaming.releases import release


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


def start_workers(spark: SparkSession) -> None:
    """Has Spark start its Python workers' daemon, whose imports take some seconds of a core, before the first record needs it.

    From a thread of its own. What fails here fails again, and is reported, where it matters; or the session has stopped.
    """
    with suppress(Exception):
        spark.range(1).select(pandas_udf(_same, "long")("id")).collect()


def _same(column: pd.Series) -> pd.Series:
    return column


def set_pool(writer: DataStreamWriter, name: str) -> None:
    """Gives a query that this thread starts a scheduler pool of its own."""
    writer._spark.sparkContext.setLocalProperty("spark.scheduler.pool", name)


def memory_bean(spark: SparkSession) -> Any:
    """The JVM's own java.lang.management.MemoryMXBean."""
    return spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean()


PAGE_BYTES = 128 << 20
"""What the driver takes at once."""

_PAGE = pa.schema([("task", pa.int32()), ("next", pa.int64()), ("stream", pa.binary())])
_PAGE_DDL = "task int, next long, stream binary"


def to_table(rows: DataFrame) -> pa.Table:
    """Spark 4.0's ``toArrow``; before it, what that is made of."""
    if hasattr(rows, "toArrow"):
        return rows.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 - of another name where `toArrow` is

    return pa.Table.from_batches(rows._collect_as_arrow(), to_arrow_schema(rows.schema))


def record_batches(rows: DataFrame, page_bytes: int = PAGE_BYTES) -> Iterator[pa.RecordBatch]:
    """The rows, a page at a time: however much clients push, the driver's memory isn't full of it.

    Args:
        rows: that are the same each time they are computed, best persisted ones: each page begins again.
    """
    begins: dict[int, int] | None = None
    task_bytes = page_bytes // max(1, rows.rdd.getNumPartitions())
    while begins is None or begins:
        page = to_table(rows.mapInArrow(partial(_page, begins=begins, most_bytes=task_bytes), _PAGE_DDL))
        begins = {}
        for task, following, stream in zip(*(page.column(name) for name in _PAGE.names), strict=True):
            if stream.is_valid:
                yield from pa.ipc.open_stream(stream.as_buffer())
            else:
                begins[task.as_py()] = following.as_py()


def _page(batches: Iterable[pa.RecordBatch], begins: Mapping[int, int] | None, most_bytes: int) -> Iterator[pa.RecordBatch]:
    """A task's rows as streams, from where they begin on, and at least one; then, if there are more, which is the next."""
    context = TaskContext.get()
    assert context is not None, "only in a task"
    task, left, passed = context.partitionId(), most_bytes, 0
    begin = 0 if begins is None else begins.get(task)
    if begin is None:
        return
    for batch in batches:
        rest = batch.slice(max(0, begin - passed))
        passed += batch.num_rows
        if not rest.num_rows:
            continue
        some = rest.slice(0, max(1, left * rest.num_rows // max(1, rest.nbytes))) if left > 0 else rest.slice(0, 0)
        if some.num_rows:
            stream = _as_stream(some)
            left -= len(stream)
            yield pa.RecordBatch.from_pylist([{"task": task, "stream": stream}], _PAGE)
        if some.num_rows < rest.num_rows:
            yield pa.RecordBatch.from_pylist([{"task": task, "next": passed - rest.num_rows + some.num_rows}], _PAGE)
            return


def _as_stream(rows: pa.RecordBatch) -> bytes:
    """One binary value, which Spark passes on as it is: rows of their own it would copy three times, field by field."""
    sink = pa.BufferOutputStream()
    # Made anew, since Spark 3.5's Arrow leaves out the offsets of empty lists: delta-rs would read what lies behind them.
    rows = rows.take(pa.array(range(rows.num_rows)))
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    return bytes(sink.getvalue())


_OFFSETS = ("startOffset", "endOffset", "latestOffset")
_JSON_OFFSETS = release(pyspark.__version__).json_offsets


def last_report(query: StreamingQuery) -> StreamingQueryProgress | None:
    """A query's last report; None before its first."""
    report = query.lastProgress
    if report is None or _JSON_OFFSETS:
        return report
    return report_of(getattr(report, "_jdict", report))


def report_of(found: Mapping[str, Any]) -> StreamingQueryProgress:
    """A report from Spark's JSON of it."""
    sources = [each | {key: _text(each[key]) for key in _OFFSETS if key in each} for each in found["sources"]]
    return StreamingQueryProgress.fromJson({**found, "sources": sources})


def _text(offsets: Any) -> str:
    return offsets if isinstance(offsets, str) else json.dumps(offsets)


def unread(source: Any) -> dict[TopicPartition, int]:
    """Records that a query had still to read when a batch was planned.

    Args:
        source: one of ``StreamingQueryProgress.sources``, of a Kafka source.
    """
    read, latest = (_by_partition(text) for text in (source.endOffset, source.latestOffset))
    return {place: max(0, end - read.get(place, end)) for place, end in latest.items()}


def read_to(report: Any) -> dict[TopicPartition, int]:
    """Up to where a query has read: the offset of its next record.

    Args:
        report: a ``StreamingQueryProgress``.
    """
    return {place: end for source in report.sources for place, end in _by_partition(source.endOffset).items()}


def _by_partition(offsets: str | None) -> dict[TopicPartition, int]:
    """Spark's JSON of a Kafka source's offsets."""
    found: Mapping[str, Mapping[str, int]] = json.loads(offsets) if offsets and offsets != "null" else {}
    return {TopicPartition(topic, int(number)): end for topic, of_topic in found.items() for number, end in of_topic.items()}


log = logging.getLogger(__name__)


class BatchReports:
    """Passes on each report of a batch, once.

    Spark calls it in a thread of its own, and holds up no batch meanwhile. Polling misses what a query that fails has reported since the
    last poll, and what Spark no longer keeps. An idle query's reports don't come here.

    Args:
        queries: names of those whose reports are passed on.
        take: called with each report, by one thread at a time, in order.
    """

    def __init__(self, spark: SparkSession, queries: Container[str], take: Callable[[StreamingQueryProgress], None]) -> None:
        self._spark, self._queries, self._take = spark, queries, take

    def listen(self) -> None:
        """From now on, until the session ends."""
        self._spark.streams.addListener(self)

    @cached_property
    def _jlistener(self) -> Any:
        """What PySpark gives to the JVM in a listener's place."""
        return self._spark._jvm.PythonStreamingQueryListenerWrapper(self)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """A batch was finished."""
        try:
            report = report_of(json.loads(event.progress().json()))
            if report.name in self._queries:
                self._take(report)
        except Exception:  # Spark would log it in the JVM's words
            log.exception("a report of a batch can't be read, and isn't counted")

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Nothing: the query's thread knows."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Nothing: it has no report."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Nothing: the query's thread sees it."""

    class Java:
        """Py4J's name for the interface by which the JVM calls it."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)
