"""Supervision of one query: a failed query is parked and retried without end; other queries are not affected."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql.streaming import StreamingQuery

from clientscope.errors import ClientscopeError, EnvironmentProblem
from streaming.failures import Failure, understood
from streaming.internals.progress_reports import last_report
from streaming.job_metrics import JobMetrics
from streaming.parking import NextStep, Parking, QueryPhase

log = logging.getLogger(__name__)


class BeginsAnew(EnvironmentProblem):
    """Why a query that runs is stopped and started again, though it has not failed."""


class Running(Protocol):
    """A query that was started, and what goes with it."""

    query: StreamingQuery

    def tick(self) -> None:
        """Called every second while the query runs, once it has read its source."""

    def measure(self, metrics: JobMetrics) -> None:
        """Says on the job's metrics what it keeps itself, rather than in Spark.  Called every few seconds."""

    def close(self) -> None:
        """Called once the query has ended."""


@dataclass
class Plain:
    """A query that nothing goes with."""

    query: StreamingQuery

    def tick(self) -> None:
        """Nothing."""

    def measure(self, metrics: JobMetrics) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Watched:
    """One query: does what `Parking` decides.  `look` is for one thread, its own; it may wait for Kafka there.

    Args:
        start: starts it; raises what it likes where it can't.
        before_again: called with why it failed, before it is started again; raises where it can't continue yet, or ClientscopeError where
            a person is needed.
        search: called where workers die again and again; finds and puts away the record that does it, and returns whether it has.
        parked: called with whether it is parked and why, where findings are to say so.

    Attributes:
        running: None while it is parked.
        begun: whether it has read its source since it was last started.
        restarts: how often it was started again.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Running],
        before_again: Callable[[Failure], None] = lambda failure: None,
        search: Callable[[Failure], bool] = lambda failure: False,
        parked: Callable[[bool, Failure], None] = lambda *_: None,
        parking: Parking | None = None,
    ) -> None:
        self.name = name
        self.restarts = 0
        self.begun = False
        self.running: Running | None = start()
        self._start, self._before_again, self._search, self._parked = start, before_again, search, parked
        self._parking = parking or Parking()
        self._refused: ClientscopeError | None = None
        self._to_search = False

    @property
    def problem(self) -> str:
        """Why it is parked and what to do, in a line; empty where it runs. From any thread."""
        failure = self._parking.failure
        return "" if self._parking.phase is QueryPhase.RUNNING else f"{self.name} is parked and retried: {failure.cause}; {failure.hint}"

    @property
    def well(self) -> bool:
        """Whether it runs, for all that is known. From any thread."""
        return self._parking.phase is QueryPhase.RUNNING

    def look(self, now: float) -> None:
        """To be called every second; never raises."""
        running = self.running
        if running is None:
            if self._to_search:
                self._searched()
            if self._parking.waited(now).start:
                self._start_again(now)
        elif self._refused is not None:
            refused, self._refused = self._refused, None
            self._ended(running, refused, now)
        elif running.query.isActive:
            self._tick(running, now)
        else:
            self._ended(running, str(running.query.exception()), now)

    def hurry(self) -> None:
        """Starts it again at the next look, where it waits: what it failed by is gone. From any thread."""
        self._parking.hurry()

    def refuse(self, why: ClientscopeError) -> None:
        """Refuses that the query continues: it is parked at the next check. From any thread."""
        self._refused = why

    def _tick(self, running: Running, now: float) -> None:
        self.begun = self.begun or _has_read(running.query)
        try:
            if self.begun:
                running.tick()
        except Exception as error:  # whatever it is, it must not end the others
            log.exception("query %s is stopped", self.name)
            self._ended(running, error, now)
            return
        if self.begun and not self._parking.settled:  # each question to Spark costs the queries time
            idle = not running.query.status["isTriggerActive"]
            self._follow(self._parking.looked(now, _has_finished(running.query), idle))

    def _stop(self, running: Running) -> None:
        try:
            running.query.stop()
        except Exception:
            log.exception("query %s can't be stopped", self.name)

    def _ended(self, running: Running, why: str | BaseException, now: float) -> None:
        self._failed(why, now, _has_finished(running.query))  # said first: to stop it may take as long as its batch
        if running.query.isActive:
            self._stop(running)
        self.running, self.begun = None, False
        try:
            running.close()
        except Exception:
            log.exception("what went with query %s can't be closed", self.name)

    def _searched(self) -> None:
        self._to_search = False
        try:
            if self._search(self._parking.failure):
                self._parking.hurry()
        except ClientscopeError as error:
            self._failed(error, time.monotonic(), finished=False)
        except Exception as error:
            log.warning("which record query %s fails at could not be found: %s", self.name, error)

    def _start_again(self, now: float) -> None:
        try:
            self._before_again(self._parking.failure)
            self.running = self._start()
        except Exception as error:
            self._failed(error, now, finished=False)
        else:
            self._refused = None
            self.restarts += 1
            self._parking.started(now)
            log.warning("query %s is started again", self.name)

    def _failed(self, why: str | BaseException, now: float, finished: bool) -> None:
        failure, before = understood(why), self._parking.failure
        step = self._parking.failed(now, failure, finished)
        said = failure.cause if failure.cause == before.cause else why  # its stack trace once, not each minute
        if isinstance(why, BeginsAnew):
            log.warning("query %s begins anew: %s", self.name, why)
        else:
            log.error("query %s failed, and is started again in %.0f s: %s", self.name, self._parking.pause_s(now), said)
        self._follow(step)

    def _follow(self, step: NextStep) -> None:
        self._to_search = self._to_search or step.search
        if step.finding is not None:
            self._parked(step.finding, self._parking.failure)


def _has_read(query: StreamingQuery) -> bool:
    """Whether it has looked at its source, if only to find nothing there."""
    status = query.status
    return query.lastProgress is not None or (not status["isTriggerActive"] and "Initializing" not in status["message"])


def _has_finished(query: StreamingQuery) -> bool:
    """Whether it has finished a batch since it was started; a report of an idle query is of none."""
    report = last_report(query)
    return report is not None and "addBatch" in report.durationMs
