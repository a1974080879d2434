"""Files of the page: complete, with the right types, small, and none from another server."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zipfile
from pathlib import Path

import pytest
from programs import built_wheel

from clientscope.errors import EnvironmentProblem
from sinks.dashboard.http import files

STATIC = files.STATIC
MOST_COMPRESSED = 150 * 1024
ASSETS = files.load()
VENDORED = json.loads((STATIC / "vendor" / "manifest.json").read_text())


def test_everything_that_lies_there_is_served_or_is_about_what_is_vendored() -> None:
    there = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    licences = {f"vendor/{each['licence_file']}" for each in VENDORED}
    types = {f"vendor/{name}.d.ts" for name in ("preact", "hooks", "htm")}  # for tsc, beside what they describe
    assert there == set(ASSETS) | licences | types | {"vendor/manifest.json"}


def test_what_is_vendored_is_what_its_package_has() -> None:
    assert {f"vendor/{each['file']}" for each in VENDORED} == {name for name in ASSETS if name.startswith("vendor/")}
    for each in VENDORED:
        content = (STATIC / "vendor" / each["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == each["sha256"], each["file"]
        for theirs, ours in each.get("replaced", {}).items():
            assert content.count(ours.encode()) == 1, each["file"]
            content = content.replace(ours.encode(), theirs.encode())
        assert hashlib.sha256(content).hexdigest() == each.get("sha256_in_package", each["sha256"]), each["file"]
        assert each["licence"] in ("MIT", "Apache-2.0")


def test_a_browser_has_little_to_fetch() -> None:
    sizes = {name: len(gzip.compress(asset.content, 9)) for name, asset in files.load().items()}
    assert sum(sizes.values()) <= MOST_COMPRESSED, sizes


def test_nothing_of_ours_needs_what_the_policy_forbids() -> None:
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|dangerouslySetInnerHTML| style=\"|javascript:"
        r"""|(?:src|href|url\(|fetch\()\W{0,2}["'(]?(?:https?:)?//"""
        r"""|["'`](?:/api|/static)/"""  # absolute addresses break behind a path prefix
    )
    texts = {name: (STATIC / name).read_text() for name in ASSETS if not name.startswith("vendor/")}
    assert {name: found for name, text in texts.items() if (found := forbidden.findall(text))} == {}
    assert len(texts) > 30


def test_a_wheel_has_every_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(built_wheel(tmp_path)) as wheel:
        assert {f"sinks/dashboard/static/{name}" for name in ASSETS} <= {*wheel.namelist()}


def test_a_missing_page_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"index\.html is missing"):
        files.load(tmp_path)
