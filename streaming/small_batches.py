"""Queries whose batches are small copy rows without generated code.

Each task writes the code of its projections anew, only to find that it is compiled already. For a few rows that is a quarter of what a
batch costs the JVM; for a backlog the code is worth it (docs/benchmarks.md). The code of a plan's whole stages is generated in any case.
"""

from __future__ import annotations

import logging
from functools import cache

from py4j.protocol import Py4JError
from pyspark.sql.streaming import StreamingQuery

from streaming.internals.jvm import batch_settings

log = logging.getLogger(__name__)

MOST = 20_000
"""Records that a query has still to read, beyond which its batches are large."""

_PROJECTIONS = "spark.sql.codegen.factoryMode"


def fit(query: StreamingQuery, unread: int) -> None:
    """Has a query's next batches run as its last report suggests. To be called now and then, for as long as the query runs.

    A query takes a copy of the session's settings when it starts; this changes the copy.

    Args:
        unread: records that it had still to read.
    """
    try:
        batch_settings(query).set(_PROJECTIONS, "FALLBACK" if unread > MOST else "NO_CODEGEN")
    except Py4JError as error:
        if query.isActive:
            _warn_once(type(error).__name__)


@cache
def _warn_once(error: str) -> None:
    log.warning("this Spark lets no query change its own settings (%s): small batches cost the JVM a quarter more", error)
