"""Commands of ours in processes that are forked from one which has imported everything, and that differ in nothing else from new ones.

Importing what a command needs takes up to a second of CPU time, and tests run hundreds of commands. Run as a program, this imports its
arguments, reads what to do from each line, in JSON, and answers in a line.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

_ASKED_MOST = ("clientscope.gateway.server", "sinks.dashboard.server", "clientscope.commands.checkpoints.table", "streaming.job")
"""What commands need that are asked for most."""
_lock = threading.Lock()


@cache
def _server(*modules: str) -> subprocess.Popen[str]:
    """The process that commands are forked from; it has no thread of its own, and ends with the tests, which hold its stdin."""
    return subprocess.Popen([sys.executable, "-P", __file__, *modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(serving: Any, *question: object) -> Any:
    with _lock:
        print(json.dumps(question), file=serving.stdin, flush=True)
        return json.loads(serving.stdout.readline())


def clientscope(*words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that ends by itself, with these variables besides the tests' own.

    Raises:
        subprocess.TimeoutExpired: it has not ended within `LIMIT_S`; it is killed.
    """
    from patience import LIMIT_S  # which the program doesn't have

    status, stdout, stderr = _ask(_server(*_ASKED_MOST), "run", words, stdin, {**os.environ, **environment}, LIMIT_S)
    if status is None:
        raise subprocess.TimeoutExpired(words, LIMIT_S, stdout, stderr)
    return subprocess.CompletedProcess(words, status, stdout, stderr)


def printed(*words: str, **environment: str) -> str:
    """What a command prints that ends well."""
    ended = clientscope(*words, **environment)
    assert ended.returncode == 0, (ended.returncode, ended.stdout, ended.stderr)
    return ended.stdout


def refused(*words: str, status: int = 2, **environment: str) -> str:
    """What a command says that ends with an error."""
    ended = clientscope(*words, **environment)
    assert ended.returncode == status and "Traceback" not in ended.stderr, (ended.returncode, ended.stdout, ended.stderr)
    return ended.stderr


class Gateway:
    """A gateway's process, with as much of `subprocess.Popen` as `Fleet` uses."""

    def __init__(self, words: Sequence[str], log: Path) -> None:
        log.write_bytes(b"")
        self._server = _server("clientscope.gateway.server")
        self.pid: int = _ask(self._server, "start", words, dict(os.environ), str(log))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = _ask(self._server, "poll", self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = time.monotonic() + (timeout or float("inf"))
        while (status := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("gateway", timeout or 0)
            time.sleep(0.02)
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _become(words: list[str], environment: Mapping[str, str], streams: list[Path]) -> None:
    """The command, in the process that was just forked; doesn't return."""
    from clientscope.cli import main

    os.setsid()
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG, as `spawn` has it
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), number)
    sys.stdin = os.fdopen(0)  # the program's own has read ahead
    status = 1
    try:
        status = main(words)
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _run(words: list[str], stdin: str, environment: dict[str, str], limit_s: float) -> tuple[int | None, str, str]:
    with tempfile.TemporaryDirectory() as name:
        streams = [Path(name) / stream for stream in ("stdin", "stdout", "stderr")]
        streams[0].write_text(stdin)
        pid = os.fork()
        if pid == 0:
            _become(words, environment, streams)
        handle = os.pidfd_open(pid)
        ended, _, _ = select.select([handle], [], [], limit_s)
        os.close(handle)
        if not ended:
            os.killpg(pid, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status if ended else None, streams[1].read_text(), streams[2].read_text()


def _start(words: list[str], environment: dict[str, str], log: str) -> int:
    pid = os.fork()
    if pid == 0:
        _become(words, environment, [Path(os.devnull), Path(log), Path(log)])
    return pid


def _poll(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


if __name__ == "__main__":
    for module in sys.argv[1:]:
        importlib.import_module(module)
    answers: dict[str, Callable[..., object]] = {"run": _run, "start": _start, "poll": _poll}
    for line in sys.stdin:
        question, *arguments = json.loads(line)
        print(json.dumps(answers[question](*arguments)), flush=True)
