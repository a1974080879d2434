"""Writing, copying, moving and removing of files and folders, of this machine or of a store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clientscope.stores.store_path import AnyPath, StorePath


def write_atomically(path: AnyPath, text: str) -> None:
    """Replaces a file; after a crash there is the old one or the new one, on disk."""
    if isinstance(path, StorePath):
        path.store.write(path.key, text.encode())
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.tmp")
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def below(path: AnyPath, top: AnyPath) -> str:
    """The part of a path that comes after a folder's."""
    return str(path).removeprefix(f"{top}/")


def size_bytes(folder: AnyPath) -> int:
    """What its files take; one that goes away meanwhile takes nothing."""
    if isinstance(folder, StorePath):
        return sum(entry.st_size for entry in folder.store.tree(folder.key))
    total = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def renames(folder: AnyPath) -> bool:
    """Whether a folder is moved at once: after a crash all of it is in the one place or in the other."""
    return not isinstance(folder, StorePath) or folder.store.renames


def move(folder: AnyPath, to: AnyPath) -> AnyPath:
    """Moves a folder to where none is, and returns where it is.

    Where the store has no `renames`, it is copied and then removed: a crash leaves all of it in the old place, or all in the new one and a
    part in the old one.
    """
    if isinstance(folder, Path):
        assert isinstance(to, Path)
        return folder.rename(to)
    assert isinstance(to, StorePath)
    if folder.store.renames:
        folder.store.rename(folder.key, to.key)
    else:
        copy(folder, to)
        remove(folder)
    return to


def copy(folder: AnyPath, to: AnyPath, left_out: Callable[[str], bool] = lambda name: False) -> None:
    """Copies a folder, without the folders and files of some names at its top."""
    if isinstance(folder, Path) and isinstance(to, Path):
        shutil.copytree(folder, to, ignore=lambda at, names: {name for name in names if Path(at) == folder and left_out(name)})
        return
    for path in folder.rglob("*"):
        name = below(path, folder)
        if path.is_file() and not left_out(name.partition("/")[0]):
            copy_file(path, to / name)


def copy_file(path: AnyPath, to: AnyPath) -> None:
    """Copies a file."""
    if isinstance(to, StorePath):
        to.store.write(to.key, path.read_bytes())
        return
    to.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(path, Path):
        shutil.copy2(path, to)
    else:
        to.write_bytes(path.read_bytes())


def remove(folder: AnyPath) -> None:
    """Removes a folder and all that is in it, if it is there."""
    if isinstance(folder, StorePath):
        folder.store.delete(folder.key)
    else:
        shutil.rmtree(folder, ignore_errors=True)
