"""Source positions in a query's progress report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def unread(source: Any) -> dict[tuple[str, str], int]:
    """Records that a query had still to read when a batch was planned, by topic and partition.

    Args:
        source: one of ``StreamingQueryProgress.sources``, of a Kafka source.
    """
    read, latest = (_by_partition(text) for text in (source.endOffset, source.latestOffset))
    return {place: max(0, end - read.get(place, end)) for place, end in latest.items()}


def read_to(report: Any) -> dict[str, dict[int, int]]:
    """Up to where a query has read: topic, partition, the offset of its next record.

    Args:
        report: a ``StreamingQueryProgress``.
    """
    found: dict[str, dict[int, int]] = {}
    for source in report.sources:
        for (topic, partition), end in _by_partition(source.endOffset).items():
            found.setdefault(topic, {})[int(partition)] = end
    return found


def _by_partition(offsets: str | None) -> dict[tuple[str, str], int]:
    """Spark's JSON of a Kafka source's offsets."""
    found: Mapping[str, Mapping[str, int]] = json.loads(offsets) if offsets and offsets != "null" else {}
    return {(topic, partition): end for topic, partitions in found.items() for partition, end in partitions.items()}
