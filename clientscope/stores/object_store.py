"""Object store (S3 and what speaks its protocol, Google Cloud Storage, Azure) by obstore, which takes the settings that delta-rs takes.

Both are the same Rust library below, so tables and checkpoints need one set of variables: ``AWS_…``, ``GOOGLE_…``, ``AZURE_…``, or the role
of the machine. An object is written whole or not at all, and a bucket tells at once what was written. pyarrow's file system for S3 has no
write that fails if the object is there, which `clientscope.stores.lease` needs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

from clientscope.stores.store_path import Entry


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
        with _said(key):
            return cast(BinaryIO, obstore.open_reader(self._store, key))

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


@contextmanager
def _said(what: str) -> Iterator[None]:
    """A library's error as an OSError, with its first line: the others quote requests."""
    try:
        yield
    except (BaseError, PermissionError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise OSError(0, lines[0][:300], what) from None
