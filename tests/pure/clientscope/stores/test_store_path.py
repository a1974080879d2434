"""Paths in a store: what `pathlib.Path` answers of the same files, and addresses that are refused."""

from __future__ import annotations

import io
import os
import urllib.request
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from clientscope.stores import trees
from clientscope.stores.store_path import AnyPath, StorePath, any_path


def filled(top: AnyPath) -> AnyPath:
    for name in ("a/offsets/0", "a/offsets/10", "a/.0.crc", "b"):
        path = top / name
        if isinstance(path, StorePath):
            path.store.write(path.key, name.encode())
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(name.encode())
    return top


def seen(top: AnyPath) -> dict[str, object]:
    """What a folder's reader asks."""
    names = ("a", "a/offsets", "a/offsets/0", "a/off", "a/offsets/1", "b", "none")
    return {
        "exists": [name for name in names if (top / name).exists()],
        "is_dir": [name for name in names if (top / name).is_dir()],
        "is_file": [name for name in names if (top / name).is_file()],
        "in a": sorted(path.name for path in (top / "a").iterdir()),
        "in offsets": sorted(path.name for path in (top / "a" / "offsets").iterdir()),
        "checksums": [path.name for path in top.rglob(".*.crc")],
        "content": (top / "a/offsets/10").read_bytes(),
        "text": (top / "b").read_text("utf-8"),
        "size": (top / "a/offsets/10").stat().st_size,
        "beside": (top / "a").with_name("c").name,
        "parent": (top / "a/offsets").parent.name,
        "files": sorted(trees.below(path, top) for path in top.rglob("*") if path.is_file()),
    }


def test_it_answers_what_a_folder_of_this_machine_does(tmp_path: Path, address: str) -> None:
    assert seen(filled(any_path(f"{address}/of/it"))) == seen(filled(tmp_path))


def test_what_is_missing_raises_as_a_file_does(address: str) -> None:
    path = any_path(f"{address}/none/at/all")
    for call in (path.read_bytes, path.stat, path.unlink, path.open):
        with pytest.raises(FileNotFoundError):
            call()
    path.unlink(missing_ok=True)


def test_an_error_of_the_store_is_one_line_without_keys(address: str) -> None:
    with pytest.raises(OSError) as error:
        any_path("s3a://another-bucket/x").iterdir().__next__()
    assert "\n" not in str(error.value) and "canary" not in str(error.value)


def test_a_file_of_rows_is_read_in_parts(address: str) -> None:
    path = any_path(f"{address}/rows.parquet")
    assert isinstance(path, StorePath)
    content = io.BytesIO()
    parquet.write_table(pa.table({"number": range(100_000)}), content)
    path.store.write(path.key, content.getvalue())
    with parquet.ParquetFile(path.open(), buffer_size=4096, pre_buffer=False) as file:
        read = [number for batch in file.iter_batches(512) for number in batch["number"].to_pylist()]
    assert read == list(range(100_000))
    with path.open() as file:
        assert (file.seek(-4, io.SEEK_END), file.read()) == (len(content.getvalue()) - 4, b"PAR1")
        assert file.read(10) == b""


def test_marks_that_hadoop_leaves_for_folders_are_no_files(address: str) -> None:
    top = filled(any_path(f"{address}/marked"))
    url = f"{os.environ['AWS_ENDPOINT_URL']}/{address.rpartition('/')[2]}/marked"
    for key in ("", "a/", "a/offsets/", "gone/", "gone/offsets/"):
        urllib.request.urlopen(urllib.request.Request(f"{url}/{key}", data=b"", method="PUT"), timeout=30).close()
    assert seen(top) == seen(filled(any_path(f"{address}/unmarked")))
    assert not (top / "gone").exists() and not (top / "gone" / "offsets").is_dir()
    trees.remove(top / "a")
    assert not (top / "a" / "offsets").exists()
    assert sorted(trees.below(path, top) for path in top.rglob("*")) == ["b"]


@pytest.mark.parametrize(
    "given",
    [
        "ftp://host/x",
        "s3a:///x",
        "s3a:/bucket/x",
        "file:/x",
        "s3a://key:secret@bucket/x",
        "hdfs://user:password@host/x",
        "s3a://bucket/x?secret=1",
        "s3a://bucket/#x",
    ],
)
def test_other_addresses_are_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"scheme of a store|expected an address"):
        any_path(given)


def test_an_address_stays_as_it_was_given() -> None:
    for given in ("s3a://bucket/a/b", "hdfs://127.0.0.1:8020/a", "abfss://files@account.dfs.core.windows.net/a"):
        assert str(any_path(given)) == given
    assert any_path("a/b") == Path("a/b")
    assert str(any_path("s3://bucket/a/") / "b") == "s3://bucket/a/b"
