"""Progress reports of queries' batches, each as Spark sends it.

PySpark's own listener takes a report apart field by field, each field a call into the JVM: of 29 reports a second it took in five, for 40 %
of a core. This one asks for the report's JSON, which is one call.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Container
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streaming.internals.jvm import LISTENER, wrapped_listener
from streaming.internals.progress_reports import report_of

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
        return wrapped_listener(self._spark, self)

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
        """Py4J's name for which interface that is."""

        implements = (LISTENER,)
