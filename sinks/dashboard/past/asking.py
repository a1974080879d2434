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
    """Asks a process that reads the tables, which is started with the first question and again after it was killed.  From any thread.

    Args:
        folder: the job's history directory; None where there is no history.
        owners: owners.toml, where there is one.
    """

    def __init__(
        self,
        folder: str | None,
        deadline_s: float = DEADLINE_S,
        wait_s: float = WAIT_S,
        idle_s: float = IDLE_S,
        owners: Path | None = None,
    ) -> None:
        self._folder, self._owners = folder, owners
        self._deadline_s, self._wait_s, self._idle_s = deadline_s, wait_s, idle_s
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)
        self._lock = threading.Lock()
        self._process: AnsweringProcess | None = None
        self._idle: threading.Timer | None = None
        self._closed = False

    @property
    def is_there(self) -> bool:
        """Whether any history is configured."""
        return self._folder is not None

    @property
    def process_id(self) -> int | None:
        """The id of the process that answers; None while there is none."""
        return None if self._process is None else self._process.pid

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
            if not self._lock.acquire(timeout=self._wait_s):
                raise _busy()
            try:
                return self._ask({"question": question, "arguments": arguments})
            finally:
                self._lock.release()
        finally:
            self._waiting.release()

    def close(self) -> None:
        """Ends the process, and with it a question that is being answered."""
        self._closed = True  # a waiting question starts no other process
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._end()

    def _ask(self, question: dict[str, Any]) -> Json:
        if self._closed:
            raise _busy()
        if self._idle is not None:
            self._idle.cancel()
        process = self._process = self._process or self._started()
        try:
            reply: Json = process.ask(question, self._deadline_s)
        except NoReply as problem:
            self._process = None
            raise self._late() if problem.late else _ended() from None
        self._idle = threading.Timer(self._idle_s, self._end_if_idle)
        self._idle.daemon = True
        self._idle.start()
        return _answer_of(reply)

    def _started(self) -> AnsweringProcess:
        assert self._folder is not None
        # Not by `spawn`: the kernel would end the process with the thread that starts it, and any thread may ask.
        return AnsweringProcess(
            subprocess.Popen(
                [sys.executable, "-m", "sinks.dashboard.past.process", self._folder, *([str(self._owners)] if self._owners else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment_without_secrets(**environment_for(self._folder)),
                start_new_session=True,
            )
        )

    def _end_if_idle(self) -> None:
        with self._lock:
            if self._idle is threading.current_thread():  # else a question has come since
                self._end()

    def _end(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        process, self._process = self._process, None
        if process is not None:
            process.end()

    def _late(self) -> NoAnswer:
        return NoAnswer("late", f"history gave no answer within {self._deadline_s:g} s", "ask for a shorter range, or try again")


def _busy() -> NoAnswer:
    return NoAnswer("busy", "others are asking history", "try again in a moment")


def _ended() -> NoAnswer:
    """Out of memory, most likely."""
    _log.warning("the process that reads history ended without an answer")
    return NoAnswer("unreadable", "what reads history ended without an answer", "ask for a shorter range, or try again")


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
