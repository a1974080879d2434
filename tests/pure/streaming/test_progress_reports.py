"""Progress reports: offsets are JSON, whatever this release of PySpark makes of them."""

from __future__ import annotations

import json
from typing import Any

from streaming.spark import read_to, report_of, unread

_SOURCE = {"description": "KafkaV2", "numInputRows": 5, "inputRowsPerSecond": 1.0, "processedRowsPerSecond": 1.0}


def report(**offsets: Any) -> dict[str, Any]:
    """As Spark writes one."""
    return {
        "id": "48859602-d4f8-43f5-a89a-7e831e07c9fb", "runId": "48859602-d4f8-43f5-a89a-7e831e07c9fb", "name": "results",
        "timestamp": "2026-01-02T03:04:05.000Z", "batchId": 1, "batchDuration": 3, "durationMs": {"addBatch": 1}, "stateOperators": [],
        "sources": [_SOURCE | offsets], "sink": {"description": "kafka", "numOutputRows": -1}, "numInputRows": 5,
        "inputRowsPerSecond": 1.0, "processedRowsPerSecond": 1.0, "observedMetrics": {},
    }  # fmt: skip


def all_unread(found: Any) -> int:
    return sum(unread(found.sources[0]).values())


def test_offsets_are_json() -> None:
    found = report_of(report(startOffset=None, endOffset={"t": {"0": 5}}, latestOffset={"t": {"0": 9}}))
    assert (all_unread(found), read_to(found), found.durationMs) == (4, {("t", 0): 5}, {"addBatch": 1})


def test_what_is_a_text_already_stays_one() -> None:
    offsets = json.dumps({"t": {"1": 5}})
    found = report_of(report(startOffset=offsets, endOffset=offsets, latestOffset=offsets))
    assert (all_unread(found), read_to(found)) == (0, {("t", 1): 5})


def test_before_the_first_offsets_nothing_is_known() -> None:
    found = report_of(report(startOffset=None, endOffset=None, latestOffset=None))
    assert (all_unread(found), read_to(found)) == (0, {})
