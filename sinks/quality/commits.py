"""Files that the job has appended to a Delta table, by the table's log alone.

A commit is a file of its version's number with an action a line (Delta's protocol, "Delta Log Entries"), and the job's batches are its
``WRITE`` operations. Files that maintenance and erasure rewrite hold no new rows.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import unquote

from clientscope.stores.store_path import AnyPath

_OPERATION = "WRITE"


@dataclass(frozen=True)
class Commits:
    """What has been committed to a table.

    Attributes:
        files: that the job has appended, the newest last.
        next_version: the version that is looked for next.
    """

    files: tuple[AnyPath, ...]
    next_version: int


def next_version(table: AnyPath) -> int:
    """The number of the version that will be committed next; 0 where there is no table yet."""
    names = (path.stem for path in (table / "_delta_log").rglob("*.json"))
    return max((int(name) for name in names if name.isdecimal()), default=-1) + 1


def since(table: AnyPath, version: int) -> Commits:
    """What has been committed from a version on."""
    files: list[AnyPath] = []
    with suppress(FileNotFoundError):
        while True:
            log = (table / "_delta_log" / f"{version:020}.json").read_text("utf-8")
            actions = [json.loads(line) for line in log.splitlines() if line]
            if any(action.get("commitInfo", {}).get("operation") == _OPERATION for action in actions):
                files += [table / unquote(action["add"]["path"]) for action in actions if "add" in action]
            version += 1
    return Commits(tuple(files), version)
