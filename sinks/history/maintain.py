"""Maintenance of history: compacts small files, expires old rows, and deletes unused files: ``clientscope history maintain``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from deltalake import DeltaTable
from pyarrow import dataset

from sinks.history.tables import committed, opened, remove_unused


@dataclass(frozen=True)
class Maintained:
    """What was done to a table.

    Attributes:
        expired: rows that were older than the retention.
        compacted: small files that were made one of each day.
        removed: files on disk that nothing needed any more.
        size_bytes: of the rows' files, afterwards.
    """

    rows: int
    files: int
    size_bytes: int
    expired: int
    compacted: int
    removed: int


def maintain(folder: str, today: date, retention_days: int) -> Maintained:
    """Maintains one table; the job may append to it meanwhile.

    Each past day is compacted to one file; today still grows.

    Args:
        today: in UTC, as the tables' ``date`` is.
        retention_days: rows of earlier days go; 0 keeps all.
    """
    table = opened(folder)
    expired = _expire(table, today - timedelta(days=retention_days)) if retention_days else 0
    compacted = sum(_compact(table, day) for day in _days(table) if day < today)
    table.update_incremental()
    table.create_checkpoint()
    table.cleanup_metadata()
    removed = remove_unused(folder, table)
    files = table.get_add_actions(flatten=True)
    sizes, rows = files.column("size_bytes").to_pylist(), files.column("num_records").to_pylist()
    return Maintained(sum(row or 0 for row in rows), len(sizes), sum(sizes), expired, compacted, len(removed))


def _expire(table: DeltaTable, before: date) -> int:
    def act() -> int:
        dated = int(table.to_pyarrow_dataset().count_rows(filter=dataset.field("date") < before))
        if dated:
            table.delete(f"date < '{before.isoformat()}'")
        return dated

    return committed(table, act)


def _days(table: DeltaTable) -> list[date]:
    """Days with rows; a file is of one day."""
    return sorted(set(table.get_add_actions(flatten=True).column("partition.date").to_pylist()))


def _compact(table: DeltaTable, day: date) -> int:
    def act() -> int:
        done = table.optimize.compact(partition_filters=[("date", "=", day.isoformat())])
        return int(done["numFilesRemoved"])

    return committed(table, act)
