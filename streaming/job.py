"""Main program of ``clientscope stream``: starts the queries, watches them, stops them."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyspark
from kafka.errors import TransactionalIdAuthorizationFailedError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

from clientscope import pages, topics
from clientscope.bounded_http import refusals
from clientscope.clock import now_ms
from clientscope.config import StreamSettings
from clientscope.digest import DigestKey
from clientscope.errors import ClientscopeError, SettingsError
from clientscope.findings.conditions import Condition, Conditions
from clientscope.garbage import settle
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import broker_errors
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import StopRequest, children_ignore_sigterm
from clientscope.model.topics import FINDINGS, GAUGES, JOB, QUARANTINE, STATUS
from clientscope.profiles import owners, rules_file
from clientscope.profiles.rules_file import RulesFile
from clientscope.status_writer import StatusWriter
from sinks.history.recorder import Recorder
from sinks.quality.quality import Quality
from sinks.quality.suites import SUITES
from streaming.checkpoints.job_topic import TRANSACTIONAL_ID, JobTopic, Replaced
from streaming.checkpoints.plans import PLANS
from streaming.fatal_records import FatalRecords
from streaming.findings.entry import Policy
from streaming.findings.fact_reports import FactReports
from streaming.job_checkpoints import Checkpoints
from streaming.job_metrics import CRASHED, JobMetrics
from streaming.job_metrics import QUARANTINE as QUARANTINED
from streaming.queries.query import JobContext
from streaming.queries.registry import QUERIES, wanted
from streaming.releases import installed, untested
from streaming.session import session, submitted
from streaming.spark import BatchReports, memory_bean, read_to, start_workers, unlogged_failures
from streaming.status import job_status
from streaming.supervision import Supervisor, report_lost
from udfs.rules.registry import LIMITS

log = logging.getLogger(__name__)

_LIVE = frozenset(name for name, query in QUERIES.items() if query.is_live)
RECORDED = (FINDINGS, GAUGES)
"""Topics that `sinks.history.recorder` reads."""

_WATCH_S = 1.0
_START_TIMEOUT_S = 120.0
# Kubernetes kills 30 s after its SIGTERM: what waits for a broker that is gone ends before, and is done again at the next start.
_LAST_BATCHES_S = 10.0
_STOP_LIMIT_S = 20.0
_REPLACED_S = 1.0
"""A newer job waits `streaming.checkpoints.job_topic.HANDOVER_S` for this one."""

_WORKERS_S = 5.0
_STUCK_S = 60.0
_REPORT_S = 5.0
"""How often Spark is asked for its reports, each of which it writes as JSON: more often would cost the queries time."""


def run(settings: StreamSettings) -> None:
    """Runs the job until SIGTERM or SIGINT, then stops each query after its current batch; in 20 s at most.  For the main thread.

    Once a newer job has started on the cluster, it stops all queries and returns.

    Raises:
        EnvironmentProblem: no Java, no broker, or topics that are missing or otherwise than ``clientscope topics`` makes them.
        SettingsError: the digest key, the rules file or the owners can't be read, or are wrong.
        ClientscopeError: the live queries don't start.
    """
    with StopRequest().installed(_STOP_LIMIT_S) as stop:
        try:
            with ExitStack() as opened:
                _run(settings, stop, opened)
        except Replaced as replaced:
            # Not an error, after which a service manager would start this one again, and end the newer one.
            log.warning("%s; %s", replaced, replaced.hint)


def _run(settings: StreamSettings, stop: StopRequest, opened: ExitStack) -> None:
    """
    Args:
        opened: closes in reverse order what is opened here.
    """
    digest_key = DigestKey.read(settings.digest_key_file) if settings.digest_key_file else None
    rules = rules_file.read(settings.rules_file, LIMITS) if settings.rules_file else RulesFile()
    policy = Policy(owners.read_if_given(settings.owners), rules.suppressions)
    if warning := untested(pyspark.__version__):
        log.warning("%s", warning)
    if not submitted():
        java()
    kafka = KafkaAccess.of(settings)
    queries = wanted(settings)
    topics.verify(
        kafka,
        reads=(*(topic for query in queries.values() for topic in query.reads), *RECORDED, JOB),
        writes=(*(topic for query in queries.values() for topic in query.writes), STATUS, JOB),
    )
    conditions = Conditions()
    with broker_errors(kafka):
        topic = JobTopic(kafka)
    opened.callback(topic.stop)
    folder = Path(opened.enter_context(_folder(settings.checkpoint_dir)))
    checkpoints = Checkpoints(topic, kafka, folder, settings.history_dir, partial(report_lost, conditions), pyspark.__version__)
    spark = _session(settings, kafka)
    opened.callback(spark.stop)
    workers = threading.Thread(target=start_workers, args=(spark,), name="start-workers", daemon=True)
    workers.start()
    opened.callback(workers.join, _WORKERS_S)  # the JVM writes errors of a task that is cut off
    # Only now that Spark runs: one that can't start must not end another.
    if stop.wait(0) or stop.wait(_taken_over(topic, kafka)):
        return
    job = _made(JobContext(spark, settings, digest_key, rules.thresholds, policy, conditions, FactReports(), checkpoints), kafka)
    opened.callback(job.serve(settings.metrics_listen))
    status = StatusWriter(kafka, "clientscope-stream", partial(job_status, job.supervisor.watched, job.metrics, now_ms()))
    recorder = Recorder(kafka, settings.history_dir, max(1, min(60, int(settings.history_interval_seconds))))
    for each in (status, recorder):
        each.start()
        opened.callback(each.stop)
    opened.callback(job.supervisor.stop)
    try:
        job.await_first_batches(stop)
        settle()
        print(f"clientscope stream: ready, {sum(each.well for each in job.supervisor.watched)} queries", flush=True)
        while not stop.wait(_WATCH_S):
            job.look()
        job.stop()
    except Replaced:
        job.stop(_REPLACED_S)
        raise


def _session(settings: StreamSettings, kafka: KafkaAccess) -> SparkSession:
    if submitted():
        return session(settings)
    os.environ.update(kafka.java_environment())  # the JVM inherits it; an option would be shown in plans and logs
    with children_ignore_sigterm():  # the JVM has to outlive the queries' last batches, and ends with this process
        return session(settings, jars(installed().jars))


def _made(context: JobContext, kafka: KafkaAccess) -> _Job:
    try:
        with broker_errors(kafka):
            return _Job(context, kafka)
    except PySparkException as error:
        said = str(error).strip().splitlines()
        raise ClientscopeError(
            f"a query can't be started: {said[0][:500] if said else type(error).__name__}", "see the log above"
        ) from None


def _folder(parent: Path) -> TemporaryDirectory[str]:
    """For what Spark notes of this run's batches.

    Raises:
        SettingsError: the directory can't be written.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        return TemporaryDirectory(prefix="run-", dir=parent.absolute(), ignore_cleanup_errors=True)
    except OSError as error:
        hint = "choose a directory of this machine that you may write to"
        raise SettingsError(f"--checkpoint-dir: {parent} can't be written: {error.strerror}", hint) from None


def _taken_over(topic: JobTopic, kafka: KafkaAccess) -> float:
    """Seconds to wait for the job before, which stops its queries."""
    with broker_errors(kafka):
        try:
            return topic.take_over()
        except TransactionalIdAuthorizationFailedError:
            raise topics.no_right_on_transactional_id(kafka, TRANSACTIONAL_ID) from None


class _Job:
    """All queries, their metrics and their status."""

    def __init__(self, context: JobContext, kafka: KafkaAccess) -> None:
        settings, spark = context.settings, context.spark
        self.metrics = JobMetrics()
        self._conditions, self._checkpoints = context.conditions, context.checkpoints
        self._quality = Quality(settings.history_dir, self._conditions, self.metrics.registry) if settings.quality == "on" else None
        queries = wanted(settings)
        BatchReports(spark, queries, self._finished).listen()
        self._jvm_memory = memory_bean(spark)
        steps = {name: partial(query.step, context) for name, query in queries.items()}
        fatal = FatalRecords(spark, kafka, self._checkpoints, context.digest_key, steps, self._crashed)
        starts = {name: partial(query.start, context) for name, query in queries.items()}
        self.supervisor = Supervisor(
            starts,
            _LIVE,
            self._checkpoints,
            self._conditions,
            self.metrics,
            fatal.search,
            settings.history_interval_seconds,
        )
        self._looked_s = time.monotonic()
        self._reported_s = 0.0

    def serve(self, address: str) -> Callable[[], None]:
        """Answers probes and Prometheus; returns what stops that."""
        app = pages.metrics(self.metrics.registry)
        healthz = pages.probe(self._stuck, lambda: self.supervisor.problems() or "ok")
        served = {"/metrics": app, "/healthz": healthz, "/readyz": pages.probe(self.supervisor.problems)}
        return pages.serve("metrics-listen", address, served, refusals(self.metrics.registry))

    def await_first_batches(self, stop: StopRequest) -> None:
        """Returns once each live query has read its source at least once, or is parked; history may have to wait for them.

        Raises:
            ClientscopeError: none of that within two minutes.
        """
        self.supervisor.start()
        if self._quality is not None:
            self._quality.start()
        deadline = time.monotonic() + _START_TIMEOUT_S
        waiting = [each for each in self.supervisor.watched if each.name in _LIVE]
        while waiting and not stop.wait(0.1):
            self.look()
            waiting = [each for each in waiting if not each.begun and each.well]
            if time.monotonic() > deadline:
                raise ClientscopeError(f"queries do not start: {', '.join(each.name for each in waiting)}", "is the broker well?")

    def look(self) -> None:
        """To be called every second: what belongs to no single query.

        Raises:
            Replaced: as `run` says.
        """
        now = self._looked_s = time.monotonic()
        if ended := self._checkpoints.topic.replaced:
            raise ended
        if now - self._reported_s >= _REPORT_S:
            self._reported_s = now
            try:
                heap, other = self._jvm_memory.getHeapMemoryUsage().getUsed(), self._jvm_memory.getNonHeapMemoryUsage().getUsed()
            except Py4JError as error:  # a busy machine can reset a connection to the JVM; the next call takes a new one
                log.warning("the JVM's memory could not be measured, and is measured again: %s", error)
            else:
                self.metrics.set("jvm_memory_bytes", heap, "heap")
                self.metrics.set("jvm_memory_bytes", other, "nonheap")

    def _finished(self, report: StreamingQueryProgress) -> None:
        """Takes in the report of a batch, in Spark's thread."""
        self.metrics.finished(report)
        self._checkpoints.note(report.name, str(report.runId), read_to(report))
        quarantined = report.observedMetrics.get(QUARANTINED)
        topic = PLANS[report.name].topics[0]
        if quarantined is not None and self._quality is not None and topic in SUITES:
            self._quality.batch(topic, report.numInputRows, sum(quarantined.asDict().values()))

    def stop(self, patience_s: float = _LAST_BATCHES_S) -> None:
        """Each query after its current batch, if that ends in time; a batch that is cut off is done again at the next start."""
        unlogged_failures()
        self.supervisor.stop()
        if self._quality is not None:
            self._quality.stop()
        deadline = time.monotonic() + patience_s
        for running in [each.running for each in self.supervisor.watched if each.running is not None]:
            try:
                while running.query.isActive and running.query.status["isTriggerActive"] and time.monotonic() < deadline:
                    time.sleep(0.02)
                running.query.stop()
            except Py4JError as error:  # as in `look`; the others still stop after their batches
                log.warning("a query ends in the middle of its batch, which is done again at the next start: %s", error)
            running.close()

    def _crashed(self, topic: str, number: int) -> None:
        """Counts records of a topic that were found to kill the process that decodes them, and are skipped from now on. From any thread."""
        self.metrics.quarantined(topic, CRASHED, number)
        message = f"A record of {topic} killed the process that decodes it; it is in {QUARANTINE} and passed over: please report it."
        self._conditions.report(Condition("OP002", f"topic {topic}", True, "high", message, now_ms()))
        self.supervisor.hurry()

    def _stuck(self) -> str:
        silent_s = time.monotonic() - self._looked_s
        return f"the queries have not been checked for {silent_s:.0f} s" if silent_s > _STUCK_S else self.supervisor.stuck()
