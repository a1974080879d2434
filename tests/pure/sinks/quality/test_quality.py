"""Data quality as the job sees it: what becomes metrics and findings, and what a process that fails does to it."""

from __future__ import annotations

import os
import re
import resource
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from observe import is_gone
from patience import until
from places import ROOT
from programs import python
from prometheus_client import CollectorRegistry
from quality_batches import UNBALANCED, append, connections, pushes

from clientscope.backoff import Backoff
from clientscope.findings.conditions import CODES, Conditions
from clientscope.model.topics import CONFIGS, CONNECTIONS, TELEMETRY
from sinks.quality import suites
from sinks.quality.process import checking_process
from sinks.quality.quality import CODE, Quality
from sinks.quality.suites import SUITES
from streaming.checkpoints.plans import PLANS

SOON_S = 120.0


class Job:
    """A job with history and the real process, which is started again after so many seconds."""

    def __init__(self, history: Path, pause_s: float = 0.01) -> None:
        self.history, self.registry, self.conditions = history, CollectorRegistry(), Conditions()
        self.process = checking_process(str(history), SOON_S)
        self.quality = Quality(str(history), self.conditions, self.registry, self.process, Backoff(pause_s, pause_s))
        self.quality.start()

    def write(self, topic: str, values: list[bytes]) -> None:
        """A batch, all of which is kept."""
        append(self.history, topic, values)
        self.quality.batch(topic, len(values), 0)

    def metric(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"clientscope_quality_{name}", labels) or 0.0

    def validated(self, number: int, outcome: str = "passed") -> None:
        """Returns once so many have been."""
        until(lambda: sum(self.metric("validations_total", topic=topic, outcome=outcome) for topic in SUITES) >= number)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Any]:
    started: list[Job] = []

    def start(**given: float) -> Job:
        started.append(Job(tmp_path / "history", **given))
        return started[-1]

    yield start
    for job in started:
        job.quality.stop()


def test_a_finding_about_records_that_are_none_begins_with_the_second_failure_and_ends_once_enough_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is counted of each batch; nothing is asked again."""
    monkeypatch.setattr(suites, "PASSED", 3)
    conditions, registry = Conditions(), CollectorRegistry()
    quality = Quality(str(tmp_path), conditions, registry)
    quality.batch(CONNECTIONS, 51, 1)
    assert conditions.take() == []
    quality.batch(CONNECTIONS, 51, 1)
    (begun,) = conditions.take()
    assert (begun.code, begun.failing, begun.severity) == (CODE, True, "medium")
    assert CODES[begun.code] == "data_not_as_expected"
    assert begun.subject == "expectation records_valid of clientscope.connections"
    assert begun.message.startswith("1 of 51 rows of clientscope.connections break records_valid (")
    labels = {"topic": CONNECTIONS, "expectation": "records_valid"}
    assert registry.get_sample_value("clientscope_quality_unexpected_rows_total", labels) == 2
    assert registry.get_sample_value("clientscope_quality_expectation_success", labels) == 0
    quality.batch(CONNECTIONS, 0, 0)
    for _ in range(2):
        quality.batch(CONNECTIONS, 51, 0)
    assert conditions.take() == []
    quality.batch(CONNECTIONS, 51, 0)
    (ended,) = conditions.take()
    assert (ended.subject, ended.failing) == (begun.subject, False)


def test_samples_become_metrics_docs_and_a_finding_whatever_happens_to_the_process(
    tmp_path: Path, jobs: Any, caplog: pytest.LogCaptureFixture
) -> None:
    append(tmp_path / "history", CONFIGS, pushes())  # before the job, so these are not looked at
    job = jobs(pause_s=0.5)  # so that a new process has more time than one that hangs
    unbalanced = connections(UNBALANCED)
    for number in (1, 2):
        job.write(CONNECTIONS, unbalanced)
        job.validated(number, "failed")
    (reported,) = job.conditions.take()
    assert (reported.code, reported.subject, reported.severity) == (CODE, "expectation counts_add_up of clientscope.connections", "low")
    assert reported.message.startswith("1 of 51 rows of clientscope.connections break counts_add_up (")
    assert job.metric("expectation_success", topic=CONNECTIONS, expectation="counts_add_up") == 0
    assert job.metric("expectation_success", topic=CONNECTIONS, expectation="places_once") == 1
    assert job.metric("sampled_rows_total", topic=CONNECTIONS) == 102
    assert job.metric("process_peak_bytes") > 50e6
    assert (job.history / "data-docs" / "clientscope.connections.html").is_file()
    soft, _ = resource.prlimit(job.process.pid, resource.RLIMIT_DATA)
    assert 0 < soft <= 1 << 30, "below that of the machine"
    os.kill(job.process.pid, signal.SIGKILL)  # as the kernel does where memory is short
    job.write(CONFIGS, pushes(number=7))
    job.validated(1)
    assert job.metric("process_failures_total", cause="ended") == 1
    assert job.metric("sampled_rows_total", topic=CONFIGS) == 7
    assert "it ended without an answer" in caplog.text

    def hang() -> int:
        hanging = int(job.process.pid)
        os.kill(hanging, signal.SIGSTOP)
        job.write(CONFIGS, pushes(number=7))
        return hanging

    job.process.deadline_s = 0.2
    hanging = hang()
    until(lambda: job.metric("process_failures_total", cause="late") >= 1)
    job.process.deadline_s = SOON_S
    assert not Path(f"/proc/{hanging}").exists(), "one that gives no answer in time is killed"
    until(lambda: job.process.pid is not None)
    job.write(CONNECTIONS, connections())
    until(lambda: job.metric("sampled_rows_total", topic=CONNECTIONS) == 152)
    late = job.metric("process_failures_total", cause="late")
    hanging = hang()
    stopping = threading.Thread(target=job.quality.stop)
    stopping.start()
    stopping.join(SOON_S / 2)
    assert not stopping.is_alive(), "a job whose process hangs stops at once"
    until(lambda: not Path(f"/proc/{hanging}").exists())
    assert job.metric("process_failures_total", cause="late") == late


def test_the_process_ends_with_the_thread_and_the_process_that_started_it(tmp_path: Path) -> None:
    script = (
        "import sys, os, signal\n"
        "from sinks.quality.process import checking_process\n"
        "process = checking_process(sys.argv[1])\n"
        "process.ask({})\n"
        "assert not any(m in sys.modules for m in ('great_expectations', 'scipy'))\n"
        "print(process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    out = python("-c", script, tmp_path, status=None).stdout
    until(lambda: is_gone(int(out)))


def test_the_driver_has_no_great_expectations() -> None:
    code = (
        "import sys, streaming.job, streaming.worker_daemon, sinks.dashboard.server, clientscope.commands.lint.linting, clientscope.cli; "
        "sys.exit(any(m in sys.modules for m in ('great_expectations', 'scipy')))"
    )
    python("-c", code, cwd=ROOT)


def test_suites_have_the_jobs_tables_and_names_that_are_used_once_and_documented() -> None:
    tables = {(*plan.topics, plan.table) for plan in PLANS.values() if plan.table}
    assert {(suite.topic, suite.table) for suite in SUITES.values()} == tables - {(TELEMETRY, "client_facts")}, "which has no samples"
    for suite in SUITES.values():
        assert len(suite.abouts) == len(suite.of_samples) + 1
    rows = [
        line for line in (ROOT / "docs" / "quality.md").read_text().splitlines() if line.startswith("| `") and "clientscope_" not in line
    ]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted({name for suite in SUITES.values() for name in suite.abouts}), "docs/quality.md"
