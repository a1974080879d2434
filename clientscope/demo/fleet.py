"""Processes of the demo: each is a ``clientscope`` command or a client that is started, awaited and stopped by pid."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from clientscope.errors import EnvironmentProblem
from clientscope.local.process import spawn, stop, tail

Say = Callable[[str], None]


class Fleet:
    """Child processes by name, in the order started; stopped in the reverse order."""

    def __init__(self, log_dir: Path, say: Say) -> None:
        self._log_dir = log_dir
        self._say = say
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        log_dir.mkdir(parents=True, exist_ok=True)

    def start(self, name: str, *arguments: str, module: str = "clientscope.cli") -> None:
        """Starts ``python -m module arguments…``; its output goes to ``<name>.log``."""
        with self._log(name).open("wb") as log:
            self._children[name] = spawn([sys.executable, "-m", module, *arguments], log)

    def await_ready(self, name: str, sign: str = ": ready", timeout_s: float = 90.0) -> None:
        """Waits until its log has a line with ``sign`` (not just "ready", which "Address already in use" ends with), and says that line.

        Raises:
            EnvironmentProblem: it ended, or is not ready in time; quotes its last words.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            ready = [line for line in self._log(name).read_text(errors="replace").splitlines() if sign in line]
            if ready:
                self._say(ready[0])
                return
            self.check(name)
            if time.monotonic() > deadline:
                raise EnvironmentProblem(f"{name} is not ready after {timeout_s:.0f} s", f"see {self._log(name)}")
            time.sleep(0.1)

    def check(self, *names: str) -> None:
        """Raises EnvironmentProblem if one of these, or of all, has ended by itself."""
        for name in names or self._children:
            if (status := self._children[name].poll()) is not None:
                words = [line for line in tail(self._log(name), 20).splitlines() if line.startswith("error:")] or [tail(self._log(name), 1)]
                raise EnvironmentProblem(f"{name} ended with status {status}: {words[0].removeprefix('error: ')}", f"see {self._log(name)}")

    def pid(self, name: str) -> int:
        """The process id."""
        return self._children[name].pid

    def signal(self, name: str, number: int) -> None:
        """Sends a signal, and waits for the end that it brings; `start` may then start it again under its name."""
        child = self._children.pop(name)
        child.send_signal(number)
        child.wait(30)

    def stop(self, *names: str) -> None:
        """Stops these, or all that are left, in the reverse order of their start."""
        chosen = [name for name in reversed(self._children) if not names or name in names]
        children = [self._children.pop(name) for name in chosen]
        for child in children:
            child.terminate()
        for child in children:
            stop(child, asked=True)

    def _log(self, name: str) -> Path:
        return self._log_dir / f"{name}.log"
