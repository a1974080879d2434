"""What Spark keeps for the gauges (``streaming.transforms.gauges``), without Spark: the kernel, and the newest entry of each series.

The Spark tests hold the aggregation itself to its oracle; this is for histories that are too many, or too long, for Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from udfs.counts import counts

_SERIES = ("cluster", "broker", "gateway", "listener", "software_name", "software_version")


class NewestCounts:
    """Per series its newest entry by (epoch, sequence), over all batches."""

    def __init__(self) -> None:
        self._newest: dict[tuple[Any, ...], dict[str, Any]] = {}

    def batch(self, records: Iterable[tuple[bytes, int]]) -> list[dict[str, Any]]:
        """The rows of the series that a batch touches, as the query hands them to its sink.

        Args:
            records: values, and Kafka's timestamps in ms.
        """
        values = list(records)
        touched = set()
        for entries, (_, appended_ms) in zip(counts(pa.array([v for v, _ in values], pa.binary())).to_pylist(), values, strict=True):
            for entry in entries:
                key = tuple(entry[name] for name in _SERIES)
                touched.add(key)
                known = self._newest.get(key)
                if known is None or (entry["epoch"], entry["sequence"]) > (known["epoch"], known["sequence"]):
                    self._newest[key] = {**entry, "appended_ms": appended_ms}
        return [self._newest[key] for key in touched]
