"""What shares what it starts runs in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from groups import JOURNEY, group_of
from places import ROOT


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/real/test_path.py::test_a[x@y]", "journey"),
        ("tests/real/test_tls.py::test_a", "tests/real/test_tls.py"),
        ("tests/pure/project/test_path.py::test_a", "tests/pure/project/test_path.py"),
        ("tests/spark/test_session.py::test_a", "spark"),
    ],
)
def test_group_is_a_file_or_the_journey_or_spark(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group


def test_group_has_one_process(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "quarantine.txt").write_text("")
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests' / 'pure'}\naddopts = -p no:cacheprovider\n")
    for name in (*JOURNEY, "test_tls"):
        source = "import os, pathlib\nimport pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_n(n):\n"
        source += "    pathlib.Path(__file__ + '.' + os.environ['PYTEST_XDIST_WORKER']).touch()\n"
        (tmp_path / "real" / f"{name}.py").write_text(source)
    command = [sys.executable, "-P", "-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
    ended = subprocess.run(command, cwd=tmp_path, env={"PATH": os.environ["PATH"]}, check=False, capture_output=True, text=True)
    assert f"{4 * (len(JOURNEY) + 1)} passed" in ended.stdout, ended.stdout
    workers = {name: [path.suffix for path in (tmp_path / "real").glob(f"{name}.py.*")] for name in (*JOURNEY, "test_tls")}
    assert workers["test_tls"] != workers["test_path"], workers
    assert [workers[name] for name in JOURNEY] == [workers["test_path"]] * len(JOURNEY) and len(workers["test_path"]) == 1, workers
