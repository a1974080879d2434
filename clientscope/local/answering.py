"""Child processes that answer over a pipe: one line of JSON for each line of JSON, each with a deadline."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from contextlib import suppress
from typing import Any

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
    """The process ended without an answer, or was killed because it gave none in time.

    Attributes:
        late: whether it was killed at the deadline.
    """

    def __init__(self, late: bool) -> None:
        super().__init__("late" if late else "ended")
        self.late = late


class AnsweringProcess:
    """One process, from its start to its end.

    Questions come from one thread at a time; `kill` from any thread.

    Args:
        process: with pipes as its standard input and output. It reads a line and writes a line, in turn.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def ask(self, question: object, deadline_s: float) -> Any:
        """The answer to a question, both as JSON.

        Args:
            deadline_s: seconds after which the process is killed.

        Raises:
            NoReply: there is no answer. The process has ended by then.
        """
        process, line = self._process, json.dumps(question).encode() + b"\n"
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()

        def kill() -> None:
            late.set()
            process.kill()

        deadline = threading.Timer(deadline_s, kill)
        deadline.daemon = True
        deadline.start()
        try:
            process.stdin.write(line)
            process.stdin.flush()
            return json.loads(process.stdout.readline())
        except (OSError, ValueError):
            self.end()
            raise NoReply(late.is_set()) from None
        finally:
            deadline.cancel()

    def kill(self) -> None:
        """Kills the process, and with it a question that is being answered."""
        self._process.kill()

    def end(self) -> None:
        """Kills the process, waits for its end, and closes its pipes."""
        process = self._process
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
