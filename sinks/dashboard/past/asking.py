"""Client of the process that reads the past: one question at a time, others wait, and each has a deadline."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from clientscope.local.answering import AnsweringProcess, NoReply, environment_for, environment_without_secrets
from clientscope.query import QueryError
from sinks.dashboard.past.tables import Json, NoAnswer

DEADLINE_S = 20.0
WAIT_S = 25.0
"""The longest time that a question waits for those before it; then the caller is asked to retry."""

MOST_WAITING = 8
IDLE_S = 120.0
"""Seconds without a question after which the process ends, and its memory is free again."""

_log = logging.getLogger(__name__)


class Past:
    """Asks a process that reads the tables.  From any thread.

    Args:
        folder: the job's history directory; None where there is no history.
        owners: owners.toml, where there is one.

    Attributes:
        process: the process; whoever has this object closes it.
    """

    def __init__(
        self,
        folder: str | None,
        deadline_s: float = DEADLINE_S,
        wait_s: float = WAIT_S,
        idle_s: float = IDLE_S,
        owners: Path | None = None,
    ) -> None:
        self.process = AnsweringProcess(self._started, deadline_s, idle_s)
        self._folder, self._owners, self._wait_s = folder, owners, wait_s
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)

    @property
    def is_there(self) -> bool:
        """Whether any history is configured."""
        return self._folder is not None

    def ask(self, question: str, **arguments: Any) -> Json:
        """Asks one of `sinks.dashboard.past.process`.

        Raises:
            NoAnswer: with what to do.
            QueryError: ``q`` or ``sort`` can't be read.
        """
        if self._folder is None:
            raise NoAnswer("off", "this page has no history", "start clientscope serve with --history-dir, the streaming job's")
        if not self._waiting.acquire(blocking=False):
            raise _busy()
        try:
            return _answer_of(self.process.ask({"question": question, "arguments": arguments}, self._wait_s))
        except NoReply as problem:
            raise self._no_answer(problem) from None
        finally:
            self._waiting.release()

    def _started(self) -> subprocess.Popen[bytes]:
        assert self._folder is not None
        # Not by `spawn`: the kernel would end the process with the thread that starts it, and any thread may ask.
        return subprocess.Popen(
            [sys.executable, "-m", "sinks.dashboard.past.process", self._folder, *([str(self._owners)] if self._owners else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment_without_secrets(**environment_for(self._folder)),
            start_new_session=True,
        )

    def _no_answer(self, problem: NoReply) -> NoAnswer:
        if problem.cause == "busy":
            return _busy()
        hint = "ask for a shorter range, or try again"
        if problem.cause == "late":
            return NoAnswer("late", f"history gave no answer within {self.process.deadline_s:g} s", hint)
        _log.warning("the process that reads history ended without an answer")  # out of memory, most likely
        return NoAnswer("unreadable", "what reads history ended without an answer", hint)


def _busy() -> NoAnswer:
    return NoAnswer("busy", "others are asking history", "try again in a moment")


def _answer_of(reply: Json) -> Json:
    error = reply.get("error")
    if error is None:
        answer: Json = reply["answer"]
        return answer
    if "position" in error:
        raise QueryError(error["detail"], error["position"], error["length"], error["expected"])
    if error["reason"]:
        _log.warning("history can't be read: %s", error["reason"])
    raise NoAnswer(error["kind"], error["detail"], error["hint"])
