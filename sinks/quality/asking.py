"""Client of the process that validates samples (`sinks.quality.process`): one look at a time, each with a deadline."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import TypedDict

from clientscope.local.answering import AnsweringProcess, NoReply, environment_for, environment_without_secrets
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


class ProcessFailed(Exception):
    """The process ended without an answer, or was killed since it gave none in time."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


class CheckingProcess:
    """The process, which is started with the first look, and again with the next one after it has ended.

    For one thread, which lives as long as the process is to (the kernel ends the process with the thread), but for `close`.

    Args:
        history: the folder of the tables.

    Attributes:
        deadline_s: seconds that a look may take.
    """

    def __init__(self, history: str, deadline_s: float = DEADLINE_S) -> None:
        self.deadline_s = deadline_s
        self._history = history
        self._looking = threading.Lock()
        self._process: AnsweringProcess | None = None
        self._closed = False

    @property
    def process_id(self) -> int | None:
        """The id of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def look(self, versions: Mapping[str, int]) -> Looked:
        """Validates what was appended since these versions, by topic.

        Raises:
            ProcessFailed: the process has ended, or didn't answer in time.
        """
        with self._looking:
            return self._look(versions)

    def close(self) -> None:
        """Ends the process, and with it a look that is under way. From any thread."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._looking:
            self._end()

    def _look(self, versions: Mapping[str, int]) -> Looked:
        process = self._process = self._process or self._started()
        try:
            looked: Looked = process.ask(versions, self.deadline_s)
        except NoReply as problem:
            self._process = None
            raise ProcessFailed("late" if problem.late else "ended") from None
        return looked

    def _started(self) -> AnsweringProcess:
        process = AnsweringProcess(
            spawn(
                [sys.executable, "-m", "sinks.quality.process", self._history],
                log=subprocess.DEVNULL,
                env=environment_without_secrets(**_FEW_THREADS, **environment_for(self._history)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )
        if self._closed:  # meanwhile
            process.kill()
        return process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.end()
