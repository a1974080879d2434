"""What the gauges' query hands to its sink, without Spark: the kernel's entries with Kafka's timestamps.

A test of Spark's own holds the query to this; it is for histories that are too many, or too long, for Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from streaming.gauges import Changes, GaugeEntry
from udfs.kernels.connection_counts import counts


def rows(records: Iterable[tuple[bytes, int]]) -> list[GaugeEntry]:
    """The entries of a batch.

    Args:
        records: values, and Kafka's timestamps in ms.
    """
    records = list(records)
    lists = counts(pa.array([value for value, _ in records], pa.binary())).to_pylist()
    return [
        GaugeEntry(**entry, appended_ms=appended_ms) for entries, (_, appended_ms) in zip(lists, records, strict=True) for entry in entries
    ]


class Topic:
    """``clientscope.gauges`` as a compacted topic has it in the end."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def write(self, changes: Changes) -> None:
        """Takes what the job writes."""
        for key, value in changes.items():
            if value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value

    def series(self) -> list[dict[str, Any]]:
        """The values of series."""
        return of_series(self.values)

    def gateways(self) -> list[dict[str, Any]]:
        """The values of gateways as a whole."""
        return [json.loads(value) for key, value in self.values.items() if len(json.loads(key)) == 3]


def of_series(published: Mapping[str, bytes | None]) -> list[dict[str, Any]]:
    """The values of series among what was written."""
    return [json.loads(value) for key, value in published.items() if value is not None and len(json.loads(key)) == 6]
