"""Status of the job and of each query, for ``clientscope.status``."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from clientscope import __version__
from clientscope.clock import now_ms
from clientscope.model.status import Condition, ProcessStatus
from clientscope.status_writer import INTERVAL_S
from streaming.job_metrics import JobMetrics
from streaming.supervision import Watched


class JobStatus:
    """From any thread.

    Args:
        watched: the queries; one that isn't begun is starting.
    """

    def __init__(self, watched: Sequence[Watched], metrics: JobMetrics) -> None:
        self._watched, self._metrics = watched, metrics
        self._started_ms = now_ms()

    def now(self) -> Iterator[ProcessStatus]:
        """How all of it is."""
        problems = [each.problem for each in self._watched if each.problem]
        memory: dict[str, int] = {"python_memory_mib": self._metrics.python_bytes // 2**20}
        yield self._status("stream", socket.gethostname(), "warn" if problems else "ok", "; ".join(problems), memory)
        for each in self._watched:
            lag = self._metrics.lag(each.name)
            figures: dict[str, int] = {"restarts": each.restarts}
            if each.name == "live" and self._metrics.is_catching_up:
                figures["catching_up"] = 1
            condition: Condition = "failed" if each.problem else "ok" if each.begun else "starting"
            status = self._status("query", each.name, condition, each.problem, figures)
            yield replace(status, lag_records=lag.records, lag_ms=lag.ms, last_record_ms=lag.last_read_ms)

    def _status(
        self, kind: Literal["stream", "query"], name: str, condition: Condition, reason: str, figures: dict[str, int]
    ) -> ProcessStatus:
        return ProcessStatus(
            kind=kind,
            id=name,
            condition=condition,
            reason=reason,
            release=__version__,
            started_ms=self._started_ms,
            told_ms=now_ms(),
            interval_ms=int(INTERVAL_S * 1000),
            figures=figures,
        )
