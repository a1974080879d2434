"""Records that are skipped before any Python process sees them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from record_bytes import Records, config_record

from clientscope.records.topics import CONFIGS
from streaming.checkpoints.job_records import SkippedRecord
from streaming.sources import without
from streaming.transforms import results

START_MS = int(datetime(2026, 1, 2, 23, 59, 59, tzinfo=UTC).timestamp() * 1000)


def test_a_place_is_left_out_and_nothing_else_before_the_kernel_sees_it(records: Records, plan_of: Callable[[DataFrame], str]) -> None:
    # Offset 4 again, of a topic that was deleted and made again since.
    places = ((0, 1, START_MS + 1000), (0, 3, START_MS + 3000), (1, 2, START_MS + 2000), (0, 4, START_MS - 86_400_000))
    left_out = [SkippedRecord(topic=CONFIGS, partition=each, offset=offset, timestamp_ms=at_ms) for each, offset, at_ms in places]
    rest = without(records(CONFIGS, *(config_record(client_id=f"c{number}") for number in range(5))), left_out)
    assert sorted(row["offset"] for row in rest.collect()) == [0, 2, 4]
    plan = plan_of(results(rest, None))
    operators = [line.strip(" +-:*()0123456789").split(" ")[0] for line in plan.splitlines()]
    assert "Filter" in operators[operators.index("ArrowEvalPython") :], plan
    assert "unix_millis" in plan[plan.index("ArrowEvalPython") :], plan
