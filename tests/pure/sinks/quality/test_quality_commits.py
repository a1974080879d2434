"""What the job has appended to a table, by the table's log."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from deltalake import DeltaTable
from quality_batches import append, pushes

from clientscope.model.topics import CONFIGS
from sinks.history.erase import ErasureSubject, erase_rows
from sinks.history.maintain import maintain
from sinks.quality.samples import next_version, since


def test_a_table_that_is_not_there_yet_begins_with_version_0(tmp_path: Path) -> None:
    table = str(tmp_path / "pushes")
    assert next_version(table) == 0
    assert since(table, 0) == ([], 0)
    append(tmp_path, CONFIGS, pushes(number=3))
    assert next_version(table) == 1
    assert since(table, 0)[1] == 1


def test_a_damaged_table_still_has_a_next_version(tmp_path: Path) -> None:
    """Otherwise the job would not start, and gauges would stand still for a table of history."""
    log = tmp_path / "pushes" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{7:020}.json").write_text("cut")
    assert next_version(str(tmp_path / "pushes")) == 8


def test_what_maintenance_and_erasure_rewrite_is_not_new(tmp_path: Path) -> None:
    table = str(tmp_path / "pushes")
    for _ in range(3):
        append(tmp_path, CONFIGS, pushes(number=3))
    version = next_version(table)
    maintain(table, date(2100, 1, 1), 0)
    erase_rows(table, ErasureSubject(client_id="orders-1"))
    assert version < next_version(table) == DeltaTable(table).version() + 1
    assert since(table, version) == ([], next_version(table))
