"""Child processes that answer over a pipe: one line of JSON for each line of JSON, each with a deadline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from clientscope import core_dumps

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "TZ", "LD_LIBRARY_PATH")
_OF_STORES = ("AWS_", "GOOGLE_", "AZURE_", "HADOOP_", "KRB5")


def environment_without_secrets(**more: str) -> dict[str, str]:
    """The environment of such a process: few of this process's variables, none of which holds a secret, and ``more``."""
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**passed_on, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1", **more}


def environment_for(folder: str) -> dict[str, str]:
    """The variables of this process's environment that libraries read to reach a store; none for a folder of this machine."""
    if "://" not in folder:
        return {}
    return {name: value for name, value in os.environ.items() if name == "HOME" or name.startswith(_OF_STORES)}


class NoReply(Exception):
    """There is no answer.

    Attributes:
        cause: ``late``: the process was killed at the deadline; ``ended``: it ended without one; ``busy``: others are asking.
    """

    def __init__(self, cause: Literal["late", "ended", "busy"]) -> None:
        super().__init__(cause)
        self.cause = cause


class AnsweringProcess:
    """A process that is started with the first question, and again with the next one after it has ended.  From any thread.

    Args:
        start: starts it, with pipes as its standard input and output. It reads a line and writes a line, in turn.
        idle_s: seconds without a question after which it is ended, so that its memory is free again; None for never.

    Attributes:
        deadline_s: seconds after which it is killed while it is asked.
    """

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]], deadline_s: float, idle_s: float | None = None) -> None:
        self.deadline_s = deadline_s
        self._start, self._idle_s = start, idle_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._idle: threading.Timer | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The id of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def ask(self, question: object, wait_s: float = -1) -> Any:
        """The answer to a question, both as JSON.

        Args:
            wait_s: the longest time that it waits for those before it.

        Raises:
            NoReply: there is no answer. The process has ended by then, unless others are asking it.
        """
        line = json.dumps(question).encode() + b"\n"
        if not self._lock.acquire(timeout=wait_s):
            raise NoReply("busy")
        try:
            return self._ask(line)
        finally:
            self._lock.release()

    def close(self) -> None:
        """Ends the process for good, and with it a question that is being answered."""
        self._closed = True
        if (process := self._process) is not None:
            process.kill()
        with self._lock:
            self._end()

    def _ask(self, line: bytes) -> Any:
        if self._idle is not None:
            self._idle.cancel()
        process = self._process = self._process or self._start()
        if self._closed:  # meanwhile
            process.kill()
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()

        def kill() -> None:
            late.set()
            process.kill()

        deadline = _timer(self.deadline_s, kill)
        try:
            process.stdin.write(line)
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            self._end()
            raise NoReply("late" if late.is_set() else "ended") from None
        finally:
            deadline.cancel()
        self._idle = None if self._idle_s is None else _timer(self._idle_s, self._end_if_idle)
        return answer

    def _end_if_idle(self) -> None:
        with self._lock:
            if self._idle is threading.current_thread():  # else a question has come since
                self._end()

    def _end(self) -> None:
        """Kills the process, waits for its end, and closes its pipes."""
        if self._idle is not None:
            self._idle.cancel()
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()


def _timer(after_s: float, act: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(after_s, act)
    timer.daemon = True
    timer.start()
    return timer


def answer_questions(niceness: int, ready: Callable[[], Callable[[Any], Any]]) -> None:
    """The other side: the program of such a process, until its input ends.  Others go first where they want the CPU or memory.

    Args:
        ready: called once all is set; returns what answers a question.
    """
    os.nice(niceness)
    with suppress(OSError):  # Linux: where memory runs out, this process goes rather than the one that asks
        Path("/proc/self/oom_score_adj").write_text("1000")
    core_dumps.forbid()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    answer = ready()
    for line in sys.stdin.buffer:
        answers.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
        answers.flush()
