"""Delta tables below a history directory, and their files, on a disk or wherever delta-rs reaches.

No Spark, and no lock: delta-rs creates a version's file only where it isn't there, so of two that commit at once one begins again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, FileSystem, FileType, PyFileSystem

from clientscope.errors import EnvironmentProblem

T = TypeVar("T")

_TRIES = 20

YOUNG_S = 3_600.0
"""A file that no version names may be a batch's that is just being written, until it is so old: a batch lasts seconds."""


def tables(history_dir: str) -> dict[str, DeltaTable]:
    """Every table, by its folder's name.

    Raises:
        EnvironmentProblem: there is no table, or one can't be read.
    """
    names: list[str] = []
    with suppress(TableNotFoundError):
        found = files(history_dir)
        there = sorted(each.base_name for each in found.get_file_info(FileSelector("", allow_not_found=True)))
        names = [name for name in there if found.get_file_info(f"{name}/_delta_log").type is FileType.Directory]
    if not names:
        raise EnvironmentProblem(f"there is no Delta table below {history_dir}", "--history-dir is the streaming job's")
    return {name: opened(f"{history_dir}/{name}") for name in names}


def files(folder: str) -> FileSystem:
    """The files below a path or an address, for reading and deleting, with the settings that delta-rs has for the tables.

    Raises:
        TableNotFoundError: there is no such folder.
    """
    return PyFileSystem(DeltaStorageHandler(folder))


def opened(folder: str) -> DeltaTable:
    """A table as it is now.

    Raises:
        EnvironmentProblem: it can't be read.
    """
    try:
        return DeltaTable(folder)
    except DeltaError as error:
        raise EnvironmentProblem(f"{folder} can't be read: {str(error)[:200]}", "restore it from a backup, or move it aside") from None


def committed(table: DeltaTable, act: Callable[[], T]) -> T:
    """Commits to a table from its newest version.

    Raises:
        CommitFailedError: as `repeated`.
    """

    def from_newest() -> T:
        table.update_incremental()
        return act()

    return repeated(from_newest)


def repeated(act: Callable[[], T]) -> T:
    """Does what commits, and does it again if another writer has committed meanwhile.

    Raises:
        CommitFailedError: each time, of twenty.
    """
    for left in reversed(range(_TRIES)):
        try:
            return act()
        except CommitFailedError:
            if not left:
                raise
    raise AssertionError


def remove_unused(folder: str, table: DeltaTable) -> list[str]:
    """Deletes the files that no row of the present version is in, and returns their names; versions before can't be read any more.

    Delta's own VACUUM goes by age alone: with none, it would take away what a batch is just writing. Here a file goes at once if
    the log says that it was removed, and after `YOUNG_S` otherwise.
    """
    removed = table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False)
    unused = table.vacuum(retention_hours=0, dry_run=True, enforce_retention_duration=False, full=True)
    there, gone = files(folder), []
    for name in {*removed, *unused}:
        found = there.get_file_info(name)
        if found.type is FileType.File and (name in removed or time.time() - found.mtime.timestamp() > YOUNG_S):
            there.delete_file(name)
            gone.append(name)
    return gone
