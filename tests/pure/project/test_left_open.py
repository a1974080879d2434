"""A test that leaves a file or a database open fails, and no other one, on every version of Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from places import ROOT

CONFTEST = ROOT / "tests" / "conftest.py"
TESTS = '''
import sqlite3
import pytest

class Ring:
    """Only the garbage collector ends it."""

    def __init__(self, what):
        self.what, self.me = what, self

@pytest.fixture
def database():
    return sqlite3.connect(":memory:")

def test_database_left():
    Ring(sqlite3.connect(":memory:"))

def test_after_it():
    pass

def test_file_left():
    Ring(open("/dev/null"))

def test_after_that():
    pass

def test_fixture_left(database):
    pass

def test_closed():
    sqlite3.connect(":memory:").close()
    open("/dev/null").close()
'''


def test_who_leaves_something_open_fails_and_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
        "-q",
        "-rE",
        "--tb=no",
        str(tmp_path),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{CONFTEST.parent}:{CONFTEST.parent / 'pure'}",
        "PYTEST_XDIST_WORKER": "",
        "PYTEST_ADDOPTS": "",
    }
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, cwd=tmp_path, env=environment)
    failed = [line.split("::")[1].split(" ")[0] for line in ended.stdout.splitlines() if line.startswith("ERROR")]
    assert failed == ["test_database_left", "test_file_left", "test_fixture_left"], ended.stdout + ended.stderr
    assert "6 passed, 3 errors" in ended.stdout
