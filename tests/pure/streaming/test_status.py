"""Status of the job and its queries on ``clientscope.status``."""

from __future__ import annotations

from scripted_query import ScriptedQuery

from streaming.job_metrics import JobMetrics
from streaming.status import job_status
from streaming.supervision import Watched


def test_it_says_what_the_driver_takes_and_whether_findings_catch_up() -> None:
    metrics = JobMetrics()
    watched = [Watched(name, ScriptedQuery) for name in ("live", "history_pushes")]
    metrics.catching_up(True)
    stream, live, history = job_status(watched, metrics, 0)
    assert (stream.kind, stream.condition) == ("stream", "ok")
    assert 10 < stream.figures["python_memory_mib"] < 10_000
    assert (live.figures, history.figures) == ({"restarts": 0, "catching_up": 1}, {"restarts": 0})
    metrics.catching_up(False)
    assert list(job_status(watched, metrics, 0))[2].figures == {"restarts": 0}


def test_a_query_that_is_parked_has_failed_and_says_why() -> None:
    query = ScriptedQuery()
    watched = Watched("results", lambda: query)
    query.fail("broken")
    watched.look(1.0)
    stream, results = job_status([watched], JobMetrics(), 0)
    assert (results.condition, stream.condition) == ("failed", "warn")
    assert "broken" in results.reason
    assert results.reason == stream.reason
