"""``clientscope stream``: starts the queries, watches them, stops them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from functools import partial

import pyspark
from kafka.errors import KafkaError
from prometheus_client import make_wsgi_app
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from clientscope import pages, topics
from clientscope.bounded_http import refusals
from clientscope.config import StreamSettings
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.kafka_access import KafkaAccess
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import StopRequest, children_ignore_sigterm
from clientscope.policy.redaction import DigestKey
from clientscope.profiles import owners, rules_file
from clientscope.profiles.owners import Owners
from clientscope.profiles.rules_file import RulesFile
from clientscope.records.topics import CONFIGS, CONNECTIONS, DECISIONS, FINDINGS, GAUGES, QUARANTINE, RESULTS, STATUS
from clientscope.status.writer import StatusWriter
from sinks.findings.conditions import Condition, Conditions
from sinks.findings.told import Policy
from sinks.history.recorder import Recorder
from sinks.quality.quality import DATA_DOCS, Quality
from streaming.checkpoints.at_start import Checkpoints
from streaming.checkpoints.plans import PLANS
from streaming.culprits.search import Culprits
from streaming.fresh_lane import FreshLane
from streaming.job_metrics import JobMetrics
from streaming.progress import all_unread, read_to
from streaming.queries.findings import FindingsQuery
from streaming.queries.gauges import GaugesQuery
from streaming.queries.history import start_history_of_connections, start_history_of_pushes
from streaming.queries.results import FreshResults, start_results
from streaming.session import session, shuffle_partitions, submitted
from streaming.status import JobStatus
from streaming.supervision import Plain, Restarts, Running, Watched
from streaming.turns import LIVE, Turns, live_queries_behind
from udfs.rules import LIMITS

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_WATCH_S = 1.0
_START_TIMEOUT_S = 120.0
# Kubernetes kills 30 s after its SIGTERM: what waits for a broker that is gone ends before, and is done again at the next start.
_LAST_BATCHES_S = 10.0
_STOP_LIMIT_S = 20.0
_STUCK_S = 60.0
_TELL_S = 5.0
"""How often Spark is asked for its reports, each of which it writes as JSON: more often would cost the queries time."""


def run(settings: StreamSettings) -> None:
    """Runs the job until SIGTERM or SIGINT, then stops each query after its current batch; in 20 s at most.  For the main thread.

    Raises:
        EnvironmentProblem: no Java, no broker, or topics that are missing or otherwise than ``clientscope topics`` makes them.
        SettingsError: the digest key, the rules file or the owners can't be read, or are wrong.
        Locked: another job has the checkpoint directory.
        Refused: a checkpoint can't be gone on with: damaged, another's, its topic has lost records, or was made again; says what to do.
        ClientscopeError: a query failed in a way that starting it again can't mend; says what can.
    """
    with StopRequest().installed(_STOP_LIMIT_S) as stop:
        _run(settings, stop)


def _run(settings: StreamSettings, stop: StopRequest) -> None:
    _require_paths(settings)
    digest_key = DigestKey.read(settings.digest_key_file) if settings.digest_key_file else None
    rules = rules_file.read(settings.rules_file, LIMITS) if settings.rules_file else RulesFile()
    owned = owners.read(settings.owners) if settings.owners else Owners()
    if not submitted():
        java()
    kafka = KafkaAccess.of(settings)
    topics.verify(
        kafka, reads=(CONFIGS, CONNECTIONS, DECISIONS, FINDINGS, GAUGES), writes=(CONFIGS, RESULTS, FINDINGS, GAUGES, QUARANTINE, STATUS)
    )
    found = Checkpoints(settings.checkpoint_dir, settings.history_dir, kafka, pyspark.__version__, shuffle_partitions(settings))
    with found.held() as checkpoints:
        _run_on(checkpoints, settings, digest_key, rules, owned, kafka, stop)


def _run_on(
    checkpoints: Checkpoints,
    settings: StreamSettings,
    digest_key: DigestKey | None,
    rules: RulesFile,
    owned: Owners,
    kafka: KafkaAccess,
    stop: StopRequest,
) -> None:
    if submitted():
        spark = session(settings)
    else:
        os.environ.update(kafka.java_environment())  # the JVM inherits it; an option would be shown in plans and logs
        with children_ignore_sigterm():  # the JVM has to outlive the queries' last batches, and ends with this process
            spark = session(settings, jars("spark"))
    try:
        if stop.wait(0):  # while the JVM started
            return
        try:
            job = _Job(spark, settings, digest_key, rules, owned, checkpoints)
        except (KafkaError, TimeoutError) as error:
            raise topics.no_broker(kafka, error) from None
        except PySparkException as error:
            said = str(error).strip().splitlines()
            raise ClientscopeError(
                f"a query can't be started: {said[0][:500] if said else type(error).__name__}", "see the log above"
            ) from None
        stop_pages = job.serve(settings.metrics_listen)
        recorder = Recorder(kafka, settings.history_dir)
        status = StatusWriter(kafka, "clientscope-stream", JobStatus(job.watched, job.metrics).now)
        status.start()
        recorder.start()
        try:
            job.await_first_batches(stop)
            print(f"clientscope stream: ready, {len(job.watched)} queries", flush=True)
            while not stop.wait(_WATCH_S):
                job.look()
            job.stop()
        finally:
            recorder.stop()
            status.stop()
            stop_pages()
    finally:
        spark.stop()


def _require_paths(settings: StreamSettings) -> None:
    for name, path in (("checkpoint-dir", settings.checkpoint_dir), ("history-dir", settings.history_dir)):
        if _ADDRESS.match(str(path)):
            raise SettingsError(f"--{name} {path}: this is an address, and must be a path", "mount it; docs/cluster.md, Object stores")


class _Job:
    """All queries, and what is told of them."""

    def __init__(
        self,
        spark: SparkSession,
        settings: StreamSettings,
        digest_key: DigestKey | None,
        rules: RulesFile,
        owned: Owners,
        checkpoints: Checkpoints,
    ) -> None:
        conditions, policy = Conditions(), Policy(owned, rules.suppressions)
        self._turns = Turns(partial(live_queries_behind, spark))
        self.metrics = JobMetrics()
        quality = Quality(settings.history_dir / DATA_DOCS, conditions, self.metrics.registry) if settings.quality == "on" else None
        self._fresh = None if settings.backlog_first else FreshLane(partial(FreshResults, spark, settings, digest_key, rules.thresholds))
        if self._fresh is not None:  # before the backlog has the cores
            self._fresh.told(checkpoints.unread("results"))
            self._fresh.look()
        starts: dict[str, Callable[[], Running]] = {
            "gauges": lambda: GaugesQuery(spark, settings, digest_key, conditions),
            "results": lambda: Plain(start_results(spark, settings, digest_key, rules.thresholds)),
            "findings": lambda: FindingsQuery(spark, settings, digest_key, rules.thresholds, policy, conditions, self._turns),
            "history_pushes": lambda: Plain(start_history_of_pushes(spark, settings, self._turns, digest_key, quality)),
            "history_connections": lambda: Plain(start_history_of_connections(spark, settings, self._turns, digest_key, quality)),
        }
        self._topics = checkpoints.watch()
        self.metrics.lost(checkpoints.lost())
        self._jvm_memory = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
        culprits = Culprits(settings, digest_key, partial(self._crashed, conditions))
        self.watched = [
            Watched(name, start, before_again=partial(_examine, checkpoints, name), search=partial(culprits.search, name))
            if name in PLANS
            # What has no checkpoint can't have a damaged one, and fails at no record that others don't: it waits until they have found it.
            else Watched(name, start, Restarts(most=None), begins_anew=True)
            for name, start in starts.items()
        ]
        self._looked_s = time.monotonic()
        self._told_s = 0.0

    def serve(self, address: str) -> Callable[[], None]:
        """Answers probes and Prometheus; returns what stops that."""
        app = make_wsgi_app(self.metrics.registry)
        healthz = pages.probe(self._stuck, lambda: self._not_running() or "ok")
        served = {"/metrics": app, "/healthz": healthz, "/readyz": pages.probe(self._not_running)}
        return pages.serve("metrics-listen", address, served, refusals(self.metrics.registry))

    def await_first_batches(self, stop: StopRequest) -> None:
        """Returns once each live query has read its source at least once; history may have to wait for them."""
        self._topics.start()
        deadline = time.monotonic() + _START_TIMEOUT_S
        waiting = [each for each in self.watched if each.name in LIVE]
        while waiting and not stop.wait(0.1):
            self.look()
            waiting = [each for each in waiting if not each.begun]
            if time.monotonic() > deadline:
                raise ClientscopeError(f"queries do not start: {', '.join(each.name for each in waiting)}", "is the broker well?")

    def look(self) -> None:
        """Starts again what has failed, and takes in what Spark tells."""
        now = self._looked_s = time.monotonic()
        self._topics.check()
        tells = now - self._told_s >= _TELL_S
        self._told_s = now if tells else self._told_s
        for each in self.watched:
            each.look(now)
            self.metrics.watched(each.name, each.running is not None, each.restarts)
            if tells and each.running is not None:
                reports = each.running.query.recentProgress
                self.metrics.progressed(each.name, reports)
                if reports:
                    self._topics.read(each.name, read_to(reports[-1]))
                if each.name == "results" and reports and self._fresh is not None:
                    self._fresh.told(all_unread(reports[-1]))
                if isinstance(each.running, GaugesQuery):
                    self.metrics.state(each.name, *each.running.size())
                if isinstance(each.running, FindingsQuery):
                    self.metrics.kept(each.running.sizes())
                    self.metrics.dropped(each.running.dropped())
        if self._fresh is not None:
            self._fresh.look()
            self.metrics.fresh_lane(self._fresh.running, self._fresh.starts, self._fresh.failures)
        if tells:
            heap, other = (usage.getUsed() for usage in (self._jvm_memory.getHeapMemoryUsage(), self._jvm_memory.getNonHeapMemoryUsage()))
            self.metrics.memory(heap, other)

    def stop(self) -> None:
        """Each query after its current batch, if that ends in time; a batch that is cut off is done again at the next start."""
        self._turns.stop()
        self._topics.stop()
        if self._fresh is not None:
            self._fresh.stop()
        deadline = time.monotonic() + _LAST_BATCHES_S
        for running in [each.running for each in self.watched if each.running is not None]:
            while running.query.isActive and running.query.status["isTriggerActive"] and time.monotonic() < deadline:
                time.sleep(0.02)
            running.query.stop()
            running.close()

    def _crashed(self, conditions: Conditions, topic: str, number: int) -> None:
        """So many records of a topic were found to kill whoever decodes them, and are passed over from now on. From any thread."""
        self.metrics.crashed(topic, number)
        message = f"A record of {topic} killed the process that decodes it; it is in {QUARANTINE} and passed over: please report it."
        conditions.tell(Condition("OP002", topic, True, "high", message, time.time_ns() // 1_000_000))
        for each in self.watched:
            each.hurry()

    def _not_running(self) -> str:
        return "; ".join(each.problem for each in self.watched if each.problem)

    def _stuck(self) -> str:
        silent_s = time.monotonic() - self._looked_s
        return f"nobody has looked after the queries for {silent_s:.0f} s" if silent_s > _STUCK_S else ""


def _examine(checkpoints: Checkpoints, query: str) -> None:
    try:
        checkpoints.examine(query)
    except EnvironmentProblem as error:  # a broker that comes back, for all that is known
        raise TimeoutError(str(error)) from None
