"""Batches that the job appends to a Delta table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from sinks.history.batches import CheckpointOlder, append

DAY = date(2026, 11, 25)


def rows(*offsets: int, **columns: list[str]) -> pa.RecordBatch:
    return pa.record_batch({"date": pa.array([DAY] * len(offsets), pa.date32()), "offset": pa.array(offsets, pa.int64()), **columns})


def offsets(table: Path) -> list[int]:
    found: list[int] = DeltaTable(table).to_pyarrow_table()["offset"].to_pylist()
    return sorted(found)


@pytest.fixture
def pushes(tmp_path: Path) -> Path:
    """A table that is not there yet."""
    return tmp_path / "pushes"


def test_a_batch_is_one_commit_and_one_file_of_each_day_however_many_pieces_it_comes_in(pushes: Path) -> None:
    append(iter([rows(0, 1), rows(2), rows()]), pushes, "query", 0)
    table = DeltaTable(pushes)
    assert (offsets(pushes), table.version(), len(table.file_uris())) == ([0, 1, 2], 0, 1)


def test_a_number_that_was_written_is_passed_over_and_another_checkpoints_is_not(pushes: Path) -> None:
    for query_id, batch_id, number in (("first", 7, 0), ("first", 7, 0), ("second", 0, 2), ("first", 8, 3)):
        append(iter([rows(number)]), pushes, query_id, batch_id)
    assert offsets(pushes) == [0, 2, 3]
    assert [DeltaTable(pushes).transaction_version(query_id) for query_id in ("first", "second")] == [8, 0]
    with pytest.raises(CheckpointOlder, match="has batch 8, and now 7 comes"):
        append(iter([rows(4)]), pushes, "first", 7)


def test_nothing_makes_no_table_and_no_version(pushes: Path) -> None:
    append(iter([]), pushes, "query", 0)
    assert not pushes.exists()
    append(iter([rows(0)]), pushes, "query", 1)
    append(iter([]), pushes, "query", 2)
    assert DeltaTable(pushes).version() == 0


def test_a_batch_whose_rows_fail_is_not_there_at_all(pushes: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield rows(1)
        raise ConnectionError("Spark has ended")

    append(iter([rows(0)]), pushes, "query", 0)
    with pytest.raises(Exception, match="Spark has ended"):
        append(failing(), pushes, "query", 1)
    assert offsets(pushes) == [0]
    append(iter([rows(1)]), pushes, "query", 1)
    assert offsets(pushes) == [0, 1]


def test_rows_of_two_schemas_are_refused_before_they_are_read(pushes: Path) -> None:
    with pytest.raises(Exception, match="two schemas"):
        append(iter([rows(0), rows(1, rack=["a"])]), pushes, "query", 0)


def test_names_that_clients_chose_are_in_no_log(pushes: Path) -> None:
    place = {"topic": ["t"], "partition": ["0"]}
    batch = pa.record_batch({"date": pa.array([DAY]), **place, "offset": [0], "timestamp": ["2026"], "client_id": ["canary"]})
    append(iter([batch]), pushes, "query", 0)
    (log,) = (pushes / "_delta_log").glob("*.json")
    assert "canary" not in log.read_text() and "2026" in log.read_text()


def test_it_appends_to_a_table_of_an_earlier_release_and_adds_a_column_of_a_later_one(pushes: Path) -> None:
    earlier = {"delta.checkpointInterval": "100", "delta.dataSkippingNumIndexedCols": "5"}
    write_deltalake(pushes, pa.Table.from_batches([rows(0)]), partition_by=["date"], configuration=earlier)
    append(iter([rows(1, rack=["a"])]), pushes, "query", 0)
    table = DeltaTable(pushes)
    assert [row["rack"] for row in table.to_pyarrow_table().sort_by("offset").to_pylist()] == [None, "a"]
    assert table.metadata().configuration == earlier
