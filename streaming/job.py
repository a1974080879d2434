"""``clientscope stream``: starts the queries, watches them, stops them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence

from kafka.errors import KafkaError
from pyspark.sql.streaming import StreamingQuery

from clientscope import topics
from clientscope.config import StreamSettings
from clientscope.errors import ClientscopeError
from clientscope.kafka_access import KafkaAccess
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import StopRequest, children_ignore_sigterm
from clientscope.policy.redaction import DigestKey
from clientscope.records.topics import CONFIGS, CONNECTIONS, GAUGES, QUARANTINE, RESULTS
from streaming.queries.gauges import GaugesQuery
from streaming.queries.history import start_history
from streaming.queries.results import start_results
from streaming.session import session

log = logging.getLogger(__name__)

_WATCH_S = 1.0
_START_TIMEOUT_S = 120.0
# Kubernetes kills 30 s after its SIGTERM: what waits for a broker that is gone ends before, and is done again at the next start.
_LAST_BATCHES_S = 10.0
_STOP_LIMIT_S = 20.0


def run(settings: StreamSettings) -> None:
    """Runs the job until SIGTERM or SIGINT, then stops each query after its current batch; in 20 s at most.  For the main thread.

    Raises:
        EnvironmentProblem: no Java, no broker, or topics that are missing or otherwise than ``clientscope topics`` makes them.
        SettingsError: the digest key can't be read.
        ClientscopeError: a query failed; started again, the job goes on from where that one stood.
    """
    with StopRequest().installed(_STOP_LIMIT_S) as stop:
        _run(settings, stop)


def _run(settings: StreamSettings, stop: StopRequest) -> None:
    digest_key = DigestKey.read(settings.digest_key_file) if settings.digest_key_file else None
    java()
    kafka = KafkaAccess.of(settings)
    topics.verify(kafka, reads=(CONFIGS, CONNECTIONS, GAUGES), writes=(RESULTS, GAUGES, QUARANTINE))
    os.environ.update(kafka.java_environment())  # the JVM inherits it; an option would be shown in plans and logs
    with children_ignore_sigterm():  # the JVM has to outlive the queries' last batches, and ends with this process
        spark = session(settings, jars("spark"))
    try:
        if stop.wait(0):  # while the JVM started
            return
        try:
            gauges = GaugesQuery(spark, settings)
        except (KafkaError, TimeoutError) as error:
            raise topics.no_broker(kafka, error) from None
        results = start_results(spark, settings, digest_key)
        queries = (results, gauges.query, *start_history(spark, settings, digest_key))
        _await_first_batches(queries, stop)
        print(f"clientscope stream: ready, {len(queries)} queries", flush=True)
        while not stop.wait(_WATCH_S):
            _check(queries)
            gauges.expire()
        _stop(queries)
        gauges.close()
    finally:
        spark.stop()


def _await_first_batches(queries: Sequence[StreamingQuery], stop: StopRequest) -> None:
    """Returns once each query has read its source at least once."""
    deadline = time.monotonic() + _START_TIMEOUT_S
    waiting = list(queries)
    while waiting and not stop.wait(0.1):
        _check(queries)
        waiting = [query for query in waiting if query.lastProgress is None and not _idle(query)]
        if time.monotonic() > deadline:
            raise ClientscopeError(f"queries do not start: {', '.join(query.name or '' for query in waiting)}", "is the broker well?")


def _idle(query: StreamingQuery) -> bool:
    status = query.status
    return not status["isTriggerActive"] and "Initializing" not in status["message"]


def _check(queries: Sequence[StreamingQuery]) -> None:
    for query in queries:
        if not query.isActive:
            # The whole trace is in the log; its first line is what a person can use.
            cause = str(query.exception()).strip().splitlines()
            raise ClientscopeError(f"query {query.name} failed: {cause[0] if cause else 'without a cause'}", "see the log above")


def _stop(queries: Sequence[StreamingQuery]) -> None:
    """Each after its current batch, if that ends in time; a batch that is cut off is done again at the next start."""
    deadline = time.monotonic() + _LAST_BATCHES_S
    for query in queries:
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.02)
        query.stop()
