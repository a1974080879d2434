"""F47: supervision of each query by itself: a wait or a failure of one doesn't affect another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from job_topics import begun, cluster, only
from patience import until
from py4j.protocol import Py4JNetworkError
from scripted_query import ScriptedQuery

from clientscope.findings.conditions import Conditions
from clientscope.model.topics import CONFIGS, CONNECTIONS
from streaming.checkpoints import topics_now
from streaming.checkpoints.plans import PLANS
from streaming.job_checkpoints import Checkpoints
from streaming.job_metrics import JobMetrics
from streaming.supervision import Supervisor, report_lost

FULL = "java.io.IOException: No space left on device"


class Job:
    """Queries by their names, and what is said of them."""

    def __init__(self, history: Path) -> None:
        self.queries = {name: [ScriptedQuery()] for name in PLANS}
        for queries in self.queries.values():
            queries[0].finishes()
        self.conditions, self.metrics = Conditions(), JobMetrics()
        self.waits: dict[str, Callable[[], None]] = {}
        self.started: set[str] = set()
        self.checkpoints = Checkpoints(
            begun(), "broker:1", Path("/c"), str(history),  # type: ignore[arg-type]
            lambda query, lost: report_lost(self.conditions, query, lost), "4.2.0",
        )  # fmt: skip
        self.supervisor = Supervisor(
            {name: self.starts(name) for name in self.queries}, ("live",), self.checkpoints, self.conditions,
            self.metrics, lambda query: False, 60.0, look_s=0.02,
        )  # fmt: skip

    def starts(self, name: str) -> Callable[[], Any]:
        def start() -> ScriptedQuery:
            self.checkpoints.begin(name)
            if name in self.started:
                self.waits.get(name, lambda: None)()
                self.queries[name].append(ScriptedQuery())
            self.started.add(name)
            return self.queries[name][-1]

        return start

    def metric(self, name: str, query: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"clientscope_stream_{name}", {"query": query})


@pytest.fixture
def checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Of all queries, each after 50 of 60 records."""
    kafka = SimpleNamespace(path=tmp_path, said=cluster())
    kafka.lose = lambda: setattr(kafka, "said", cluster(begin=53))
    monkeypatch.setattr(topics_now, "ask", lambda _, names: only(names, kafka.said))
    return kafka


@pytest.fixture
def job(checkpoints: SimpleNamespace) -> Iterator[Job]:
    job = Job(checkpoints.path)
    yield job
    job.supervisor.stop()


def test_a_query_that_waits_for_kafka_holds_up_no_other(job: Job) -> None:
    answers = threading.Event()
    job.waits["live"] = lambda: answers.wait(30) and None
    job.supervisor.start()
    try:
        job.queries["live"][0].fail("broken")
        until(lambda: "live is parked" in job.supervisor.problems())
        ticks = job.queries["history_pushes"][0].ticks
        until(lambda: job.queries["history_pushes"][0].ticks >= ticks + 3)
        assert (job.metric("query_running", "history_pushes"), job.metric("query_running", "live")) == (1, 0)
        assert job.supervisor.stuck() == ""
    finally:
        answers.set()
    until(lambda: len(job.queries["live"]), 2)


class UnreachableQuery(ScriptedQuery):
    """A query whose JVM resets the connection, a few times."""

    resets = 3

    @property
    def isActive(self) -> bool:  # type: ignore[override]  # noqa: N802 - Spark's name
        if self.resets:
            self.resets -= 1
            raise Py4JNetworkError("Error while sending or receiving")
        return self._active

    @isActive.setter
    def isActive(self, active: bool) -> None:  # noqa: N802
        self._active = active


def test_a_query_is_still_supervised_after_its_jvm_has_reset_connections(job: Job) -> None:
    query = UnreachableQuery()
    query.finishes()
    (watched,) = [each for each in job.supervisor.watched if each.name == "live"]
    watched.running = query
    job.supervisor.start()
    until(lambda: query.ticks > 0)
    assert (query.resets, job.supervisor.problems(), job.supervisor.stuck()) == (0, "", "")


def test_each_parked_query_has_a_line_and_a_finding_once_it_fails_again(job: Job) -> None:
    job.supervisor.start()
    until(lambda: len(job.started), len(PLANS))
    for name in ("history_pushes", "history_connections"):
        job.queries[name][0].fail(FULL)
    until(lambda: all(len(job.queries[name]) == 2 for name in ("history_pushes", "history_connections")))
    job.conditions.take()
    for name in ("history_pushes", "history_connections"):
        job.queries[name][1].fail(FULL)
    said: dict[str, str] = {}

    def both_are_said() -> bool:
        said.update({each.subject: each.message for each in job.conditions.take() if each.failing})
        return len(said) == 2

    until(both_are_said)
    assert [line.split(": ")[0] for line in job.supervisor.problems().splitlines()] == [
        "history_pushes is parked and retried",
        "history_connections is parked and retried",
    ]
    assert said["query history_pushes"].startswith("Query history_pushes is parked and retried, since a disk is full: make room")


def test_records_that_are_gone_are_skipped_and_counted(job: Job, checkpoints: SimpleNamespace) -> None:
    job.supervisor.start()
    until(lambda: len(job.started), len(PLANS))
    checkpoints.lose()
    job.queries["live"][0].fail("Some data may have been lost because they are not available in Kafka any more")
    until(lambda: len(job.queries["live"]), 2)
    place = {"query": "live", "topic": CONFIGS, "partition": "0"}
    assert job.metrics.registry.get_sample_value("clientscope_stream_lost_records", place) == 3
    assert [each.message.split(":")[0] for each in job.conditions.take() if each.code == "OP006"] == [
        f"Query live skipped 3 records of {CONFIGS} and {CONNECTIONS}, which were gone before it had read them"
    ]


def test_who_is_reset_begins_anew_alone(job: Job) -> None:
    job.supervisor.start()
    for again, another in enumerate(("", CONFIGS), 2):
        job.supervisor.refused("live", another)
        until(lambda again=again: len(job.queries["live"]), again)
    until(lambda: not job.queries["live"][1].isActive)
    assert len(job.queries["history_pushes"]) == 1 and job.queries["history_pushes"][0].isActive
