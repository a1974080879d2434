"""HDFS by hdfs-native, the library by which delta-rs reads and writes tables there; without a JVM or ``libhdfs``.

A namenode's address is in the path, or a nameservice's is in ``hdfs-site.xml`` below ``HADOOP_CONF_DIR``; Kerberos tickets are those of the
process's user. pyarrow's file system for HDFS needs Hadoop's native library, which isn't in any package.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO, cast

from hdfs_native import Client, WriteOptions

from clientscope.stores.store_path import Entry


class Hdfs:
    """One cluster.

    Args:
        root: ``hdfs://`` and the namenode or nameservice.
    """

    renames = True

    def __init__(self, root: str) -> None:
        self._client = Client(root)

    def entry(self, key: str) -> Entry:
        found = self._client.get_file_info(f"/{key}")
        return Entry(key.rpartition("/")[2], found.isdir, found.length, found.modification_time / 1000)

    def entries(self, key: str) -> Iterator[Entry]:
        return self._listed(key, recursive=False)

    def tree(self, key: str) -> Iterator[Entry]:
        return (entry for entry in self._listed(key, recursive=True) if not entry.is_folder)

    def _listed(self, key: str, *, recursive: bool) -> Iterator[Entry]:
        top = f"/{key}".rstrip("/") + "/"
        with suppress(FileNotFoundError):
            for found in self._client.list_status(f"/{key}", recursive):
                yield Entry(found.path.removeprefix(top), found.isdir, found.length, found.modification_time / 1000)

    def read(self, key: str) -> bytes:
        with self._client.read(f"/{key}") as file:
            return bytes(file.read())

    def open(self, key: str) -> BinaryIO:
        return cast(BinaryIO, self._client.read(f"/{key}"))

    def write(self, key: str, content: bytes) -> None:
        parent, _, name = key.rpartition("/")
        unfinished = f"/{parent}/.{name}.{uuid.uuid4().hex}.tmp"
        self._create(unfinished, content)
        self._client.rename(unfinished, f"/{key}", overwrite=True)

    def create(self, key: str, content: bytes) -> None:
        # Whoever lists it must not see it empty: a rename that overwrites nothing creates it with its content.
        parent, _, name = key.rpartition("/")
        unfinished = f"/{parent}/.{name}.{uuid.uuid4().hex}.tmp"
        self._create(unfinished, content)
        try:
            self._client.rename(unfinished, f"/{key}")
        except FileExistsError:
            self._client.delete(unfinished)
            raise FileExistsError(key) from None

    def delete(self, key: str) -> None:
        self._client.delete(f"/{key}", recursive=True)

    def rename(self, key: str, to: str) -> None:
        self._client.rename(f"/{key}", f"/{to}")

    def _create(self, path: str, content: bytes) -> None:
        with self._client.create(path, WriteOptions(create_parent=True)) as file:
            file.write(content)
