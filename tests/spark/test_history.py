"""Records to Delta and to quarantine."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from every import every
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from record_bytes import Records, config_record, connection_record, heartbeat, setting, telemetry_record
from telemetry_frames import measured

from clientscope.catalog.client_facts import PREFIX
from clientscope.digest import DigestKey
from clientscope.model.enums import Kind
from clientscope.model.topics import CONFIGS, CONNECTIONS, TELEMETRY
from sinks.dashboard.past import connections, pushes
from sinks.dashboard.past.tables import Span, Tables
from sinks.history.batches import append, next_offsets
from streaming import transforms
from streaming.queries.history import offsets
from streaming.reporting_clients import COLUMNS, ReportingClients
from streaming.spark import record_batches, to_table

SECRET = "hunter2-canary"


def write(rows: DataFrame, table: Path) -> None:
    """As a query of history does with its step's rows."""
    kept = transforms.kept(rows)
    append(record_batches(kept), str(table), "start", offsets(kept))


def kept(table: Path) -> list[dict[str, Any]]:
    """Its rows, in the order of their offsets."""
    rows: list[dict[str, Any]] = DeltaTable(table).to_pyarrow_table().sort_by("offset").to_pylist()
    return rows


def test_pushes_are_kept_redacted_with_their_place(records: Records, tmp_path: Path, digest_key: DigestKey) -> None:
    rows = transforms.pushes(records(CONFIGS, config_record(setting("token", SECRET)), None, b"junk", config_record()), digest_key)
    write(rows, tmp_path / "pushes")
    table = kept(tmp_path / "pushes")
    assert [(row["topic"], row["partition"], row["offset"]) for row in table] == [(CONFIGS, 0, 0), (CONFIGS, 0, 3)]
    # The second is past midnight, in UTC.
    assert [row["date"] for row in table] == [date(2026, 1, 2), date(2026, 1, 3)]
    (hidden,) = table[0]["configs"]
    assert (hidden["config_value"], hidden["value_digest"]) == (None, digest_key.digest(SECRET))
    assert not any(SECRET.encode() in path.read_bytes() for path in every(path for path in tmp_path.rglob("*") if path.is_file()))


def test_the_page_reads_what_the_job_has_written(records: Records, tmp_path: Path, digest_key: DigestKey) -> None:
    connected = [connection_record(number, kind=kind, client_id="it's") for number, kind in enumerate((Kind.OPENED, Kind.CLOSED))]
    write(transforms.connections(records(CONNECTIONS, *connected, heartbeat(2)), None), tmp_path / "connections")
    pushed = [config_record(setting("acks", acks), setting("token", SECRET), client_id="it's") for acks in ("0", "all")]
    write(transforms.pushes(records(CONFIGS, *pushed), digest_key), tmp_path / "pushes")
    span = Span(1_767_225_600_000, 1_767_657_600_000)  # five days from 2026-01-01
    seen = connections.page(connections.clients(Tables(tmp_path), span)[0], 'client_id:"it\'s"', "", 0, 10, 0)
    (client,) = seen["items"]
    assert (client["connections"], client["open"], span.from_ms < client["first_seen_ms"] <= client["last_seen_ms"]) == (1, 0, True)
    starts = pushes.starts(Tables(tmp_path), span, pushes.Whose(client_id="it's"), 0, 10)
    assert [start["redacted_count"] for start in starts["items"]] == [1, 1]
    assert starts["items"][0]["changes"] == [{"key": "acks", "before": "0", "after": "all"}]
    assert client["first_seen_ms"] == min(start["pushed_ms"] for start in starts["items"]), "both at Kafka's time"


def test_a_batch_is_written_once_and_its_table_says_up_to_where(records: Records, tmp_path: Path) -> None:
    rows = transforms.connections(records(CONNECTIONS, connection_record(0), connection_record(1), b"junk"), None)
    for _ in range(2):
        write(rows, tmp_path / "connections")
    assert [row["offset"] for row in kept(tmp_path / "connections")] == [0, 1]
    assert next_offsets(str(tmp_path / "connections"), "start", [0]) == {0: 2}


def test_a_batch_of_many_partitions_and_pages_is_one_file_of_each_day(records: Records, tmp_path: Path) -> None:
    values = records(CONNECTIONS, *map(connection_record, range(96))).repartition(48)
    rows = transforms.kept(transforms.connections(values, None)).persist()
    append(record_batches(rows, 4_000), str(tmp_path / "connections"), "start", offsets(rows))
    table = DeltaTable(tmp_path / "connections")
    assert sorted(table.to_pyarrow_table()["offset"].to_pylist()) == list(range(96))
    assert (table.version(), len(table.file_uris())) == (1, 2)
    rows.unpersist()


@pytest.mark.parametrize(("topic", "step"), [(CONFIGS, transforms.pushes), (CONNECTIONS, transforms.connections)])
def test_poison_is_recorded_by_place_reason_length_and_digest(records: Records, topic: str, step: object, digest_key: DigestKey) -> None:
    assert callable(step)
    poison = [b"", b"\0\0\xff" + SECRET.encode(), b'{"version":7,"settings":"' + SECRET.encode() + b'"}']
    rows = transforms.quarantine(step(records(topic, *poison), digest_key)).collect()
    assert [json.loads(row["key"]) for row in rows] == [[topic, 0, offset] for offset in range(3)]
    assert rows[2]["key"] == f'["{topic}",0,2]'
    assert [json.loads(row["value"])["reason"] for row in rows] == ["not_json", "not_json", "unknown_version"]
    assert json.loads(rows[1]["value"]) == {
        "version": 1, "topic": topic, "partition": 0, "offset": 1, "timestamp_ms": 1_767_398_400_000, "reason": "not_json",
        "length": len(poison[1]), "digest": json.loads(rows[1]["value"])["digest"],
    }  # fmt: skip
    assert len(json.loads(rows[1]["value"])["digest"]) == 64
    assert SECRET not in str(rows)


def test_facts_of_clients_own_metrics_are_kept_and_shown(records: Records, tmp_path: Path, digest_key: DigestKey) -> None:
    sent = f"{PREFIX}producer.record.send.total"
    values = [telemetry_record(measured({}, {sent: 60.0 * each}), client_id=f"app-{each}") for each in (1, 2)]
    rows = transforms.telemetry(records(TELEMETRY, *values, b"junk", b""), digest_key)
    write(rows, tmp_path / "client_facts")
    table = DeltaTable(tmp_path / "client_facts").to_pyarrow_table().sort_by("offset")
    assert table.select(["client_id", "client_kind", "record_rate", "lag_max_records"]).to_pylist() == [
        {"client_id": f"app-{each}", "client_kind": "producer", "record_rate": float(each), "lag_max_records": None} for each in (1, 2)
    ]
    assert not {"decode_error", "digest"} & set(table.column_names)
    quarantined = [json.loads(row["value"]) for row in transforms.quarantine(rows).collect()]
    assert [(row["offset"], row["reason"]) for row in quarantined] == [(2, "unreadable"), (3, "nameless")]
    clients = ReportingClients()
    clients.take(to_table(transforms.kept(rows).select(F.unix_millis("timestamp").alias("at_ms"), *COLUMNS)), 1_767_398_400_000)
    (instances,) = clients.families(1_767_398_400_000)[0].samples
    assert instances.value == 1, "both have one id"


EXTREMES = (0, -1, -62_135_596_800_000, 4_102_444_800_000, 2**63 - 1, -(2**63))
"""1970, a moment before it, the year 1, 2100, and the ends of 64 bits; in milliseconds."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
APPENDED = (EPOCH - timedelta(days=1), EPOCH, datetime(2100, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))


def test_f29_history_files_by_kafkas_time_and_keeps_the_records_own(records: Records, tmp_path: Path) -> None:
    """What a record says of its own time is never compared with anything, on a topic with LogAppendTime."""
    written = {
        "pushes": transforms.pushes(records(CONFIGS, *(config_record(received_ms=ms) for ms in EXTREMES)), None),
        "connections": transforms.connections(records(CONNECTIONS, *(connection_record(0, timestamp_ms=ms) for ms in EXTREMES)), None),
    }
    for name, rows in written.items():
        write(rows, tmp_path / name)
        table = kept(tmp_path / name)
        assert [row["received_ms" if name == "pushes" else "timestamp_ms"] for row in table] == list(EXTREMES)
        assert {row["date"] for row in table} == {date(2026, 1, 2), date(2026, 1, 3)}


def test_f29_kafkas_own_times_may_be_anything_too(records: Records, tmp_path: Path) -> None:
    """On a topic that always had LogAppendTime they can't; on one whose setting was corrected later they can."""
    values = [*map(connection_record, range(4)), b"junk", b"junk", b"junk"]
    rows = transforms.connections(records(CONNECTIONS, *values, times=APPENDED + APPENDED[:3]), None).persist()
    write(rows, tmp_path / "table")
    table = kept(tmp_path / "table")
    assert [row["date"] for row in table] == [date(1969, 12, 31), date(1970, 1, 1), date(2100, 1, 1), date(2026, 1, 2)]
    junk = transforms.quarantine(rows).collect()
    assert [json.loads(row["value"])["timestamp_ms"] for row in junk] == [-86_400_000, 0, 4_102_444_800_000]
    rows.unpersist()
