"""Supervision of the queries: a failed query is parked and retried without end; other queries are not affected."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import partial

from py4j.protocol import Py4JError
from pyspark.sql.streaming import StreamingQuery

from clientscope.backoff import Backoff
from clientscope.clock import now_ms
from clientscope.errors import ClientscopeError, EnvironmentProblem
from clientscope.findings.conditions import Condition, Conditions
from streaming.checkpoints.plans import PLANS
from streaming.failures import Failure, understood
from streaming.job_checkpoints import Checkpoints
from streaming.job_metrics import JobMetrics
from streaming.spark import last_report

log = logging.getLogger(__name__)


class BeginsAnew(EnvironmentProblem):
    """Why a query that runs is stopped and started again, though it has not failed."""


@dataclass
class Running:
    """A query that was started. What else a query needs while it runs, its subclass has."""

    query: StreamingQuery

    def tick(self) -> None:
        """Called every second while the query runs, once it has read its source."""

    def measure(self, metrics: JobMetrics) -> None:
        """Says on the job's metrics what it keeps itself, rather than in Spark.  Called every few seconds."""

    def close(self) -> None:
        """Called once the query has ended."""


class Watched:
    """One query. Where it fails it is parked, and started again after a pause that doubles from a second to a minute, without end.

    `look` is for one thread, its own; it may wait for Kafka there.

    Args:
        start: starts it; raises what it likes where it can't.
        search: called where workers die again and again; finds and puts away the record that does it, and returns whether it has.
        needed: whether it is started here, which raises what fails; else by the first look.
        parked: called with whether it is parked and why, once for each change that a finding is to say.
        settles_s: so long after a start it counts as running where it has had nothing to do.
        pause_s: the first pause after a failure.

    Attributes:
        running: None while it waits for its next start.
        begun: whether it has read its source since it was last started.
        restarts: how often it was started again.
        well: whether it runs, for all that is known: once a batch is done, or it has stayed up. From any thread.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], Running],
        search: Callable[[], bool] = lambda: False,
        parked: Callable[[bool, Failure], None] = lambda *_: None,
        settles_s: float = 15.0,
        pause_s: float = 1.0,
        needed: bool = True,
    ) -> None:
        self.name = name
        self.restarts = 0
        self.begun = False
        self.well = True
        self.running: Running | None = start() if needed else None
        self._start, self._search, self._parked = start, search, parked
        self._settles_s = settles_s
        self._backoff = Backoff(pause_s, 60.0)
        self._failure = Failure("")
        self._failures = 0
        self._started_s: float | None = None
        self._again_s = 0.0
        self._said: bool | None = None
        self._refused: ClientscopeError | None = None
        self._to_search = False

    @property
    def problem(self) -> str:
        """Why it is parked and what to do, in a line; empty where it runs. From any thread."""
        return "" if self.well else f"{self.name} is parked and retried: {self._failure.cause}; {self._failure.hint}"

    def look(self, now: float) -> None:
        """To be called every second, with seconds of a clock that never goes back; never raises."""
        running = self.running
        if running is None:
            if self._to_search:
                self._searched()
            if now >= self._again_s:
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
        self._again_s = 0.0

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
        if not self.begun or (self.well and self._said is False):  # each question to Spark costs the queries time
            return
        self._started_s = now if self._started_s is None else self._started_s
        # While a batch is under way it isn't known how that ends.
        stays_up = now - self._started_s >= self._settles_s and not running.query.status["isTriggerActive"]
        if stays_up or _has_finished(running.query):
            self.well = True
            self._say(False)

    def _stop(self, running: Running) -> None:
        try:
            running.query.stop()
        except Exception:
            log.exception("query %s can't be stopped", self.name)

    def _ended(self, running: Running, why: str | BaseException, now: float) -> None:
        self._failed(why, now, _has_finished(running.query))  # said first: to stop it may take as long as its batch
        if running.query.isActive:
            self._stop(running)
        self.running, self.begun, self._started_s = None, False, None
        try:
            running.close()
        except Exception:
            log.exception("what went with query %s can't be closed", self.name)

    def _searched(self) -> None:
        self._to_search = False
        try:
            if self._search():
                self.hurry()
        except ClientscopeError as error:
            self._failed(error, time.monotonic(), finished=False)
        except Exception as error:
            log.warning("which record query %s fails at could not be found: %s", self.name, error)

    def _start_again(self, now: float) -> None:
        try:
            self.running = self._start()
        except Exception as error:
            self._failed(error, now, finished=False)
        else:
            self._refused, self._started_s = None, now
            if self._failures:
                self.restarts += 1
                log.warning("query %s is started again", self.name)

    def _failed(self, why: str | BaseException, now: float, finished: bool) -> None:
        """
        Args:
            finished: whether it has finished a batch since it was last started: then it has not failed at the same place again.
        """
        failure, before = understood(why), self._failure
        self._failures = 1 if finished or self.well else self._failures + 1
        pause_s = self._backoff.seconds(self._failures - 1)
        self._failure, self.well, self._again_s = failure, False, now + pause_s
        said = failure.cause if failure.cause == before.cause else why  # its stack trace once, not each minute
        if isinstance(why, BeginsAnew):
            log.warning("query %s begins anew: %s", self.name, why)
        else:
            log.error("query %s failed, and is started again in %.0f s: %s", self.name, pause_s, said)
        is_repeated = self._failures > 1
        self._to_search = self._to_search or (is_repeated and failure.fatal_record)
        if is_repeated or failure.lasting:
            self._say(True)

    def _say(self, parked: bool) -> None:
        if parked is not self._said:
            self._said = parked
            self._parked(parked, self._failure)


def _has_read(query: StreamingQuery) -> bool:
    """Whether it has looked at its source, if only to find nothing there."""
    status = query.status
    return query.lastProgress is not None or (not status["isTriggerActive"] and "Initializing" not in status["message"])


def _has_finished(query: StreamingQuery) -> bool:
    """Whether it has finished a batch since it was started; a report of an idle query is of none."""
    report = last_report(query)
    return report is not None and "addBatch" in report.durationMs


_FIRST_LOOK_S = 0.1
"""Until a query has read its source, the job's start waits for it."""

_REPORT_S = 5.0
"""How often Spark is asked for a query's newest report, which it writes as JSON: more often would cost the queries time."""

_STUCK_S = 600.0
"""No look takes so long but one that never ends: where Kafka is away, its clients wait for half a minute each."""

_SETTLES_S = 15.0


class Supervisor:
    """The supervisor of all queries: starts them, then a thread for each.

    Args:
        starts: how each query is started, by its name.
        live: queries whose results somebody waits for; the others write now and then.
        search: finds the record that kills a query's workers; see `streaming.fatal_records`.
        look_s: seconds between two looks at a query, and before a query that failed is first started again.

    Attributes:
        watched: the queries.
    """

    def __init__(
        self,
        starts: Mapping[str, Callable[[], Running]],
        live: Container[str],
        checkpoints: Checkpoints,
        conditions: Conditions,
        metrics: JobMetrics,
        search: Callable[[str], bool],
        history_interval_s: float,
        look_s: float = 1.0,
    ) -> None:
        self._look_s = look_s
        self._live = live
        self._checkpoints, self._conditions, self._metrics = checkpoints, conditions, metrics
        self._stopping = threading.Event()
        self.watched = [self._watched(name, start, search, history_interval_s) for name, start in starts.items()]
        self._topics = checkpoints.watch(starts, self.refused, self.hurry)
        self._looked_s = {each.name: time.monotonic() for each in self.watched}
        self._threads = [threading.Thread(target=self._run, args=(each,), name=each.name, daemon=True) for each in self.watched]

    def start(self) -> None:
        """Begins to supervise."""
        self._topics.start()
        for thread in self._threads:
            thread.start()

    def stop(self, patience_s: float = 2.0) -> None:
        """Starts nothing any more; waits ``patience_s`` at most for looks that are under way."""
        self._stopping.set()
        self._topics.stop(0)
        deadline = time.monotonic() + patience_s
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))

    def hurry(self) -> None:
        """What parked queries failed by is gone, it seems. From any thread."""
        for each in self.watched:
            each.hurry()

    def refused(self, query: str, another: str) -> None:
        """A query has to begin anew: a topic of this name is another one, or the query was reset. From any thread."""
        anew = BeginsAnew(f"{another} is another topic now" if another else f"{query} was reset")
        for each in self.watched:
            if each.name == query:
                each.refuse(anew)
                each.hurry()

    def problems(self) -> str:
        """A line for each query that is parked, and one for Kafka: why, and what to do. From any thread.

        Queries wait minutes for Kafka, within Spark, before they fail.
        """
        return "\n".join(problem for problem in (self._topics.away, *(each.problem for each in self.watched)) if problem)

    def stuck(self) -> str:
        """The queries that are no longer checked; empty if there are none. From any thread."""
        now = time.monotonic()
        silent = {name: now - looked_s for name, looked_s in self._looked_s.items() if now - looked_s > _STUCK_S}
        return "; ".join(f"query {name} has not been checked for {silent_s:.0f} s" for name, silent_s in silent.items())

    def _watched(self, name: str, start: Callable[[], Running], search: Callable[[str], bool], history_interval_s: float) -> Watched:
        # History may have nothing to write for so long, and fails only then.
        settles_s = _SETTLES_S if name in self._live else _SETTLES_S + 2 * history_interval_s
        parked = partial(self._is_parked, name)
        return Watched(name, partial(self._start, start), partial(search, name), parked, settles_s, self._look_s, needed=name in self._live)

    def _start(self, start: Callable[[], Running]) -> Running:
        running = start()
        self._metrics.lost(self._checkpoints.lost())
        return running

    def _run(self, each: Watched) -> None:
        reported_s = 0.0
        while not self._stopping.wait(self._look_s if each.begun or each.running is None else _FIRST_LOOK_S):
            now = time.monotonic()
            try:
                each.look(now)
            except Py4JError as error:  # a connection to the JVM was reset, which a busy machine can do; the next call takes a new one
                if not self._stopping.is_set():
                    log.warning("whether query %s runs could not be asked, and is asked again: %s", each.name, error)
                continue
            self._metrics.set("query_running", each.well, each.name)
            self._metrics.set("query_restarts", each.restarts, each.name)
            running = each.running
            if running is not None and now - reported_s >= _REPORT_S:
                reported_s = now
                try:
                    self._read_progress(each.name, running)
                except Exception:  # of a query that ends at this moment
                    if not self._stopping.is_set():
                        log.exception("what Spark reports of query %s can't be read", each.name)
            self._looked_s[each.name] = time.monotonic()

    def _read_progress(self, name: str, running: Running) -> None:
        report = last_report(running.query)
        if report is not None:
            self._metrics.progressed(name, report)
        running.measure(self._metrics)

    def _is_parked(self, query: str, parked: bool, failure: Failure) -> None:
        message = f"Query {query} is parked and retried, since {failure.kind}: {failure.hint}." if parked else ""
        self._conditions.report(Condition("OP005", f"query {query}", parked, "high", message, now_ms()))


def report_lost(conditions: Conditions, query: str, number: int | None) -> None:
    """Says as a finding that a query continues without records; None for a number that nobody knows."""
    topics = " and ".join(PLANS[query].topics)
    message = (
        f"Query {query} skipped {'some' if number is None else number} records of {topics}, which were gone before it had read them: give"
        " the topic more retention, or the job less downtime; then close this."
    )
    conditions.report(Condition("OP006", f"query {query} of {topics}", True, "high", message, now_ms()))
