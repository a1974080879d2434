"""Other programs, run to their end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from patience import LIMIT_S
from places import ROOT

_BUILD = "import hatchling.build, sys; hatchling.build.build_wheel(sys.argv[1])"


def ran(*command: str | Path, status: int | None = 0, **more: Any) -> Any:
    """What a program has said, in text; a test fails if it ends with another ``status``, or with none in time.

    Args:
        status: None where the caller looks at it.
        more: arguments of `subprocess.run`.
    """
    ended = subprocess.run(command, check=False, **{"capture_output": True, "text": True, "timeout": LIMIT_S, **more})
    assert status in (None, ended.returncode), (ended.returncode, ended.stdout, ended.stderr)
    return ended


def python(*words: str | Path, **more: Any) -> Any:
    """The same of this environment's Python."""
    return ran(sys.executable, *words, **more)


def built_wheel(folder: Path, project: Path = ROOT) -> Path:
    """The wheel of a project, by the build that its pyproject.toml names."""
    python("-c", _BUILD, folder, cwd=project)
    return next(folder.glob("*.whl"))
