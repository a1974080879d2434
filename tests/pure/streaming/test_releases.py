"""Releases of Spark: which one a version is, and what is not supported."""

from __future__ import annotations

import pytest

from clientscope.errors import EnvironmentProblem
from clientscope.local import jars
from streaming.releases import MINORS, RELEASES, release, untested


@pytest.mark.parametrize(
    ("version", "minor", "tested"),
    [
        ("3.5.0", "3.5", True),
        ("3.5.6+amzn.1", "3.5", True),
        ("4.0.2", "4.0", True),
        ("4.1.0.dev4", "4.1", True),
        ("4.2.0", "4.2", True),
        ("4.3.0", "4.2", False),
        ("5.0.0", "4.2", False),
    ],
)
def test_a_version_is_one_of_a_known_release(version: str, minor: str, tested: bool) -> None:
    assert release(version).minor == minor
    assert (untested(version) == "") == tested
    assert tested or version in untested(version)


@pytest.mark.parametrize("version", ["3.4.4", "2.4.8", "unknown"])
def test_an_older_spark_is_refused(version: str) -> None:
    with pytest.raises(EnvironmentProblem, match=f"Spark {version} is too old") as error:
        release(version)
    assert error.value.hint == "the job needs Spark 3.5 or newer"


def test_a_release_by_its_name() -> None:
    assert [release(minor) for minor in MINORS] == list(RELEASES)


def test_each_release_has_its_jars() -> None:
    assert {each.jars for each in RELEASES} == {each for each in jars.configurations() if each.startswith("spark")}
