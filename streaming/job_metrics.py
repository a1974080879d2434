"""Metrics of the job on ``/metrics``: each query's progress as Spark reports it, by the official client library."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from pyspark.sql.streaming.listener import StreamingQueryProgress

from streaming.progress import unread
from streaming.sources import READ

QUARANTINE = "quarantine"
"""The observed metrics in which a history query counts what it doesn't keep, a column for each reason."""

CRASHED = "crashed"
"""The ``reason`` of records that kill the process that decodes them, beside `udfs.decoding.record_reader.REASONS` and the names of row
checks.
"""

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


class JobMetrics:
    """Fed with progress reports."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._rows = self._counter("input_rows", "Records read.", ["query"])
        self._batches = Histogram(
            "clientscope_stream_batch_seconds", "Duration of each batch.", ["query"], buckets=_SECONDS, registry=self.registry
        )
        self._phases = self._counter("batch_phase_seconds", "Time spent in each phase of a batch, by Spark's names.", ["query", "phase"])
        self._quarantined = self._counter("quarantined", "Records that can't be decoded or that fail a row check.", ["topic", "reason"])
        self._restarts = self._gauge("query_restarts", "Restarts of the query since the job started.", ["query"])
        self._running = self._gauge("query_running", "1 while the query runs, 0 while it is parked after a failure.", ["query"])
        self._progress = self._gauge(
            "last_progress_timestamp_seconds", "Time of the query's last progress report, Unix seconds.", ["query"]
        )
        self._newest = self._gauge(
            "read_timestamp_seconds", "When Kafka took the newest record of the query's last batch that had any, Unix seconds.", ["query"]
        )
        self._lag = self._gauge("lag_records", "Records that the query had not read yet at its last report.", list(_PARTITION))
        self._behind = self._gauge("lag_seconds", "Time since the query last reached the partition's end; 0 at the end.", list(_PARTITION))
        self._state_rows = self._gauge("state_rows", "Rows of the query's state.", ["query"])
        self._state_bytes = self._gauge("state_bytes", "Memory of the query's state.", ["query"])
        self._kept = self._gauge(
            "findings_kept", "Entries in the tables of the findings query: clients, applications, open connections, findings.", ["what"]
        )
        self._dropped = self._counter("findings_dropped", "Entries that the findings query dropped because a table was full.", ["what"])
        self._dropped_before: dict[str, int] = {}
        self._silence_paused = self._gauge(
            "silence_paused",
            "1 while Kafka is away, or gateways not heard since, or since the start, can't be lost yet.",
            [],
        )
        self.is_catching_up = False
        self._catching_up = self._gauge(
            "findings_catching_up", "1 while the findings query reads what was there at its start, and reports new leaks alone.", []
        )
        self._memory = self._gauge("jvm_memory_bytes", "Memory used by the driver's JVM, garbage included.", ["area"])
        self._lost = self._gauge(
            "lost_records", "Records that the query skipped since its last reset, since Kafka no longer had them.", list(_PARTITION)
        )
        self._fresh = self._gauge("fresh_lane_running", "1 while a second query reads new pushes, because results is far behind.", [])
        self._fresh_starts = self._gauge("fresh_lane_starts", "Starts of that second query since the job started.", [])
        self._fresh_failures = self._gauge("fresh_lane_failures", "Failures of that second query, at its start or later.", [])
        self._seen: dict[str, tuple[str, str]] = {}
        self._caught_up: dict[tuple[str, str, str], float] = {}
        self._lags: dict[str, Lag] = {}
        self._read_ms: dict[str, int] = {}

    def lag(self, query: str) -> Lag:
        """The lag at the query's last report. From any thread."""
        return self._lags.get(query, Lag())

    def watched(self, query: str, running: bool, restarts: int) -> None:
        """Whether a query runs."""
        self._running.labels(query).set(running)
        self._restarts.labels(query).set(restarts)

    def fresh_lane(self, running: bool, starts: int, failures: int) -> None:
        """Sets the metrics of `streaming.fresh_lane`."""
        self._fresh.set(running)
        self._fresh_starts.set(starts)
        self._fresh_failures.set(failures)

    def memory(self, heap: int, other: int) -> None:
        """Bytes that the JVM uses of its heap, and of its own besides (classes, compiled code)."""
        self._memory.labels("heap").set(heap)
        self._memory.labels("nonheap").set(other)

    def lost(self, records: Mapping[tuple[str, str, int], int]) -> None:
        """How many records were passed over, by query, topic and partition."""
        for place, number in records.items():
            self._lost.labels(*place).set(number)

    def state(self, query: str, rows: int, size_bytes: int) -> None:
        """What a query keeps itself, rather than in Spark's state store."""
        self._state_rows.labels(query).set(rows)
        self._state_bytes.labels(query).set(size_bytes)

    def silence_paused(self, paused: bool) -> None:
        """Whether the silence of gateways that were not heard since an outage isn't measured yet."""
        self._silence_paused.set(paused)

    def catching_up(self, still: bool) -> None:
        """Whether the findings query still reads what was there at its start."""
        self.is_catching_up = still
        self._catching_up.set(still)

    @property
    def python_bytes(self) -> int:
        """Resident memory of this process; 0 where the system doesn't say."""
        return int(self.registry.get_sample_value("process_resident_memory_bytes") or 0)

    def kept(self, sizes: Mapping[str, int]) -> None:
        """How much the findings query remembers of what."""
        for what, number in sizes.items():
            self._kept.labels(what).set(number)

    def dropped(self, counts: Mapping[str, int]) -> None:
        """How much it left out of what since the query was started, which begins at 0 again."""
        for what, number in counts.items():
            before = self._dropped_before.get(what, 0)
            self._dropped.labels(what).inc(number - before if number >= before else number)
        self._dropped_before = dict(counts)

    def crashed(self, topic: str, number: int) -> None:
        """Counts records of a topic that were found to kill the process that decodes them. From any thread."""
        self._quarantined.labels(topic, CRASHED).inc(number)

    def finished(self, report: StreamingQueryProgress, now: float | None = None) -> None:
        """Counts a batch.  To be called once for each, in any thread.

        Args:
            now: seconds since the epoch.
        """
        now, query = time.time() if now is None else now, report.name
        self._progress.labels(query).set(now)
        if report.numInputRows:
            self._read_ms[query] = int(now * 1000)
        self._rows.labels(query).inc(report.numInputRows)
        self._batches.labels(query).observe(report.durationMs.get("triggerExecution", 0) / 1000)
        for phase, milliseconds in report.durationMs.items():
            if phase != "triggerExecution":
                self._phases.labels(query, phase).inc(milliseconds / 1000)
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
        self._progress.labels(query).set(now)
        self._offsets(query, report.sources, now)
        for operator in report.stateOperators:
            self._state_rows.labels(query).set(operator.numRowsTotal)
            self._state_bytes.labels(query).set(operator.memoryUsedBytes)

    def _observed(self, report: StreamingQueryProgress) -> None:
        read = report.observedMetrics.get(READ)
        if read is not None and read["newest_ms"] is not None:
            self._newest.labels(report.name).set(read["newest_ms"] / 1000)
        observed = report.observedMetrics.get(QUARANTINE)
        if observed is not None:
            topic = next(iter(json.loads(report.sources[0].endOffset)))
            for reason, number in observed.asDict().items():
                if number:
                    self._quarantined.labels(topic, reason).inc(number)

    def _offsets(self, query: str, sources: Iterable[Any], now: float) -> None:
        records, behind_s = 0, 0.0
        for source in sources:
            for place, lag in unread(source).items():
                key = (query, *place)
                if not lag:
                    self._caught_up[key] = now
                self._lag.labels(*key).set(lag)
                self._behind.labels(*key).set(now - self._caught_up.setdefault(key, now))
                records, behind_s = records + lag, max(behind_s, now - self._caught_up[key])
        self._lags[query] = Lag(records, int(behind_s * 1000), self._read_ms.get(query))

    def _counter(self, name: str, text: str, labels: list[str]) -> Counter:
        return Counter(f"clientscope_stream_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, labels: list[str]) -> Gauge:
        return Gauge(f"clientscope_stream_{name}", text, labels, registry=self.registry)
