"""Commands of ours in processes that are forked from one which has imported everything, and that differ in nothing else from new ones.

For tests that run commands dozens of times: importing Spark's Python, Arrow and pandas takes each more than a second of CPU time. Run as
a program, this reads a command's arguments from each line, in JSON, and answers in a line with its exit status, stdout and stderr.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patience import LIMIT_S


class Forked:
    """The process that commands are forked from; it has no thread of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs ``clientscope`` with these arguments, for a command that ends by itself.

        Raises:
            subprocess.TimeoutExpired: it has not ended within `LIMIT_S`; it is killed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(arguments), file=self._process.stdin, flush=True)
        status, stdout, stderr = json.loads(self._process.stdout.readline())
        if status is None:
            raise subprocess.TimeoutExpired(arguments, LIMIT_S, stdout, stderr)
        return subprocess.CompletedProcess(arguments, status, stdout, stderr)


@contextmanager
def forked() -> Iterator[Forked]:
    """Such a process, for as long as the context lasts."""
    with subprocess.Popen([sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Forked(process)


def _become(arguments: list[str], stdout: Path, stderr: Path) -> None:
    """The command, in the process that was just forked; doesn't return."""
    from clientscope.cli import main

    os.setsid()
    for number, path in enumerate((Path(os.devnull), stdout, stderr)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
    status = 1
    try:
        status = main(arguments)
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _serve() -> None:
    for line in sys.stdin:
        with tempfile.TemporaryDirectory() as name:
            stdout, stderr = Path(name) / "stdout", Path(name) / "stderr"
            pid = os.fork()
            if pid == 0:
                _become(json.loads(line), stdout, stderr)
            handle = os.pidfd_open(pid)
            ended, _, _ = select.select([handle], [], [], LIMIT_S)
            os.close(handle)
            if not ended:
                os.killpg(pid, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            print(json.dumps([status if ended else None, stdout.read_text(), stderr.read_text()]), flush=True)


if __name__ == "__main__":
    for module in ("clientscope.gateway.server", "sinks.dashboard.server", "clientscope.commands.checkpoints.table", "streaming.job"):
        importlib.import_module(module)  # what commands need that are asked for most
    _serve()
