"""The job's look at itself, which no single answer of the JVM may end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from streaming.job import _Job
from streaming.job_metrics import JobMetrics


class Memory:
    """A MemoryMXBean behind a connection that the JVM resets once."""

    def __init__(self, error: Py4JError) -> None:
        self._errors = [error]

    def getHeapMemoryUsage(self) -> Any:  # noqa: N802 - Java's name
        if self._errors:
            raise self._errors.pop()
        return SimpleNamespace(getUsed=lambda: 1 << 20)

    getNonHeapMemoryUsage = getHeapMemoryUsage  # noqa: N815


@pytest.mark.parametrize("error", [Py4JNetworkError("Answer from Java side is empty"), Py4JError("target object does not exist")])
def test_survives_a_reset_connection_to_the_jvm(error: Py4JError) -> None:
    metrics = JobMetrics()
    job: Any = SimpleNamespace(
        metrics=metrics,
        supervisor=SimpleNamespace(ends=None),
        _jvm_memory=Memory(error),
        _checkpoints=SimpleNamespace(topic=SimpleNamespace(replaced=None)),
    )

    def look() -> float | None:
        job._reported_s = -60.0  # so that the memory is due
        _Job.look(job)
        return metrics.registry.get_sample_value("clientscope_stream_jvm_memory_bytes", {"area": "heap"})

    assert look() is None, "this look goes without"
    assert look() == 1 << 20


def test_stops_every_query_where_one_cannot_be_asked() -> None:
    done: list[str] = []

    def running(name: str, status: Any) -> Any:
        query = SimpleNamespace(isActive=True, status=status, stop=lambda: done.append(f"{name} stopped"))
        return SimpleNamespace(running=SimpleNamespace(query=query, close=lambda: done.append(f"{name} closed")))

    class Reset:
        def __getitem__(self, key: str) -> bool:
            raise Py4JNetworkError("Answer from Java side is empty")

    watched = [running("results", Reset()), running("gauges", {"isTriggerActive": False})]
    job: Any = SimpleNamespace(supervisor=SimpleNamespace(stop=lambda: None, watched=watched), _quality=None)
    _Job.stop(job)
    assert done == ["results closed", "gauges stopped", "gauges closed"]
