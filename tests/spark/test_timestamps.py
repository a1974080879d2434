"""F29: timestamps of 1970, of 2100, before 1970, and the ends of 64 bits: none moves another record, and each is kept as it was.

Rows are filed and gateways expire by the time at which Kafka appended a record, which `clientscope.topics` requires of our topics
(LogAppendTime); what a record says of its own time is passed on and never compared with anything.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from record_bytes import Records, config_record, connection_record

from clientscope.records.topics import CONFIGS, CONNECTIONS
from sinks.history.batches import append
from streaming.internals.frames import record_batches
from streaming.transforms import history

EXTREMES = (0, -1, -62_135_596_800_000, 4_102_444_800_000, 2**63 - 1, -(2**63))
"""1970, a moment before it, the year 1, 2100, and the ends of 64 bits; in milliseconds."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
APPENDED = (EPOCH - timedelta(days=1), EPOCH, datetime(2100, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))


@pytest.fixture
def appended(spark: SparkSession) -> Records:
    """As ``records``, with Kafka's own times from `APPENDED`."""

    def make(topic: str, *values: bytes) -> DataFrame:
        rows = [(value, topic, 0, offset, APPENDED[offset]) for offset, value in enumerate(values)]
        return spark.createDataFrame(rows, "value binary, topic string, partition int, offset long, timestamp timestamp")

    return make


STEPS = [(CONFIGS, history.pushes, "received_timestamp_ms"), (CONNECTIONS, history.connections, "timestamp_ms")]


@pytest.mark.parametrize(("topic", "step", "field"), STEPS)
def test_f29_history_files_by_kafkas_time_and_keeps_the_records_own(
    records: Records, tmp_path: Path, topic: str, step: object, field: str
) -> None:
    assert callable(step)
    make = config_record if topic == CONFIGS else lambda **changes: connection_record(0, **changes)
    rows = history.kept(step(records(topic, *(make(**{field: ms}) for ms in EXTREMES)), None))
    append(record_batches(rows), tmp_path / "table", "query", 0)
    table = DeltaTable(tmp_path / "table").to_pyarrow_table().sort_by("offset").to_pylist()
    assert [row[field] for row in table] == list(EXTREMES)
    assert {row["date"] for row in table} == {date(2026, 1, 2), date(2026, 1, 3)}


def test_f29_kafkas_own_times_may_be_anything_too(appended: Records, tmp_path: Path) -> None:
    """On a topic that always had LogAppendTime they can't; on one whose setting was corrected later they can."""
    rows = history.connections(appended(CONNECTIONS, *(connection_record(number) for number in range(4))), None)
    append(record_batches(history.kept(rows)), tmp_path / "table", "query", 0)
    table = DeltaTable(tmp_path / "table").to_pyarrow_table().sort_by("offset").to_pylist()
    assert [row["date"] for row in table] == [date(1969, 12, 31), date(1970, 1, 1), date(2100, 1, 1), date(2026, 1, 2)]
    junk = history.quarantine(history.connections(appended(CONNECTIONS, b"junk", b"junk", b"junk"), None)).collect()
    assert [json.loads(row["value"])["timestamp_ms"] for row in junk] == [-86_400_000, 0, 4_102_444_800_000]
