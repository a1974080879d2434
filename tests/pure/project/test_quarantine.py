"""The quarantine: what it may hold, and that what it holds runs and doesn't count."""

from __future__ import annotations

import datetime
import os
import re
from pathlib import Path

import pytest
from programs import like_our_tests, python
from quarantine import ROOT, problems, quarantined

HERE = "tests/pure/project/test_quarantine.py"
OF_HERE = f"{HERE}::test_list_is_short_and_new"
TODAY = datetime.date(2026, 11, 28)


def test_list_is_short_and_new() -> None:
    assert problems(quarantined((ROOT / "tests" / "quarantine.txt").read_text()), datetime.datetime.now(datetime.UTC).date()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"# test\n\n{OF_HERE} 2026-11-14 a port is taken", []),
        (f"{OF_HERE} 2026-11-13 a port is taken", [f"{OF_HERE}: since 2026-11-13, at most 14 days"]),
        (f"{OF_HERE} 2026-11-28 a port is taken\n" * 6, ["6 tests, at most 5"]),
        (f"{HERE}::test_gone 2026-11-28 x y", [f"{HERE}::test_gone: no such test"]),
        ("tests/pure/gone.py::test_gone[1] 2026-11-28 x", ["tests/pure/gone.py::test_gone[1]: no such test"]),
        (
            "tests/spark/test_session.py::test_x 2026-11-28 x",
            ["tests/spark/test_session.py::test_x: no such test", "tests/spark/test_session.py::test_x: such tests are never quarantined"],
        ),
    ],
    ids=["good", "old", "many", "no such function", "no such file", "never"],
)
def test_what_is_wrong_is_said(text: str, found: list[str]) -> None:
    assert problems(quarantined(text), TODAY) == found


@pytest.mark.parametrize("text", [OF_HERE, f"{OF_HERE} 2026-11-28", f"{OF_HERE} yesterday x"])
def test_line_needs_its_date_and_cause(text: str) -> None:
    with pytest.raises(ValueError, match=r"unpack|isoformat"):
        quarantined(text)


FLAKY = """
import pytest
@pytest.fixture
def breaks(): assert 0
def test_a(): assert 0
def test_b(breaks): pass
def test_c(): pass
def test_d(): pass
"""


def test_quarantined_tests_run_are_reported_and_dont_count(tmp_path: Path) -> None:
    like_our_tests(tmp_path, "".join(f"test_flaky.py::test_{name} 2026-11-28 busy {name}\n" for name in "abc"))
    (tmp_path / "test_flaky.py").write_text(FLAKY)
    ended = python("-P", "-m", "pytest", "-n", "2", cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    for name, outcome in {"a": "XFAIL", "b": "XFAIL", "c": "XPASS"}.items():
        assert re.search(rf"^{outcome} .*test_{name} .*quarantined since 2026-11-28: busy {name}$", ended.stdout, re.MULTILINE), (
            ended.stdout
        )
    assert "1 passed, 2 xfailed, 1 xpassed" in ended.stdout
