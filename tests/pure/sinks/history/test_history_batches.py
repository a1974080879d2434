"""Batches that the job appends to a Delta table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from itertools import chain
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from sinks.history.batches import Overtaken, append, next_offsets

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
    append(iter([rows(0, 1), rows(2), rows()]), str(pushes), "start", {0: range(3)})
    table = DeltaTable(pushes)
    assert (offsets(pushes), table.version(), len(table.file_uris())) == ([0, 1, 2], 1, 1), "behind the one that makes it"


def test_rows_that_are_there_are_passed_over_and_the_table_knows_where_its_query_continues(pushes: Path) -> None:
    assert next_offsets(str(pushes), "first", [0, 1]) == {}
    for start, there, number in (("first", {0: range(7)}, 0), ("first", {0: range(7)}, 0), ("second", {0: range(1)}, 2)):
        append(iter([rows(number)]), str(pushes), start, there)
    append(iter([rows(3)]), str(pushes), "first", {0: range(9, 10), 1: range(3)})  # quarantined ones lie between
    assert offsets(pushes) == [0, 2, 3]
    assert [next_offsets(str(pushes), start, [0, 1, 2]) for start in ("first", "second")] == [{0: 10, 1: 3}, {0: 1}]
    DeltaTable(pushes).optimize.compact()
    assert next_offsets(str(pushes), "first", [0]) == {0: 10}


@pytest.mark.parametrize("is_new", [True, False])
def test_a_job_that_was_replaced_can_not_add_rows_twice(pushes: Path, is_new: bool) -> None:
    if not is_new:
        append(iter([rows(0)]), str(pushes), "start", {0: range(1)})

    def overtaken() -> Iterator[pa.RecordBatch]:
        other = Thread(target=append, args=(iter([rows(1, 2)]), str(pushes), "start", {0: range(1, 3)}))
        other.start()  # while this one is being written
        other.join()
        yield rows(1)

    with pytest.raises(CommitFailedError):
        append(chain([rows()], overtaken()), str(pushes), "start", {0: range(1, 2)})
    with pytest.raises(Overtaken, match="has a part of the rows from 2 on"):
        append(iter([rows(2, 3)]), str(pushes), "start", {0: range(2, 4)})
    assert offsets(pushes) == [0, 1, 2][is_new:]


def test_nothing_makes_no_table_and_no_version(pushes: Path) -> None:
    append(iter([]), str(pushes), "start", {})
    assert not pushes.exists()
    append(iter([rows(0)]), str(pushes), "start", {0: range(1)})
    append(iter([]), str(pushes), "start", {})
    assert DeltaTable(pushes).version() == 1


def test_a_batch_whose_rows_fail_is_not_there_at_all(pushes: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield rows(1)
        raise ConnectionError("Spark has ended")

    append(iter([rows(0)]), str(pushes), "start", {0: range(1)})
    with pytest.raises(Exception, match="Spark has ended"):
        append(failing(), str(pushes), "start", {0: range(1, 2)})
    assert (offsets(pushes), next_offsets(str(pushes), "start", [0])) == ([0], {0: 1})
    append(iter([rows(1)]), str(pushes), "start", {0: range(1, 2)})
    assert offsets(pushes) == [0, 1]


def test_rows_of_two_schemas_are_refused_before_they_are_read(pushes: Path) -> None:
    with pytest.raises(Exception, match="two schemas"):
        append(iter([rows(0), rows(1, rack=["a"])]), str(pushes), "start", {0: range(2)})


def test_names_that_clients_chose_are_in_no_log(pushes: Path) -> None:
    place = {"topic": ["t"], "partition": ["0"]}
    batch = pa.record_batch({"date": pa.array([DAY]), **place, "offset": [0], "timestamp": ["2026"], "client_id": ["canary"]})
    append(iter([batch]), str(pushes), "start", {0: range(1)})
    log = "".join(path.read_text() for path in (pushes / "_delta_log").glob("*.json"))
    assert "canary" not in log and "2026" in log


def test_it_appends_to_a_table_of_an_earlier_release_and_adds_a_column_of_a_later_one(pushes: Path) -> None:
    earlier = {"delta.checkpointInterval": "100", "delta.dataSkippingNumIndexedCols": "5"}
    write_deltalake(pushes, pa.Table.from_batches([rows(0)]), partition_by=["date"], configuration=earlier)
    append(iter([rows(1, rack=["a"])]), str(pushes), "start", {0: range(1, 2)})
    table = DeltaTable(pushes)
    assert [row["rack"] for row in table.to_pyarrow_table().sort_by("offset").to_pylist()] == [None, "a"]
    assert table.metadata().configuration == earlier
