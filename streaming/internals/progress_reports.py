"""Progress reports of queries with Kafka's offsets as JSON texts, on each release.

Before Spark 4.2 PySpark writes a source's offsets as Python shows a dict, which is no JSON; before 4.0 a query's last report is a plain
dict.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyspark
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streaming.internals.releases import release

_OFFSETS = ("startOffset", "endOffset", "latestOffset")
_AS_SPARK_HAS_IT = release(pyspark.__version__).json_offsets


def last_report(query: StreamingQuery) -> StreamingQueryProgress | None:
    """A query's last report; None before its first."""
    report = query.lastProgress
    if report is None or _AS_SPARK_HAS_IT:
        return report
    return report_of(getattr(report, "_jdict", report))


def report_of(found: Mapping[str, Any]) -> StreamingQueryProgress:
    """A report from Spark's JSON of it."""
    sources = [each | {key: _text(each[key]) for key in _OFFSETS if key in each} for each in found["sources"]]
    return StreamingQueryProgress.fromJson({**found, "sources": sources})


def _text(offsets: Any) -> str:
    return offsets if isinstance(offsets, str) else json.dumps(offsets)
