"""Object store (S3 and what speaks its protocol, Google Cloud Storage, Azure) by obstore, which takes the settings that delta-rs takes.

Both are the same Rust library below, so tables and checkpoints need one set of variables: ``AWS_…``, ``GOOGLE_…``, ``AZURE_…``, or the role
of the machine. An object is written whole or not at all, and a bucket tells at once what was written. pyarrow's file system for S3 has no
write that fails if the object is there, which `clientscope.stores.lease` needs.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

from clientscope.stores.store_path import Entry

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class ObjectStore:
    """One bucket. Folders are the parts of keys before a slash; there is no rename.

    Hadoop's client of S3 leaves an empty object for each folder that it makes, under a key that ends with a slash, which is listed here
    without it. So an empty object is no file, and no file that is written may be empty.

    Args:
        root: scheme and bucket.
    """

    renames = False

    def __init__(self, root: str) -> None:
        # As delta-rs has it, HTTP without TLS is for those who ask for it: an endpoint on the same machine, say.
        allowed = os.environ.get("AWS_ALLOW_HTTP", "").lower() in ("true", "1")
        with _said(root):
            self._store = from_url(root, client_options={"allow_http": allowed})

    def entry(self, key: str) -> Entry:
        name = key.rpartition("/")[2]
        with _said(key):
            try:
                found = obstore.head(self._store, key)
            except FileNotFoundError:
                for _ in self.tree(key):
                    return Entry(name, True)
                raise
        return Entry(name, False, found["size"], found["last_modified"].timestamp())

    def entries(self, key: str) -> Iterator[Entry]:
        with _said(key):
            found = obstore.list_with_delimiter(self._store, key)
        for folder in found["common_prefixes"]:
            yield Entry(folder.rstrip("/").rpartition("/")[2], True)
        for each in found["objects"]:
            if each["size"]:
                yield Entry(each["path"].rpartition("/")[2], False, each["size"], each["last_modified"].timestamp())

    def tree(self, key: str) -> Iterator[Entry]:
        with _said(key):
            for batch in obstore.list(self._store, key):
                for each in (one for one in batch if one["size"]):
                    yield Entry(each["path"].removeprefix(f"{key}/"), False, each["size"], each["last_modified"].timestamp())

    def read(self, key: str) -> bytes:
        with _said(key):
            return bytes(obstore.get(self._store, key).bytes())

    def open(self, key: str) -> BinaryIO:
        return cast(BinaryIO, _ObjectFile(self._store, key, self.entry(key).st_size))

    def write(self, key: str, content: bytes) -> None:
        assert content
        with _said(key):
            obstore.put(self._store, key, content)

    def create(self, key: str, content: bytes) -> None:
        with _said(key):
            try:
                obstore.put(self._store, key, content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                raise FileExistsError(key) from None

    def delete(self, key: str) -> None:
        with _said(key):
            obstore.delete(self._store, [f"{key}/{each.name}" for each in self.tree(key)])
            obstore.delete(self._store, key)  # a file

    def rename(self, key: str, to: str) -> None:
        raise NotImplementedError


class _ObjectFile(io.RawIOBase):
    """An object, read part by part; obstore's own reader is no file to pyarrow, for want of ``closed``."""

    def __init__(self, store: obstore.store.ObjectStore, key: str, size: int) -> None:
        self._store, self._key, self._size, self._at = store, key, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence])
        return self._at

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer)
        end = min(self._size, self._at + len(target))
        if end <= self._at:
            return 0
        with _said(self._key):
            part = bytes(obstore.get_range(self._store, self._key, start=self._at, end=end))
        target[: len(part)] = part
        self._at += len(part)
        return len(part)


@contextmanager
def _said(what: str) -> Iterator[None]:
    """A library's error as an OSError, with its first line: the others quote requests."""
    try:
        yield
    except (BaseError, PermissionError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise OSError(0, lines[0][:300], what) from None
