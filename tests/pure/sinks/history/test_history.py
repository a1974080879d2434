"""sinks/history without Spark: compaction, expiry and erasure of Delta tables during appends."""

from __future__ import annotations

import os
import re
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from deltalake.exceptions import CommitFailedError
from past_tables import DAY_MS, NOW_MS, SCHEMAS, push
from places import ROOT

from clientscope import cli
from clientscope.errors import ClientscopeError, EnvironmentProblem
from sinks.history import batches, erase
from sinks.history.erase import Erased, ErasureSubject, erase_rows
from sinks.history.maintain import maintain
from sinks.history.tables import YOUNG_S, remove_unused, tables

TODAY = date(2026, 9, 21)
QUERIES = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "history.md").read_text(), re.DOTALL)
CANARY = "canary-client-5af3"
JOB = "the job's start"


def row(days: int, client_id: str | None, principal: str | None = "User:app") -> dict[str, Any]:
    return push(NOW_MS - days * DAY_MS, client_id=client_id, principal=principal) | {"partition": days % 3}


def append(folder: Path, *rows: dict[str, Any], number: int = 0) -> None:
    """As the job's batch of this number."""
    batch = pa.RecordBatch.from_pylist(list(rows), SCHEMAS["pushes"])
    batches.append(iter([batch]), str(folder), JOB, {0: range(number, number + 1)})


@pytest.fixture
def pushes(tmp_path: Path) -> Path:
    folder = tmp_path / "pushes"
    for number, days in enumerate((500, 40, 40, 40, 0, 0)):
        append(folder, row(days, f"app-{number}"), row(days, CANARY if number == 2 else "other"), number=number)
    return folder


def rows(folder: Path) -> list[dict[str, Any]]:
    return sorted(DeltaTable(folder).to_pyarrow_table().to_pylist(), key=lambda each: (each["date"], each["client_id"]))


def test_old_rows_go_and_days_that_are_over_become_a_file(pushes: Path) -> None:
    before = rows(pushes)
    done = maintain(str(pushes), TODAY, 400)
    assert (done.rows, done.expired, done.compacted) == (10, 2, 3)
    assert rows(pushes) == [each for each in before if each["date"] > TODAY - timedelta(days=400)]
    by_day = [path.parent.name for path in pushes.rglob("*.parquet") if "_delta_log" not in path.parts]
    assert sorted(by_day) == ["date=2026-08-12", "date=2026-09-21", "date=2026-09-21"], "files of before are off the disk"
    again = maintain(str(pushes), TODAY, 400)
    assert (again.expired, again.compacted, again.removed, again.rows) == (0, 0, 0, 10)
    assert maintain(str(pushes), TODAY, 0).expired == 0


def test_the_job_still_knows_its_last_batch_and_continues(pushes: Path) -> None:
    maintain(str(pushes), TODAY, 400)
    erase_rows(str(pushes), ErasureSubject(client_id=CANARY))
    maintain(str(pushes), TODAY, 400)
    assert batches.next_offsets(str(pushes), JOB, [0]) == {0: 6}, "else Delta would take a batch twice, or none"
    append(pushes, row(0, "later"), number=6)
    assert batches.next_offsets(str(pushes), JOB, [0]) == {0: 7}
    assert len(rows(pushes)) == 10


def test_a_file_that_is_just_being_written_stays(pushes: Path) -> None:
    young, old = pushes / "date=2026-09-21" / "part-young.parquet", pushes / "date=2026-09-21" / "part-old.parquet"
    for path in (young, old):
        path.write_bytes(b"PAR1")
    os.utime(old, times=(time.time() - YOUNG_S - 60,) * 2)
    assert remove_unused(str(pushes), DeltaTable(pushes)) == ["date=2026-09-21/part-old.parquet"]
    assert young.exists()


def on_disk(folder: Path, text: str) -> list[str]:
    """Every file below that holds a text, Parquet's pages decompressed."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            content = str(pq.read_table(path, partitioning=None).to_pylist()).encode() if path.suffix == ".parquet" else path.read_bytes()
            if text.encode() in content:
                found.append(path.name)
    return found


@pytest.mark.parametrize("compacted", [False, True])
def test_f35_who_is_erased_is_in_no_file_any_more_and_nobody_else_is_gone(pushes: Path, compacted: bool) -> None:
    others = [each for each in rows(pushes) if each["client_id"] != CANARY]
    if compacted:  # leaves files of before with the same rows, where nothing takes them away
        DeltaTable(pushes).optimize.compact()
    assert on_disk(pushes, CANARY)
    assert erase_rows(str(pushes), ErasureSubject(client_id=CANARY), dry_run=True) == Erased(1, 0, 1)
    done = erase_rows(str(pushes), ErasureSubject(client_id=CANARY))
    assert done is not None
    assert (done.rows, done.left, done.files >= 1) == (1, 0, True)
    assert on_disk(pushes, CANARY) == []
    assert rows(pushes) == others
    assert erase_rows(str(pushes), ErasureSubject(client_id=CANARY)) == Erased(0, 0, 0)


def test_f48_an_erasure_that_batches_let_through_no_more_says_what_is_left(pushes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(table: DeltaTable, act: object) -> None:
        raise CommitFailedError("a concurrent transaction added new data")

    monkeypatch.setattr(erase, "committed", never)
    with pytest.raises(ClientscopeError, match="1 rows are in pushes still"):
        erase_rows(str(pushes), ErasureSubject(client_id=CANARY))


def test_an_erasure_matches_every_field_of_its_subject(pushes: Path) -> None:
    append(pushes, row(0, "x", "User:o'neil"), row(0, "y", "User:o'neil"), row(0, "x", None), number=6)
    both = erase_rows(str(pushes), ErasureSubject(client_id="x", principal="User:o'neil"))
    assert both is not None and both.rows == 1
    assert [each["client_id"] for each in rows(pushes) if each["principal"] == "User:o'neil"] == ["y"]
    hostile = erase_rows(str(pushes), ErasureSubject(client_id="' OR '1'='1"))
    assert hostile is not None and hostile.rows == 0
    assert len(rows(pushes)) == 14


@pytest.mark.parametrize("query", QUERIES)
def test_the_queries_of_the_docs_run(query: str, tmp_path: Path) -> None:
    asking = QueryBuilder()
    for name, schema in SCHEMAS.items():
        write_deltalake(tmp_path / name, schema.empty_table())
        asking = asking.register(name, DeltaTable(tmp_path / name))
    assert pa.table(asking.execute(query).read_all()).num_columns > 1


def test_no_table_is_said(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="there is no Delta table"):
        tables(str(tmp_path))
    (tmp_path / "pushes" / "_delta_log").mkdir(parents=True)
    (tmp_path / "pushes" / "_delta_log" / f"{0:020}.json").write_text("no commit")
    with pytest.raises(EnvironmentProblem, match="can't be read"):
        tables(str(tmp_path))


def test_the_commands(pushes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = ["--history-dir", str(pushes.parent)]
    assert cli.main(["history", "maintain", *directory, "--retention-days", "400"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[0] == "pushes"
    assert cli.main(["history", "erase", *directory]) == 2
    assert "error: --client-id or --principal is required" in capsys.readouterr().err
