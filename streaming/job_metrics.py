"""Metrics of the job on ``/metrics``: each query's progress as Spark reports it, by the official client library."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import Metric
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streaming.limits import Overflow
from streaming.reporting_clients import ClientFactsCollector
from streaming.sources import READ
from streaming.spark import unread

QUARANTINE = "quarantine"
"""The observed metrics in which a history query counts what it doesn't keep, a column for each reason."""

PASSED_OVER = "passed_over"
"""The ``reason`` of records that an engine failed at; they stay on their topic."""

CRASHED = "crashed"
"""The ``reason`` of records that kill the process that decodes them, beside those of `clientscope.model.codec.reasons`."""

_SECONDS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0)
_PARTITION = ("query", "topic", "partition")


@dataclass(frozen=True)
class Lag:
    """How far a query is behind its topics; all None before its first report.

    Attributes:
        records: that it had still to read.
        ms: for how long it hasn't read all partitions to their ends.
        last_read_ms: since the epoch, when it last read a record; None while it has read none.
    """

    records: int | None = None
    ms: int | None = None
    last_read_ms: int | None = None


_COUNTERS = {
    "input_rows": ("Records read.", ("query",)),
    "batch_phase_seconds": ("Time spent in each phase of a batch, by Spark's names.", ("query", "phase")),
    "quarantined": ("Records that can't be read, or were passed over.", ("topic", "reason")),
    "limit_reached": (
        "Entries that findings or gauges left out, counted under other or removed because of a limit (docs/operating.md).",
        ("limit",),
    ),
}
_GAUGES = {
    "query_restarts": ("Restarts of the query since the job started.", ("query",)),
    "query_running": ("1 while the query runs, 0 while it is parked after a failure.", ("query",)),
    "last_progress_timestamp_seconds": ("Time of the query's last progress report, Unix seconds.", ("query",)),
    "read_timestamp_seconds": ("Time at which Kafka took the newest record that the query has read, Unix seconds.", ("query",)),
    "lag_records": ("Records that the query had not read yet at its last report.", _PARTITION),
    "lag_seconds": ("Time since the query last reached the partition's end; 0 at the end.", _PARTITION),
    "state_rows": ("Series and gateways that the engine of gauges keeps.", ("query",)),
    "findings_kept": (
        "Entries in the tables of the engine of findings: clients, applications, open connections, findings; ranges of closed connections.",
        ("what",),
    ),
    "silence_paused": ("1 while silent gateways can't be reported as lost yet: Kafka is or was away, or the job has just started.", ()),
    "engine_lag_records": ("Records of the live query that the engines of findings and gauges have not taken in yet.", ("topic",)),
    "findings_catching_up": ("1 while the engine of findings reads the records that existed at its start, and reports only new leaks.", ()),
    "jvm_memory_bytes": ("Memory used by the driver's JVM, garbage included.", ("area",)),
    "lost_records": ("Records that the query skipped since its last reset, since Kafka no longer had them.", _PARTITION),
}


class JobMetrics:
    """Fed with progress reports.

    Attributes:
        is_catching_up: whether the engine of findings still reads what was there at its start.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._counters = {
            name: Counter(f"clientscope_stream_{name}", text, labels, registry=self.registry) for name, (text, labels) in _COUNTERS.items()
        }
        self._gauges = {
            name: Gauge(f"clientscope_stream_{name}", text, labels, registry=self.registry) for name, (text, labels) in _GAUGES.items()
        }
        self._batches = Histogram(
            "clientscope_stream_batch_seconds", "Duration of each batch.", ["query"], buckets=_SECONDS, registry=self.registry
        )
        self._client_facts = ClientFactsCollector()
        self.registry.register(self._client_facts)
        self.is_catching_up = False
        self._left_out: dict[str, int] = {}
        self._seen: dict[str, tuple[str, str]] = {}
        self._caught_up: dict[tuple[str, str, int], float] = {}
        self._lags: dict[str, Lag] = {}
        self._read_ms: dict[str, int] = {}

    def lag(self, query: str) -> Lag:
        """The lag at the query's last report. From any thread."""
        return self._lags.get(query, Lag())

    def set(self, name: str, value: float, *labels: str | int) -> None:
        """Sets one of `_GAUGES`. From any thread."""
        gauge = self._gauges[name]
        (gauge.labels(*labels) if labels else gauge).set(value)

    def quarantined(self, topic: str, reason: str, number: int) -> None:
        """Counts records of a topic that can't be read (`CRASHED`), or that an engine failed at (`PASSED_OVER`). From any thread."""
        self._count("quarantined", topic, reason, by=number)

    def lost(self, records: Mapping[tuple[str, str, int], int]) -> None:
        """How many records were passed over, by query, topic and partition."""
        for place, number in records.items():
            self.set("lost_records", number, *place)

    def catching_up(self, still: bool) -> None:
        """Whether the engine of findings still reads what was there at its start."""
        self.is_catching_up = still
        self.set("findings_catching_up", still)

    @property
    def python_bytes(self) -> int:
        """Resident memory of this process; 0 where the system doesn't say."""
        return int(self.registry.get_sample_value("process_resident_memory_bytes") or 0)

    def limits(self, overflows: Iterable[Overflow]) -> None:
        """How much each limit left out since its query was started, which begins at 0 again."""
        for each in overflows:
            name, number = each.limit.name, each.count
            before = self._left_out.get(name, 0)
            self._count("limit_reached", name, by=number - before if number >= before else number)
            self._left_out[name] = number

    def client_facts(self, ask: Callable[[], list[Metric]]) -> None:
        """Has each scrape ask what clients say that push metrics of their own, as `streaming.reporting_clients` has it."""
        self._client_facts.ask = ask

    def finished(self, report: StreamingQueryProgress, now: float | None = None) -> None:
        """Counts a batch.  To be called once for each, in any thread.

        Args:
            now: seconds since the epoch.
        """
        now, query = time.time() if now is None else now, report.name
        self.set("last_progress_timestamp_seconds", now, query)
        if report.numInputRows:
            self._read_ms[query] = int(now * 1000)
        self._count("input_rows", query, by=report.numInputRows)
        self._batches.labels(query).observe(report.durationMs.get("triggerExecution", 0) / 1000)
        for phase, milliseconds in report.durationMs.items():
            if phase != "triggerExecution":
                self._count("batch_phase_seconds", query, phase, by=milliseconds / 1000)
        self._observed(report)

    def progressed(self, query: str, report: StreamingQueryProgress, now: float | None = None) -> None:
        """Takes in a query's newest report, of a batch or of none; one that has been taken in already says nothing new.

        Args:
            now: seconds since the epoch.
        """
        place = str(report.runId), report.timestamp
        if self._seen.get(query) == place:
            return
        self._seen[query] = place
        now = time.time() if now is None else now
        self.set("last_progress_timestamp_seconds", now, query)
        self._offsets(query, report.sources, now)

    def _observed(self, report: StreamingQueryProgress) -> None:
        read = report.observedMetrics.get(READ)
        if read is not None and read["newest_ms"] is not None:
            self.set("read_timestamp_seconds", read["newest_ms"] / 1000, report.name)
        observed = report.observedMetrics.get(QUARANTINE)
        if observed is not None:
            topic = next(iter(json.loads(report.sources[0].endOffset)))
            for reason, number in observed.asDict().items():
                if number:
                    self._count("quarantined", topic, reason, by=number)

    def _offsets(self, query: str, sources: Iterable[Any], now: float) -> None:
        records, behind_s = 0, 0.0
        for source in sources:
            for place, lag in unread(source).items():
                key = (query, *place)
                if not lag:
                    self._caught_up[key] = now
                self.set("lag_records", lag, *key)
                self.set("lag_seconds", now - self._caught_up.setdefault(key, now), *key)
                records, behind_s = records + lag, max(behind_s, now - self._caught_up[key])
        self._lags[query] = Lag(records, int(behind_s * 1000), self._read_ms.get(query))

    def _count(self, name: str, *labels: str, by: float = 1) -> None:
        self._counters[name].labels(*labels).inc(by)
