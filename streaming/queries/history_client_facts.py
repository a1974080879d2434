"""The query ``history_client_facts``: ``clientscope.telemetry`` -> facts -> Delta, ``clientscope.quarantine``, `/metrics` and AN406."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from prometheus_client.core import Metric
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.clock import now_ms
from clientscope.records.topics import QUARANTINE, TELEMETRY
from streaming.findings.inputs import There, whereabouts
from streaming.findings.poll_intervals import PollInterval
from streaming.internals.frames import to_table
from streaming.job_metrics import JobMetrics
from streaming.queries.history import start_history
from streaming.queries.query import JobContext, JobQuery
from streaming.reporting_clients import COLUMNS, ReportingClients
from streaming.supervision import Plain
from streaming.transforms import history
from udfs.kernels.expectations import OF_TELEMETRY


class ClientFactsQuery(Plain):
    """The query, and the newest facts of each client that reports, which begin anew at each start."""

    def __init__(self, job: JobContext) -> None:
        self._lock = threading.Lock()
        self._clients = ReportingClients()
        self._polls = job.polls
        step = partial(history.telemetry, digest_key=job.digest_key)
        super().__init__(start_history(job, "history_client_facts", step, OF_TELEMETRY, self._written))

    def measure(self, metrics: JobMetrics) -> None:
        """Facts by version of a library."""
        metrics.client_facts(self._families)
        with self._lock:
            metrics.limits([self._clients.full])

    def _families(self) -> list[Metric]:
        with self._lock:
            return self._clients.families(now_ms())

    def _written(self, kept: DataFrame) -> None:
        rows, now = to_table(kept.select(F.unix_millis("timestamp").alias("at_ms"), "client_id", *COLUMNS)), now_ms()
        with self._lock:
            self._clients.take(rows, now)
        self._polls.take(_poll_intervals(rows), now)


def _poll_intervals(rows: pa.Table) -> Iterator[tuple[There, PollInterval]]:
    said = rows.filter(pc.field("poll_interval_max_ms").is_valid())
    names = ("cluster_id", "principal", "client_id", "client_address", "at_ms", "poll_interval_max_ms")
    for cluster, principal, client_id, address, at_ms, longest_ms in zip(*(said[name].to_pylist() for name in names), strict=True):
        yield whereabouts(cluster, principal, client_id, address), PollInterval(at_ms, longest_ms)


QUERY = JobQuery(
    start=ClientFactsQuery,
    reads=(TELEMETRY,),
    writes=(QUARANTINE,),
    kernel=lambda digest_key: partial(history.telemetry_rows, digest_key=digest_key),
    is_wanted=lambda settings: settings.client_telemetry,
)
