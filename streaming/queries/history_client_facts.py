"""The query ``history_client_facts``: ``clientscope.telemetry`` -> facts -> Delta, quarantine, `/metrics`, rules that judge facts."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pyarrow as pa
from prometheus_client.core import Metric
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.clock import now_ms
from clientscope.model.topics import QUARANTINE, TELEMETRY
from streaming import transforms
from streaming.findings.fact_reports import FactReport
from streaming.findings.inputs import whereabouts
from streaming.job_metrics import JobMetrics
from streaming.queries.history import start_history
from streaming.queries.query import JobContext, JobQuery
from streaming.reporting_clients import COLUMNS, ReportingClients
from streaming.spark import to_table
from streaming.supervision import Running
from udfs.kernels.client_facts import REASONS, TOPICS

_REPORTED = FactReport._fields[2:]
"""What it has of a row."""

_READ = tuple(dict.fromkeys(("client_id", *COLUMNS, *_REPORTED)))


def _step(job: JobContext, records: DataFrame) -> DataFrame:
    return transforms.telemetry(records, job.digest_key)


class ClientFactsQuery(Running):
    """The query, and the newest facts of each client that reports, which begin anew at each start."""

    def __init__(self, job: JobContext) -> None:
        self._lock = threading.Lock()
        self._clients = ReportingClients()
        self._reports, self._conditions = job.reports, job.conditions
        super().__init__(start_history(job, "history_client_facts", _step, REASONS, self._written, [TOPICS.name]))

    def measure(self, metrics: JobMetrics) -> None:
        """Facts by version of a library."""
        metrics.client_facts(self._families)
        with self._lock:
            metrics.limits([self._clients.full])
            if (condition := self._clients.full.condition(now_ms())) is not None:
                self._conditions.report(condition)

    def _families(self) -> list[Metric]:
        with self._lock:
            return self._clients.families(now_ms())

    def _written(self, kept: DataFrame) -> None:
        rows, now = to_table(kept.select(F.unix_millis("timestamp").alias("at_ms"), *_READ)), now_ms()
        with self._lock:
            self._clients.take(rows, now)
        self._reports.take(_reports(rows), now)


def _reports(rows: pa.Table) -> Iterator[FactReport]:
    named = (rows[name].to_pylist() for name in ("cluster", "principal", "client_id", "address"))
    facts = (rows[name].to_pylist() for name in _REPORTED)
    for *who, at_ms, said in zip(*named, rows["at_ms"].to_pylist(), zip(*facts, strict=True), strict=True):
        yield FactReport(whereabouts(*who), at_ms, *said)


QUERY = JobQuery(
    start=ClientFactsQuery,
    reads=(TELEMETRY,),
    writes=(QUARANTINE,),
    step=_step,
    is_wanted=lambda settings: settings.client_telemetry,
)
