"""Delta tables below a history directory, and their files on disk. No Spark: delta-rs reads and writes the same log."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError

from clientscope.errors import EnvironmentProblem
from clientscope.stores.store_path import AnyPath
from sinks.history.commit_lock import committing

T = TypeVar("T")

_TRIES = 5

YOUNG_S = 3_600.0
"""A file that no version names may be a batch's that is just being written, until it is so old: a batch lasts seconds."""


def tables(history_dir: AnyPath) -> dict[str, DeltaTable]:
    """Every table, by its folder's name.

    Raises:
        EnvironmentProblem: there is no table, or one can't be read.
    """
    there = [history_dir / path.name for path in history_dir.iterdir()] if history_dir.is_dir() else []
    folders = sorted((folder for folder in there if (folder / "_delta_log").is_dir()), key=str)
    if not folders:
        raise EnvironmentProblem(f"there is no Delta table below {history_dir}", "--history-dir is the streaming job's")
    return {folder.name: opened(folder) for folder in folders}


def opened(folder: AnyPath) -> DeltaTable:
    """A table as it is now.

    Raises:
        EnvironmentProblem: it can't be read.
    """
    try:
        return DeltaTable(str(folder))
    except DeltaError as error:
        raise EnvironmentProblem(f"{folder} can't be read: {str(error)[:200]}", "restore it from a backup, or move it aside") from None


def committed(folder: AnyPath, table: DeltaTable, act: Callable[[], T]) -> T:
    """Commits to a table, alone and from its newest version; again if a writer without the lock has committed meanwhile.

    Raises:
        CommitFailedError: five times.
        TimeoutError: another process is at it for ten minutes.
    """
    for left in reversed(range(_TRIES)):
        with committing(folder):
            table.update_incremental()
            try:
                return act()
            except CommitFailedError:
                if not left:
                    raise
    raise AssertionError


def remove_unused(folder: AnyPath, table: DeltaTable, now_s: float | None = None) -> list[str]:
    """Deletes the files that no row of the present version is in, and returns their names; versions before can't be read any more.

    Delta's own VACUUM goes by age alone: with none, it would take away what a batch is just writing. Here a file goes at once if
    the log says that it was removed, and after `YOUNG_S` otherwise.
    """
    now_s = time.time() if now_s is None else now_s
    removed = table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False)
    unused = table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False, full=True)
    gone = []
    for name in {*removed, *unused}:
        path = folder / name
        if path.is_file() and (name in removed or now_s - path.stat().st_mtime > YOUNG_S):
            path.unlink()
            gone.append(name)
    return gone
