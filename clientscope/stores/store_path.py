"""Path in a store that is no file system of this machine, with the part of `pathlib.Path` that checkpoints and history need.

So the code that reads and writes them takes either kind. Credentials come from where each store's own tools look for them (environment,
role of the machine, ``core-site.xml``); an address holds none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, TypeAlias

SCHEMES = ("s3", "s3a", "gs", "abfs", "abfss", "hdfs")
_VARIABLES = ("AWS_", "GOOGLE_", "AZURE_", "HADOOP_", "KRB5")
_LIKE_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_EXPECTED = "expected an address like s3a://BUCKET/FOLDER or hdfs://NAMENODE:PORT/FOLDER, without credentials"
_ADDRESS = re.compile(r"(?P<root>(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/]*))(?P<key>/.*)?")


class Entry(NamedTuple):
    """A file of a store, or a folder.

    Attributes:
        name: the last part of its key, or within a tree all below the tree's top.
        st_mtime: seconds since the epoch, by the store's clock; 0 for a folder.
    """

    name: str
    is_folder: bool
    st_size: int = 0
    st_mtime: float = 0.0


class Store(Protocol):
    """What each kind of store does. Keys have no slash at either end.

    All raise FileNotFoundError for a key that isn't there, and OSError, without credentials in its text, where the store can't be asked.
    From any thread.

    Attributes:
        renames: whether `rename` moves a folder at once.
    """

    renames: bool

    def entry(self, key: str) -> Entry:
        """What is there, by its last name."""

    def entries(self, key: str) -> Iterator[Entry]:
        """What is in a folder; nothing where there is no such folder."""

    def tree(self, key: str) -> Iterator[Entry]:
        """All files below a folder, by their keys below it; nothing where there is no such folder."""

    def read(self, key: str) -> bytes:
        """A file's content."""

    def open(self, key: str) -> BinaryIO:
        """A file, to read parts of it."""

    def write(self, key: str, content: bytes) -> None:
        """Replaces a file: whoever reads it sees the old one or the new one."""

    def create(self, key: str, content: bytes) -> None:
        """Writes a file that isn't there yet; of several that do so at once, one succeeds.

        Raises:
            FileExistsError: it is there.
        """

    def delete(self, key: str) -> None:
        """Deletes a file, or a folder with all that is in it; does nothing where there is none."""

    def rename(self, key: str, to: str) -> None:
        """Moves a file or folder to where nothing is, if `renames`."""


@dataclass(frozen=True, order=True)
class StorePath:
    """A place in a store. Methods do what those of `pathlib.Path` do; folders exist by what is in them.

    Attributes:
        root: scheme and authority, as they were given: Spark and Delta get the same address.
        key: what comes after, without slashes at its ends.
    """

    root: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.root}/{self.key}"

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(self.root, f"{self.key}/{name}".strip("/"))

    @property
    def store(self) -> Store:
        """Where it is."""
        return _store(self.root)

    @property
    def name(self) -> str:
        """Its last part."""
        return self.key.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """Its last part without its suffix."""
        return Path(self.name).stem

    @property
    def parent(self) -> StorePath:
        """The folder that it is in."""
        return StorePath(self.root, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> StorePath:
        """Another name beside it."""
        return self.parent / name

    def absolute(self) -> StorePath:
        """Itself."""
        return self

    def exists(self) -> bool:
        """Whether a file or folder is there."""
        try:
            self.store.entry(self.key)
        except FileNotFoundError:
            return False
        return True

    def is_dir(self) -> bool:
        """Whether a folder is there."""
        try:
            return self.store.entry(self.key).is_folder
        except FileNotFoundError:
            return False

    def is_file(self) -> bool:
        """Whether a file is there."""
        try:
            return not self.store.entry(self.key).is_folder
        except FileNotFoundError:
            return False

    def stat(self) -> Entry:
        """Size and time."""
        return self.store.entry(self.key)

    def iterdir(self) -> Iterator[StorePath]:
        """What is in the folder."""
        return (self / entry.name for entry in self.store.entries(self.key))

    def rglob(self, pattern: str) -> Iterator[StorePath]:
        """Files below it whose last part is like this."""
        return (self / entry.name for entry in self.store.tree(self.key) if fnmatchcase(entry.name.rpartition("/")[2], pattern))

    def read_bytes(self) -> bytes:
        """The file's content."""
        return self.store.read(self.key)

    def read_text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The file's content."""
        return self.read_bytes().decode(encoding, errors)

    def open(self, mode: str = "rb") -> BinaryIO:
        """The file, to read parts of it."""
        assert mode == "rb"
        return self.store.open(self.key)

    def mkdir(self, *, parents: bool, exist_ok: bool) -> None:
        """Does nothing: a folder comes with its first file."""

    def unlink(self, missing_ok: bool = False) -> None:
        """Deletes the file."""
        if not missing_ok:
            self.store.entry(self.key)
        self.store.delete(self.key)


AnyPath: TypeAlias = Path | StorePath
"""A folder or file of checkpoints or history, wherever it is."""


def any_path(given: str | AnyPath) -> AnyPath:
    """A path, or an address with one of `SCHEMES`.

    Raises:
        ValueError: an address of another form or kind.
    """
    if not isinstance(given, str):
        return given
    found = _ADDRESS.fullmatch(given)
    if found is None:
        if _LIKE_ADDRESS.match(given):
            raise ValueError(_EXPECTED)
        return Path(given)
    if found["scheme"] not in SCHEMES:
        raise ValueError(f"{found['scheme']}: is no scheme of a store; known are {', '.join(SCHEMES)}")
    if not found["authority"] or "?" in given or "#" in given or ":" in found["authority"].rpartition("@")[0]:
        raise ValueError(_EXPECTED)
    return StorePath(found["root"], (found["key"] or "").strip("/"))


def environment(path: AnyPath) -> dict[str, str]:
    """The variables of this process's environment that the libraries of a store read, for a process that gets no others."""
    if isinstance(path, Path):
        return {}
    return {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith(_VARIABLES)}


@cache
def _store(root: str) -> Store:
    if root.startswith("hdfs:"):
        from clientscope.stores.hdfs import Hdfs  # noqa: PLC0415 - a native library, for those alone who have HDFS

        return Hdfs(root)
    from clientscope.stores.object_store import ObjectStore  # noqa: PLC0415 - as above

    return ObjectStore(root)
