"""Supervisor of all queries, each in a thread of its own, so that one that waits for Kafka or a disk delays no other."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Container, Mapping
from functools import partial

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from clientscope.clock import now_ms
from clientscope.findings.conditions import Condition, Conditions
from streaming.checkpoints.plans import PLANS
from streaming.failures import Failure, understood
from streaming.internals.progress_reports import last_report
from streaming.job_checkpoints import Checkpoints, RecordsLost
from streaming.job_metrics import JobMetrics
from streaming.parking import Parking
from streaming.supervision import BeginsAnew, Running, Watched

log = logging.getLogger(__name__)

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
        search: finds the record that kills a query's workers; see `streaming.culprits.search`.
        report: called in a query's thread with its name and itself, every few seconds while it runs.
        look_s: seconds between two looks at a query, and before a query that failed is first started again.

    Attributes:
        watched: the queries.
        ends: why the job must end; None while it needn't.
    """

    def __init__(
        self,
        starts: Mapping[str, Callable[[], Running]],
        live: Container[str],
        checkpoints: Checkpoints,
        conditions: Conditions,
        metrics: JobMetrics,
        search: Callable[[str, Failure], bool],
        report: Callable[[str, Running], None],
        history_interval_s: float,
        look_s: float = 1.0,
    ) -> None:
        self._look_s = look_s
        self.ends: RecordsLost | None = None
        self._live = live
        self._checkpoints, self._conditions, self._metrics, self._report = checkpoints, conditions, metrics, report
        self._stopping = threading.Event()
        self.watched = [self._watched(name, start, search, history_interval_s) for name, start in starts.items()]
        self._topics = checkpoints.watch(self.refused, self.hurry)
        metrics.lost(checkpoints.lost())
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
        self._topics.stop()
        deadline = time.monotonic() + patience_s
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))

    def hurry(self) -> None:
        """What parked queries failed by is gone, it seems. From any thread."""
        for each in self.watched:
            each.hurry()

    def refused(self, query: str, is_another: bool) -> None:
        """A query has to begin anew: its topic is another one, or it was reset. From any thread."""
        anew = BeginsAnew(f"{PLANS[query].topic} is another topic now" if is_another else f"{query} was reset")
        for each in self.watched:
            # What has no checkpoint begins anew at each start; whatever topic was made again, it reads it.
            if each.name == query or (is_another and each.name not in PLANS):
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

    def _watched(
        self, name: str, start: Callable[[], Running], search: Callable[[str, Failure], bool], history_interval_s: float
    ) -> Watched:
        parked = partial(self._is_parked, name)
        if name not in PLANS:
            # What has no checkpoint can't have a damaged one, and fails at no record that others don't: it waits until they have found it.
            return Watched(name, start, parked=parked, parking=Parking(_SETTLES_S, self._look_s))
        # History may have nothing to write for so long, and fails only then.
        settles_s = _SETTLES_S if name in self._live else _SETTLES_S + 2 * history_interval_s
        parking = Parking(settles_s, self._look_s)
        return Watched(name, partial(self._start, name, start), partial(self._prepare, name), partial(search, name), parked, parking)

    def _start(self, query: str, start: Callable[[], Running]) -> Running:
        """Starts a query, with a new checkpoint if Spark refuses at once the one that it has."""
        try:
            return start()
        except PySparkException as error:
            failure = understood(str(error))
            if not failure.checkpoint_damaged:
                raise
            self._prepare(query, failure)
            return start()

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
            self._metrics.watched(each.name, each.well, each.restarts)
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
        self._report(name, running)

    def _prepare(self, query: str, failure: Failure) -> None:
        """Before a query is started again, in its thread."""
        try:
            self._checkpoints.prepare(query, failure)
        except RecordsLost as error:
            self.ends = error
            raise
        self._metrics.lost(self._checkpoints.lost())

    def _is_parked(self, query: str, parked: bool, failure: Failure) -> None:
        message = f"Query {query} is parked and retried, since {failure.kind}: {failure.hint}." if parked else ""
        self._conditions.report(Condition("OP005", f"query {query}", parked, "high", message, now_ms()))


def report_lost(conditions: Conditions, query: str, number: int | None) -> None:
    """Says as a finding that a query continues without records; None for a number that nobody knows."""
    topic = PLANS[query].topic
    message = (
        f"Query {query} skipped {'some' if number is None else number} records of {topic}, which were gone before it had read them: give"
        " the topic more retention, or the job less downtime; then close this."
    )
    conditions.report(Condition("OP006", f"query {query} of {topic}", True, "high", message, now_ms()))
