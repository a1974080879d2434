"""Queries whose batches are small copy rows without generated code, in as many tasks as there are cores.

Each task writes the code of its projections anew, only to find that it is compiled already. For a few rows that is a quarter of what a
batch costs the JVM; for a backlog the code is worth it (docs/benchmarks.md). The code of a plan's whole stages is generated in any case.

Spark's Kafka source makes a task of each partition that has something new. With many partitions a task of a few rows costs more than the
rows. A backlog keeps its tasks: they are its parallelism on a cluster, and a new push waits for one of them to end
(`streaming.fresh_lane`).
"""

from __future__ import annotations

import logging
from functools import cache

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from streaming.internals.jvm import batch_settings

log = logging.getLogger(__name__)

MOST = 20_000
"""Records that a query has still to read, beyond which its batches are large."""

_PROJECTIONS = "spark.sql.codegen.factoryMode"
_EXCLUDED = "spark.sql.optimizer.excludedRules"
COLLAPSE = "org.apache.spark.sql.catalyst.optimizer.CollapseRepartition"

_ALL_TASKS = 100_000


def few_tasks(rows: DataFrame) -> DataFrame:
    """The rows of a query that `fit` is called for: each of its small batches takes as many tasks as there are cores, or fewer.

    A plan can't depend on a batch's size, but what Spark's optimiser does with it can. Of two coalesces it keeps the outer one, which
    changes nothing; without that rule the inner one counts. Coalescing reads whole partitions one after another, so each keeps its order.
    """
    return rows.coalesce(rows.sparkSession.sparkContext.defaultParallelism).coalesce(_ALL_TASKS)


def fit(query: StreamingQuery, unread: int) -> None:
    """Has a query's next batches run as its last report suggests. To be called now and then, for as long as the query runs.

    A query takes a copy of the session's settings when it starts; this changes the copy.

    Args:
        unread: records that it had still to read.
    """
    try:
        settings, are_small = batch_settings(query), unread <= MOST
        excluded = [rule for rule in settings.get(_EXCLUDED, "").split(",") if rule not in ("", COLLAPSE)]
        settings.set(_PROJECTIONS, "NO_CODEGEN" if are_small else "FALLBACK")
        settings.set(_EXCLUDED, ",".join([*excluded, *([COLLAPSE] if are_small else [])]))
    except Py4JError as error:
        if query.isActive:
            _warn_once(type(error).__name__)


@cache
def _warn_once(error: str) -> None:
    log.warning("this Spark lets no query change its own settings (%s): small batches cost more, most of all of many partitions", error)
