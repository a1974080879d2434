"""The process that validates samples (`sinks.quality.process`), and its answers."""

from __future__ import annotations

import subprocess
import sys
from typing import TypedDict

from clientscope.local.answering import AnsweringProcess, environment_for, environment_without_secrets
from clientscope.local.process import spawn

DEADLINE_S = 120.0
"""Seconds for a look; the first one imports Great Expectations, which takes some three seconds of a core."""

_FEW_THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}


class Validated(TypedDict):
    """One validation of a topic's new rows.

    Attributes:
        rows: of the sample.
        outcomes: for each expectation that could be judged its name, whether it is met, and how many rows are unexpected.
        error: type and place of what went wrong; empty for nothing. Never its text, which might quote something.
    """

    topic: str
    rows: int
    seconds: float
    outcomes: list[tuple[str, bool, int]]
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
