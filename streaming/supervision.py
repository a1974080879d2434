"""Keeping queries running: one that fails is started again after a pause, unless nothing that a restart does can mend it."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from kafka.errors import KafkaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming import StreamingQuery

from clientscope.errors import ClientscopeError

log = logging.getLogger(__name__)

_AGAIN = "clientscope checkpoints verify says more, and checkpoints/README.md how to start a query again from its topic"
_PERMANENT = (
    (
        re.compile(r"KAFKA_DATA_LOSS|OffsetOutOfRangeException|Some data may have been lost because"),
        f"records that it has not read yet are gone from the topic, by retention or with a topic that was deleted; {_AGAIN}",
    ),
    (
        # Spark names no condition for a log or a state file that is damaged: Hadoop's checksums and its own parsers fail.
        re.compile(
            r"CANNOT_LOAD_STATE_STORE|STATE_STORE_\w*(?:INCOMPATIBLE|NOT_COMPATIBLE|NOT_FOUND|MISMATCH|INVALID|NOT_EMPTY|FAILURE)"
            r"|BATCH_METADATA_NOT_FOUND|CHECKPOINT_|STREAMING_CHECKPOINT_MISSING_METADATA_FILE|INVALID_LOG_VERSION|MALFORMED_LOG_FILE"
            r"|Failed to read log file|batch \d+ doesn't exist|Checksum error: \S*/(?:metadata|(?:offsets|commits|sources|state)/)"
        ),
        f"its checkpoint is damaged, or another version's; {_AGAIN}",
    ),
    (
        re.compile(r"CONCURRENT_STREAM_LOG_UPDATE"),
        "another job writes the same checkpoint, from another machine or without clientscope's lock; stop one of them",
    ),
)
"""Failures that come again at each start, by Spark's error conditions, and what to do."""

_WORKER_DIED = re.compile(r"Python worker exited unexpectedly|MemoryError|PythonException|ExecutorLostFailure")
"""Failures that a single record may cause, whoever decodes it."""


_OF_PYTHON, _CAUSED_BY = "An exception was raised by the Python Proxy", "Caused by: "
_RAISED = re.compile(r"[A-Za-z_][\w.]*: ")
"""A line of a traceback that names what was raised."""


class Running(Protocol):
    """A query that was started, and what goes with it."""

    query: StreamingQuery

    def tick(self) -> None:
        """Called every second while the query runs, once it has read its source."""

    def close(self) -> None:
        """Called once the query has ended."""


@dataclass
class Plain:
    """A query that nothing goes with."""

    query: StreamingQuery

    def tick(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


_DOUBLINGS = 100
"""More than anybody waits, and less than a float can hold."""


class Restarts:
    """When to start again what has failed.  Pure; times are seconds of a clock that never goes back.

    The pause doubles from a second to a minute. What has failed so often without a batch between is given up: then a person is needed.

    Args:
        most: failures without a batch between; None for any number.
    """

    def __init__(self, most: int | None = 8, first_s: float = 1.0, longest_s: float = 60.0) -> None:
        self._most, self._first_s, self._longest_s = most, first_s, longest_s
        self._failures = 0

    @property
    def repeated(self) -> bool:
        """Whether it has failed at the same place more than once."""
        return self._failures > 1

    def failed(self, now: float, progressed: bool) -> float | None:
        """When to try again, or None if it is given up.

        Args:
            progressed: whether a batch was finished since it was last started.
        """
        self._failures = 1 if progressed else self._failures + 1
        if self._most is not None and self._failures > self._most:
            return None
        return now + min(self._longest_s, self._first_s * 2.0 ** min(self._failures - 1, _DOUBLINGS))


class Watched:
    """One query, which is started again when it fails.

    Args:
        before_again: called before it is started again, and before it is given up: raises ClientscopeError where it knows better why
            a restart can't mend it, and TimeoutError where it can't tell yet.
        begins_anew: it has no checkpoint, so that what is gone or damaged for others is mended by a start.
        search: called in a thread of its own when workers die again and again; finds and puts away the record that does it, and
            returns whether it has.

    Attributes:
        running: None while it waits to be started again.
        begun: whether it has read its source since it was last started.
        restarts: how often it was started again.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Running],
        restarts: Restarts | None = None,
        before_again: Callable[[], None] = lambda: None,
        search: Callable[[], bool] | None = None,
        begins_anew: bool = False,
    ) -> None:
        self.name = name
        self._permanent = () if begins_anew else _PERMANENT
        self.restarts = 0
        self.begun = False
        self.running: Running | None = start()
        self._start = start
        self._before_again = before_again
        self._policy = restarts or Restarts()
        self._search = search
        self._searching: Future[bool] | None = None
        self._at = 0.0
        self._cause = ""

    @property
    def problem(self) -> str:
        """Why it doesn't run now; empty where it does. From any thread."""
        return "" if self.running else f"{self.name} is started again after it failed: {self._cause}"

    def look(self, now: float) -> None:
        """To be called every second.

        Raises:
            ClientscopeError: it has failed in a way that a restart can't mend, or once too often.
        """
        running = self.running
        if running is None:
            if self._searched(now) and now >= self._at:
                self._start_again(now)
        elif running.query.isActive:
            self._tick(running, now)
        else:
            self._ended(running, str(running.query.exception()), now)

    def hurry(self) -> None:
        """Starts it again at the next look, where it waits: what it failed by is gone. From any thread."""
        self._at = 0.0

    def _tick(self, running: Running, now: float) -> None:
        self.begun = self.begun or _has_read(running.query)
        if not self.begun:
            return
        try:
            running.tick()
        except ClientscopeError:
            raise
        except Exception as error:  # a bug in what goes with one query must not end the others
            log.exception("query %s is stopped", self.name)
            running.query.stop()
            self._ended(running, f"{type(error).__name__}: {error}", now)

    def _ended(self, running: Running, cause: str, now: float) -> None:
        self.running, self.begun = None, False
        progressed = running.query.lastProgress is not None
        running.close()
        self._failed(cause, now, progressed)

    def _searched(self, now: float) -> bool:
        """Whether no search is under way; what one has found makes it worth to try again at once."""
        if self._searching is None:
            return True
        if not self._searching.done():
            return False
        searching, self._searching = self._searching, None
        try:
            if searching.result():
                self._at = now
        except (KafkaError, TimeoutError, OSError) as error:
            log.warning("which record query %s fails at could not be found: %s", self.name, error)
        return True

    def _start_again(self, now: float) -> None:
        try:
            self._before_again()
            self.running = self._start()
        except (KafkaError, TimeoutError, OSError, PySparkException, Py4JError) as error:
            self._failed(str(error), now, progressed=False)
        else:
            self.restarts += 1
            log.warning("query %s is started again", self.name)

    def _failed(self, text: str, now: float, progressed: bool) -> None:
        self._cause = cause_in(text)
        for pattern, hint in self._permanent:
            if pattern.search(text):
                with suppress(TimeoutError):
                    self._before_again()
                raise ClientscopeError(f"query {self.name} failed: {self._cause}", hint)
        again = self._policy.failed(now, progressed)
        if again is None:
            raise ClientscopeError(f"query {self.name} fails at each start: {self._cause}", "see the log above")
        self._at = again
        if self._search is not None and self._policy.repeated and _WORKER_DIED.search(text):
            self._searching = _in_background(self._search)
        log.error("query %s failed, and is started again in %.0f s: %s", self.name, again - now, text)


def cause_in(text: str) -> str:
    """What failed, in a line, and what that was caused by in the end: ``… Task failed …: java.io.IOException: No space left on device``.

    Args:
        text: as Spark tells it, with the stack traces of a JVM and of Python. What a sink's Python raises stands behind a first line that
            says nothing but that it is Python's.
    """
    lines = text.strip().splitlines()
    what = lines[0] if lines else "without a cause"
    if what.startswith(_OF_PYTHON):
        raised = [line for line in lines if _RAISED.match(line)]
        of_the_jvm = [line[2:] for line in lines if line.startswith(": ")]
        what = next(iter([*of_the_jvm, *reversed(raised)]), what)
    causes = [line.strip().removeprefix(_CAUSED_BY) for line in lines if line.strip().startswith(_CAUSED_BY)]
    return what[:500] if not causes or causes[-1] in what else f"{what[:300]}: {causes[-1][:200]}"


def _has_read(query: StreamingQuery) -> bool:
    """Whether it has looked at its source, if only to find nothing there."""
    status = query.status
    return query.lastProgress is not None or (not status["isTriggerActive"] and "Initializing" not in status["message"])


def _in_background(call: Callable[[], bool]) -> Future[bool]:
    """In a thread that nobody waits for at exit."""
    future: Future[bool] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="culprits", daemon=True).start()
    return future
