"""F11 by coverage-guided fuzzing, in a process that Atheris owns (`make test-long` installs it; Linux)."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import python


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_f11_million_pushes_are_each_answered(tmp_path: Path) -> None:
    python(Path(__file__).with_name("fuzz_push_config.py"), "-runs=1000000", cwd=tmp_path, timeout=None)
