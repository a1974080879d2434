"""The catalogue, against the sources of franz-go, Sarama and KafkaJS that the tests' clients are built with, and against Java's jars."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from clients.process import SOURCES, locked_go_version
from places import ROOT

from clientscope.catalog.settings import Facts, KnownSetting, Library, libraries, numbers
from clientscope.local import jars

sys.path.append(str(ROOT / "tools"))

import catalogue_java
from catalogue import Found, library
from catalogue_go import constants, franz_gos, go_module, saramas
from catalogue_others import kafkajs

pytestmark = pytest.mark.matrix


def locked(module: str) -> Path:
    """The folder of a Go module, in the version that the clients are built with."""
    if shutil.which("go") is None:
        pytest.skip("no `go` on PATH: franz-go and Sarama aren't compared")
    (folder,) = go_module(module, [locked_go_version(module)])
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
    version = json.loads((SOURCES / "node" / "package.json").read_text())["dependencies"]["kafkajs"]
    releases, documentation = kafkajs(tmp_path)
    compare("kafkajs", version, releases[version], documentation)


KINDS = {"producer", "consumer", "share-consumer", "admin"}


@pytest.mark.parametrize("configuration", ["client-2.8", "client-3.9", "client-4.4"])
def test_the_catalogue_is_that_of_the_jar(configuration: str) -> None:
    """Names, types, defaults, validators and deprecations of a release, as its ConfigDefs have them."""
    paths = jars.jars(configuration)
    release = next(found[1] for path in paths if (found := re.fullmatch(r"kafka-clients-(.+)\.jar", path.name)))
    [read] = catalogue_java.read({release: paths})
    made = Library("java", library(Found({release: catalogue_java.kinds_of(read["clients"], release)})))

    def facts(of: Library) -> dict[tuple[str, str], Facts]:
        """Words are in an order of their own: in some releases they are a set."""
        found = {place: facts for place, facts in _all(of, numbers(release)).items() if place[1] in KINDS}
        return {
            place: each._replace(allowed=each.allowed and each.allowed._replace(words=tuple(sorted(each.allowed.words))))
            for place, each in found.items()
        }

    assert facts(libraries()["java"]) == facts(made)
