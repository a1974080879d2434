"""The process that validates samples of history, ``python -m sinks.quality.process FOLDER``, and how the job starts it.

A look is a line of JSON on its standard input, the versions to begin at by topic, and is answered by a line on its standard output
(`Looked`). The process ends when its input does, or is killed when a look takes too long.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypedDict

from clientscope.local.answering import AnsweringProcess, answer_questions, environment_for, environment_without_secrets
from clientscope.local.process import spawn

DEADLINE_S = 120.0
"""Seconds for a look; the first one imports Great Expectations, which takes some three seconds of a core."""

_FEW_THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


_NICE = 10
_MOST_BYTES = 1 << 30
"""Of private writable memory (RLIMIT_DATA); beyond it an allocation fails, and with it the look or the process."""


Outcome = tuple[str, bool, int]
"""What one expectation came to in one validation: its name, whether it is met, and how many rows are unexpected."""


class Validated(TypedDict):
    """One validation of a topic's new rows.

    Attributes:
        rows: of the sample.
        outcomes: of the expectations that could be judged: where the library itself failed, that says nothing of the data.
        error: type and place of what went wrong; empty for nothing. Never its text, which might quote something.
    """

    topic: str
    rows: int
    seconds: float
    outcomes: list[Outcome]
    error: str


class Looked(TypedDict):
    """The answer to a look.

    Attributes:
        validated: of each table that has new rows.
        next_versions: by topic, the version of its table to begin at the next time.
        peak_bytes: the most memory that the process has had.
    """

    validated: list[Validated]
    next_versions: dict[str, int]
    peak_bytes: int


def checking_process(history: str, deadline_s: float = DEADLINE_S) -> AnsweringProcess:
    """The process, which takes versions to begin at, by topic, and answers with `Looked`.

    For one thread, which lives as long as the process is to (the kernel ends the process with the thread), but for its ``close``.

    Args:
        history: the folder of the tables.
    """

    def start() -> subprocess.Popen[bytes]:
        return spawn(
            [sys.executable, "-m", "sinks.quality.process", history],
            log=subprocess.DEVNULL,
            env=environment_without_secrets(**_FEW_THREADS, **environment_for(history)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    return AnsweringProcess(start, deadline_s)


def _ready() -> Callable[[Any], Looked]:
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))
    from sinks.quality.checking import SampleChecks  # noqa: PLC0415  within the limits

    checks = SampleChecks(sys.argv[1])

    def look(versions: dict[str, int]) -> Looked:
        looked = checks.look(versions)
        looked["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return looked

    return look


if __name__ == "__main__":
    answer_questions(_NICE, _ready)
