"""``clientscope history maintain``: what makes small files large, old rows go, and files go that no row is in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyarrow import dataset

from sinks.history.tables import opened, remove_unused

_TRIES = 5


@dataclass(frozen=True)
class Maintained:
    """What was done to a table.

    Attributes:
        expired: rows that were older than the retention.
        compacted: small files that were made one of each day.
        removed: files on disk that nothing needed any more.
        size_bytes: of the rows' files, afterwards.
    """

    table: str
    rows: int
    files: int
    size_bytes: int
    expired: int
    compacted: int
    removed: int


def maintain(folder: Path, today: date, retention_days: int) -> Maintained:
    """Looks after one table, while the job may go on to append to it.

    Days that are over are compacted to a file each; today's grows still. Delta's own transactions keep the two apart: whoever
    commits second does it again.

    Args:
        today: in UTC, as the tables' ``date`` is.
        retention_days: rows of earlier days go; 0 keeps all.
    """
    table = opened(folder)
    expired = _expire(table, today - timedelta(days=retention_days)) if retention_days else 0
    compacted = _compact(table, today)
    table.create_checkpoint()
    table.cleanup_metadata()
    removed = remove_unused(folder, table)
    files = table.get_add_actions(flatten=True)
    sizes, rows = files.column("size_bytes").to_pylist(), files.column("num_records").to_pylist()
    return Maintained(folder.name, sum(row or 0 for row in rows), len(sizes), sum(sizes), expired, compacted, len(removed))


def _expire(table: DeltaTable, before: date) -> int:
    def act() -> int:
        dated = int(table.to_pyarrow_dataset().count_rows(filter=dataset.field("date") < before))
        if dated:
            table.delete(f"date < '{before.isoformat()}'")
        return dated

    return _again(table, act)


def _compact(table: DeltaTable, today: date) -> int:
    def act() -> int:
        done = table.optimize.compact(partition_filters=[("date", "<", today.isoformat())])
        return int(done["numFilesRemoved"])

    return _again(table, act)


def _again(table: DeltaTable, act: Callable[[], int]) -> int:
    """Does it once more where the job, say, has committed meanwhile what it conflicts with."""
    for left in reversed(range(_TRIES)):
        try:
            return act()
        except CommitFailedError:
            if not left:
                raise
            table.update_incremental()
    raise AssertionError
