"""Records that are skipped before any Python process sees them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from record_bytes import Records, config_record, setting

from clientscope.records.topics import CONFIGS
from streaming.checkpoints.job_records import SkippedRecord
from streaming.sources import without
from streaming.transforms.results import results

START_MS = int(datetime(2026, 1, 2, 23, 59, 59, tzinfo=UTC).timestamp() * 1000)


def test_a_place_is_left_out_and_nothing_else(records: Records) -> None:
    rows = records(CONFIGS, *(config_record(client_id=f"c{number}") for number in range(5)))
    left_out = [
        SkippedRecord(topic=CONFIGS, partition=0, offset=1, timestamp_ms=START_MS + 1000),
        SkippedRecord(topic=CONFIGS, partition=0, offset=3, timestamp_ms=START_MS + 3000),
        SkippedRecord(topic=CONFIGS, partition=1, offset=2, timestamp_ms=START_MS + 2000),
    ]
    # Offset 4 again, of a topic that was deleted and made again since.
    rest = without(rows, [*left_out, SkippedRecord(topic=CONFIGS, partition=0, offset=4, timestamp_ms=START_MS - 86_400_000)])
    assert sorted(row["offset"] for row in rest.collect()) == [0, 2, 4]


def test_it_is_left_out_before_the_kernel_sees_it(records: Records, plan_of: Callable[[DataFrame], str]) -> None:
    rows = records(CONFIGS, config_record(setting("acks", "all")), config_record())
    plan = plan_of(results(without(rows, [SkippedRecord(topic=CONFIGS, partition=0, offset=1, timestamp_ms=START_MS + 1000)]), None))
    operators = [line.strip(" +-:*()0123456789").split(" ")[0] for line in plan.splitlines()]
    below = operators[operators.index("ArrowEvalPython") :]
    assert "Filter" in below, plan
    assert "unix_millis" in plan[plan.index("ArrowEvalPython") :], plan
