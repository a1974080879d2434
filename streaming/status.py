"""Status of the job and of each query, for ``clientscope.status``."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from functools import partial

from clientscope import __version__
from clientscope.clock import now_ms
from clientscope.model.status import Condition, ProcessStatus
from clientscope.status_writer import INTERVAL_S
from streaming.job_metrics import JobMetrics
from streaming.supervision import Watched


def job_status(watched: Sequence[Watched], metrics: JobMetrics, started_ms: int) -> Iterator[ProcessStatus]:
    """How all of it is now.  From any thread.

    Args:
        watched: the queries; one that isn't begun is starting.
        started_ms: when the job did.
    """
    told = partial(ProcessStatus, release=__version__, started_ms=started_ms, told_ms=now_ms(), interval_ms=int(INTERVAL_S * 1000))
    problems = "; ".join(each.problem for each in watched if each.problem)
    memory = {"python_memory_mib": metrics.python_bytes // 2**20}
    yield told(kind="stream", id=socket.gethostname(), condition="warn" if problems else "ok", reason=problems, figures=memory)
    for each in watched:
        lag = metrics.lag(each.name)
        figures = {"restarts": each.restarts}
        if each.name == "live" and metrics.is_catching_up:
            figures["catching_up"] = 1
        condition: Condition = "failed" if each.problem else "ok" if each.begun else "starting"
        yield told(
            kind="query",
            id=each.name,
            condition=condition,
            reason=each.problem,
            lag_records=lag.records,
            lag_ms=lag.ms,
            last_record_ms=lag.last_read_ms,
            figures=figures,
        )
