"""Files that the job has appended to a Delta table, by the table's log alone.

A commit is a file of its version's number with an action a line (Delta's protocol, "Delta Log Entries"), and the job's batches are its
``WRITE`` operations. Files that maintenance and erasure rewrite hold no new rows.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from deltalake.exceptions import TableNotFoundError
from pyarrow.fs import FileSelector

from sinks.history.tables import files

_OPERATION = "WRITE"


@dataclass(frozen=True)
class Commits:
    """What has been committed to a table.

    Attributes:
        files: that the job has appended, the newest last, below the table's folder.
        next_version: the version that is looked for next.
    """

    files: tuple[str, ...]
    next_version: int


def next_version(table: str) -> int:
    """The number of the version that will be committed next; 0 where there is no table yet."""
    try:
        # By the files' names: a damaged table, which delta-rs can't open, must not keep the job from starting.
        log = files(table).get_file_info(FileSelector("_delta_log", allow_not_found=True))
    except TableNotFoundError:
        return 0
    numbers = (each.base_name.removesuffix(".json") for each in log)
    return max((int(number) for number in numbers if number.isdecimal()), default=-1) + 1


def since(table: str, version: int) -> Commits:
    """What has been committed from a version on."""
    found: list[str] = []
    with suppress(TableNotFoundError, FileNotFoundError):
        below = files(table)
        while True:
            with below.open_input_stream(f"_delta_log/{version:020}.json") as log:
                actions = [json.loads(line) for line in log.read().splitlines() if line]
            if any(action.get("commitInfo", {}).get("operation") == _OPERATION for action in actions):
                found += [unquote(action["add"]["path"]) for action in actions if "add" in action]
            version += 1
    return Commits(tuple(found), version)
