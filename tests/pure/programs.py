"""Other programs, run to their end or for a while."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patience import LIMIT_S, eventually
from places import ROOT

from clientscope.local.process import spawn, stop

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


def on_terminal(*command: str | Path, asks: bytes = b"", typed: bytes = b"") -> bytes:
    """What a program shows on a terminal until it has ended well; ``typed`` is typed once it ``asks``."""
    shown = b""
    ours, terminal = pty.openpty()
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env={**os.environ, "TERM": "xterm"}) as child:
        os.close(terminal)
        try:
            while part := os.read(ours, 65_536):
                shown += part
                if typed and asks in shown:
                    os.write(ours, typed)
                    typed = b""
        except OSError:  # how Linux says that the other side is closed
            pass
        finally:
            os.close(ours)
        assert child.wait(LIMIT_S) == 0
    return shown


def built_wheel(folder: Path, project: Path = ROOT) -> Path:
    """The wheel of a project, by the build that its pyproject.toml names."""
    python("-c", _BUILD, folder, cwd=project)
    return next(folder.glob("*.whl"))


@contextmanager
def running(
    log: Path, *command: str | Path, ready: Callable[[], object], environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A program until left, once it is ``ready``; it writes to ``log``.

    Args:
        environment: variables beside the tests' own.
    """
    with log.open("wb") as file:
        child = spawn([*map(str, command)], file, {**os.environ, **(environment or {})})
    try:
        assert eventually(lambda: ready() or child.poll() is not None) and child.poll() is None, log.read_text(errors="replace")
        yield child
    finally:
        stop(child)


def says(log: Path, sign: str) -> Callable[[], bool]:
    """Whether a log has this by now."""
    return lambda: sign in log.read_text(errors="replace")


def like_our_tests(folder: Path, quarantine: str = "") -> None:
    """Has pytest take what is in a folder as it takes our tests."""
    for name in ("conftest.py", "longest.txt"):
        (folder / name).write_text((ROOT / "tests" / name).read_text())
    (folder / "quarantine.txt").write_text(quarantine)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests' / 'pure'}\naddopts = -p no:cacheprovider -ra\n")
