"""The catalogue of franz-go, Sarama and KafkaJS, against the sources that the tests' clients are built with."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clientscope.catalog.settings import Facts, KnownSetting, Library, libraries, numbers

sys.path.append(str(Path(__file__).parents[2] / "tools"))

from catalogue import Found, library
from catalogue_go import constants, franz_gos, go_module, saramas
from catalogue_others import kafkajs

pytestmark = pytest.mark.matrix

FIXTURES = Path(__file__).parents[1] / "fixtures"


def locked(module: str) -> Path:
    """The folder of a Go module, in the version that the clients are built with."""
    if shutil.which("go") is None:
        pytest.skip("no `go` on PATH: franz-go and Sarama aren't compared")
    lines = (FIXTURES / "clients" / "go" / "go.mod").read_text().split("\n")
    (version,) = (words[1] for words in map(str.split, lines) if words[:1] == [module])
    (folder,) = go_module(module, [version])
    return folder


def compare(name: str, release: str, kinds: Mapping[str, Any], documentation: Mapping[str, str]) -> None:
    """What was just read is what the catalogue has of this release."""
    read = Library(name, library(Found({release: kinds}, documentation)))
    mine = libraries()[name]
    assert _all(mine, numbers(release)) == _all(read, numbers(release))
    if numbers(release) == mine.releases[-1]:
        newest = {each for each, _ in _all(read, numbers(release))}
        assert {each: _of(mine, each).documentation for each in newest} == {each: _of(read, each).documentation for each in newest}


def _all(of: Library, release: tuple[int, ...]) -> dict[tuple[str, str], Facts]:
    settings = [_of(of, name) for name in sorted(of.names)]
    return {(each.name, kind): facts for each in settings for kind in each.kinds if (facts := each.now(kind, release))}


def _of(of: Library, name: str) -> KnownSetting:
    setting = of.setting(name)
    assert setting is not None
    return setting


def test_franz_go() -> None:
    folder = locked("github.com/twmb/franz-go")
    compare("franz-go", folder.name.rpartition("@v")[2], *franz_gos((folder / "pkg/kgo/config.go").read_text()))


def test_sarama() -> None:
    folder = locked("github.com/IBM/sarama")
    compare("sarama", folder.name.rpartition("@v")[2], *saramas((folder / "config.go").read_text(), constants(folder)))


def test_kafkajs(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("no `npm` on PATH: KafkaJS isn't compared")
    version = json.loads((FIXTURES / "clients" / "node" / "package.json").read_text())["dependencies"]["kafkajs"]
    releases, documentation = kafkajs(tmp_path)
    compare("kafkajs", version, releases[version], documentation)
