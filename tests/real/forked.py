"""Commands of ours in processes that are forked from one which has imported everything, and that differ in nothing else from new ones.

Importing what a command needs takes up to a second of CPU time, and tests run hundreds of commands. Run as a program, this reads what to
run from each line, in JSON, and answers in a line with its exit status, stdout and stderr.
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
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_lock = threading.Lock()


@cache
def _server() -> subprocess.Popen[str]:
    """The process that commands are forked from; it has no thread of its own, and ends with the tests, which hold its stdin."""
    return subprocess.Popen([sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def clientscope(*words: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that ends by itself, with these variables besides the tests' own.

    Raises:
        subprocess.TimeoutExpired: it has not ended within `LIMIT_S`; it is killed.
    """
    from patience import LIMIT_S  # which the program doesn't have

    with _lock:
        serving = _server()
        assert serving.stdin is not None and serving.stdout is not None
        print(json.dumps([words, stdin, {**os.environ, **environment}, LIMIT_S]), file=serving.stdin, flush=True)
        status, stdout, stderr = json.loads(serving.stdout.readline())
    if status is None:
        raise subprocess.TimeoutExpired(words, LIMIT_S, stdout, stderr)
    return subprocess.CompletedProcess(words, status, stdout, stderr)


def printed(*words: str, **environment: str) -> str:
    """What a command prints that ends well."""
    ended = clientscope(*words, **environment)
    assert ended.returncode == 0, (ended.returncode, ended.stdout, ended.stderr)
    return ended.stdout


def _become(words: list[str], environment: Mapping[str, str], streams: list[Path]) -> None:
    """The command, in the process that was just forked; doesn't return."""
    from clientscope.cli import main

    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), number)
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


def _serve() -> None:
    for line in sys.stdin:
        words, stdin, environment, limit_s = json.loads(line)
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
            print(json.dumps([status if ended else None, *(stream.read_text() for stream in streams[1:])]), flush=True)


if __name__ == "__main__":
    for module in ("clientscope.gateway.server", "sinks.dashboard.server", "clientscope.commands.checkpoints.table", "streaming.job"):
        importlib.import_module(module)  # what commands need that are asked for most
    _serve()
