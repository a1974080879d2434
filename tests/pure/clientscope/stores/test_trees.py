"""Folders that are copied, moved and removed, on this machine and in a bucket, and written files that are whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientscope.stores import trees
from clientscope.stores.store_path import AnyPath, any_path


@pytest.fixture(params=["machine", "bucket"])
def top(request: pytest.FixtureRequest, tmp_path: Path) -> AnyPath:
    if request.param == "machine":
        return tmp_path
    return any_path(f"{request.getfixturevalue('address')}/{tmp_path.name}")


def content(folder: AnyPath) -> dict[str, bytes]:
    return {trees.below(path, folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_copied_moved_measured_and_removed(top: AnyPath) -> None:
    for name in ("v1/offsets/0", "v1/metadata", "v1.before-1/metadata"):
        trees.write_atomically(top / "q" / name, name)
    assert trees.size_bytes(top / "q") == 43
    trees.copy(top / "q", top / "copy", lambda name: ".before-" in name)
    assert content(top / "copy") == {"v1/offsets/0": b"v1/offsets/0", "v1/metadata": b"v1/metadata"}
    assert trees.move(top / "q" / "v1", top / "q" / "v1.aside") == top / "q" / "v1.aside"
    assert not (top / "q" / "v1").exists()
    assert content(top / "q" / "v1.aside") == {"offsets/0": b"v1/offsets/0", "metadata": b"v1/metadata"}
    trees.copy_file(top / "copy" / "v1" / "metadata", top / "one")
    trees.write_atomically(top / "one", "another")
    assert (top / "one").read_text("utf-8") == "another"
    trees.remove(top / "copy")
    trees.remove(top / "copy")
    assert not (top / "copy").exists() and (top / "q").is_dir()


def test_between_this_machine_and_a_bucket(tmp_path: Path, address: str) -> None:
    store = any_path(f"{address}/there")
    trees.write_atomically(tmp_path / "a" / "b", "b")
    trees.copy(tmp_path / "a", store / "a")
    trees.copy(store / "a", tmp_path / "again")
    assert content(tmp_path / "again") == content(store / "a") == {"b": b"b"}
