"""F11 by coverage-guided fuzzing, in a process that Atheris owns (`make test-long` installs it; Linux)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_f11_million_pushes_are_each_answered(tmp_path: Path) -> None:
    fuzz = [sys.executable, str(Path(__file__).with_name("fuzz_push_config.py")), "-runs=1000000"]
    ended = subprocess.run(fuzz, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
