"""package_names: another distribution that installs one of the top-level names is named by every command, before it runs."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from programs import built_wheel, python
from refusals import refused

from clientscope import package_names
from clientscope.settings_files import MAX_BYTES, read_bytes

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "mosaicml-streaming"
version = "0.13.0"
[tool.hatch.build.targets.wheel]
packages = ["{package}"]
"""


def installed(folder: Path, package: str) -> Path:
    """A wheel of another distribution with such a package, unpacked as pip does."""
    (folder / "project" / package).mkdir(parents=True)
    (folder / "project" / package / "__init__.py").write_text("StreamingDataset = None\n")
    (folder / "project" / "pyproject.toml").write_text(PROJECT.format(package=package))
    with zipfile.ZipFile(built_wheel(folder, folder / "project")) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def run(*words: str, path: Path) -> Any:
    return python("-m", "clientscope", *words, cwd=path, env={**os.environ, "PYTHONPATH": str(path)}, status=None)


@pytest.mark.parametrize("words", [("topics",), ("stream", "--help"), ("rules",)])
def test_another_distribution_of_a_name_is_named(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = run(*words, path=installed(tmp_path, "streaming"))
    assert done.returncode == 1
    problem, hint = done.stderr.splitlines()
    assert problem == "error: the distribution mosaicml-streaming installs a package named streaming too, so clientscope can't use its own"
    assert hint.startswith("hint: install clientscope into an environment of its own: python3 -m venv ")


def test_a_folder_that_hides_a_package_is_named(tmp_path: Path) -> None:
    (tmp_path / "sinks").mkdir()
    (tmp_path / "sinks" / "__init__.py").touch()
    done = run("topics", path=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"error: the package sinks is imported from {tmp_path / 'sinks'}, not from {package_names.ROOT / 'sinks'}"
    )


def test_distributions_with_other_names_are_ignored(tmp_path: Path) -> None:
    done = run("rules", path=installed(tmp_path, "streamings"))
    assert done.returncode == 0, done.stderr


def test_this_environment_is_whole() -> None:
    package_names.check()


def test_a_file_is_read_up_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "x.properties"
    path.write_bytes(b"a" * MAX_BYTES)
    assert len(read_bytes(path)) == MAX_BYTES
    path.write_bytes(b"a" * (MAX_BYTES + 1))
    with refused("is larger than"):
        read_bytes(path)
    with refused("Is a directory"):
        read_bytes(tmp_path)
