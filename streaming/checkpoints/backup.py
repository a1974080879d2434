"""Backup of all checkpoints, made while nothing writes them, and verified."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from clientscope.errors import ClientscopeError, SettingsError
from clientscope.stores import trees
from clientscope.stores.store_path import AnyPath
from streaming import seen
from streaming.checkpoints import lock, skipped
from streaming.checkpoints.plans import PLANS
from streaming.checkpoints.verify import CheckpointProblem, verify


def backup(checkpoint_dir: AnyPath, target: AnyPath) -> list[CheckpointProblem]:
    """Copies every query's folder, without what was moved aside, and what all skip; returns what is wrong with the copy.

    Raises:
        Locked: a job, or another command, has the directory: a copy of files that change would fit nothing.
        SettingsError: the target is there already, or within the directory.
        ClientscopeError: nothing is there to copy, or it can't be written.
    """
    target, source = target.absolute(), checkpoint_dir.absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SettingsError(f"{target} is there already", "name a directory that is new, or empty")
    if isinstance(target, Path) and isinstance(source, Path):
        within = target.resolve().is_relative_to(source.resolve())
    else:
        within = f"{target}/".startswith(f"{source}/")
    if within:
        raise SettingsError(f"{target} is within {source}", "name a directory elsewhere")
    with lock.locked(checkpoint_dir, "clientscope checkpoints backup"):
        folders = [source / query for query in PLANS if (source / query).is_dir()]
        if not folders:
            raise ClientscopeError(f"{source} has no checkpoints", "is that --checkpoint-dir the job's?")
        try:
            for folder in folders:
                trees.copy(folder, target / folder.name, lambda name: fnmatchcase(name, "v*.before-*"))
            for beside in (skipped.FILE, seen.FILE):
                if (source / beside).exists():
                    trees.copy_file(source / beside, target / beside)
        except OSError as error:
            raise ClientscopeError(
                f"the copy in {target} isn't complete: {error}", "remove it, and see what is wrong with the disk"
            ) from None
    return verify(target)
