"""What the job survives: records that are none (F20), records that kill who decodes them (F21), and being killed itself (F22).

One job runs through all of it, on a broker of its own. An oracle replays the input without Spark (`replay`).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import kafka
import pytest
from conftest import RunningBroker, start_broker
from observe import children, eventually, metrics, read_all
from record_bytes import config_record
from replay import Input, Place, comes_out, quarantined
from scale import scaled

from clientscope.demo.fleet import Fleet
from clientscope.findings.record import Finding
from clientscope.local.process import free_port
from clientscope.policy.redaction import DigestKey
from clientscope.records.topics import CONFIGS, FINDINGS

SEED = 22
QUERIES = ("results", "gauges", "findings", "history_pushes", "history_connections")
KEY = DigestKey(b"0123456789abcdef" * 4)
DEADLY = Path(__file__).with_name("deadly")


def is_gone(pid: int) -> bool:
    """Whether a process has ended; nobody may have waited for it yet."""
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return True


class Job:
    """``clientscope stream``, whose decoder dies of certain records."""

    def __init__(self, broker: RunningBroker, folder: Path) -> None:
        self.servers, self.folder = broker.internal, folder
        self.input = Input(broker.internal, SEED)
        self.page = f"http://127.0.0.1:{free_port()}/"
        self.processes = Fleet(folder / "logs", lambda line: None)
        self.skipped: dict[Place, int] = {}
        (folder / "digest.key").write_bytes(KEY.secret)
        (folder / "digest.key").chmod(0o600)

    def start(self) -> None:
        path = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([str(DEADLY), path] if path else [str(DEADLY)])
        try:
            self.processes.start(
                "stream", "stream", "--bootstrap-servers", self.servers, "--checkpoint-dir", str(self.folder / "checkpoints"),
                "--history-dir", str(self.folder / "history"), "--history-interval-seconds", "1", "--driver-memory", "1g",
                "--digest-key-file", str(self.folder / "digest.key"), "--metrics-listen", self.page.split("/")[2],
            )  # fmt: skip
        finally:
            if path is None:
                del os.environ["PYTHONPATH"]
            else:
                os.environ["PYTHONPATH"] = path

    def ready(self) -> None:
        self.processes.await_ready("stream", timeout_s=180)

    def kill(self, whole: bool = True) -> None:
        """With -9: the Python process, whose JVM then notices and ends; or ``whole``, and the JVM and all workers are gone as well."""
        below = children(self.processes.pid("stream")) if whole else []
        self.processes.signal("stream", signal.SIGKILL)
        for pid in below:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert eventually(lambda: all(is_gone(pid) for pid in below))

    def workers(self) -> list[int]:
        """Spark's Python workers: what its daemon has forked."""
        found = []
        for pid in children(self.processes.pid("stream")):
            try:
                arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:  # it has just ended
                continue
            # The JVM has the name among its options, and so has the script that starts it.
            found += children(pid) if arguments[1:3] == [b"-m", b"streaming.worker_daemon"] else []
        return found

    def await_append(self, seconds: float) -> None:
        """Returns so many seconds after a batch of pushes was written to its table."""
        log = self.folder / "history" / "pushes" / "_delta_log"
        before = len(list(log.glob("*.json")))
        self.input.write(50)
        deadline = time.monotonic() + 60
        while len(list(log.glob("*.json"))) == before and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(seconds)

    def restarts(self) -> dict[str, float]:
        told = metrics(f"{self.page}metrics")
        return {query: told["clientscope_stream_query_restarts", query] for query in QUERIES}

    def comes_out_as_replayed(self) -> None:
        """Waits until everything that was written has come out, and compares."""
        comes_out(self.servers, self.folder / "history", KEY, self.skipped)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    folder = tmp_path_factory.mktemp("stream")
    started, running = start_broker(folder / "broker")
    job = Job(running, folder)
    try:
        job.start()
        job.ready()
        yield job
    finally:
        job.processes.stop()
        started.stop()


def test_f20_one_record_in_a_hundred_is_none_and_no_query_is_started_again(job: Job) -> None:
    job.input.write(1200)
    job.comes_out_as_replayed()
    told = quarantined(job.servers)
    assert len(told) == 24
    assert {value["reason"] for value in told.values()} >= {"truncated", "unknown_version", "trailing_bytes"}
    assert max(value["length"] for value in told.values()) > 1_000_000
    assert all(len(value["digest"]) == 64 for value in told.values())
    assert set(job.restarts().values()) == {0}
    job.processes.check()


def test_f21_a_record_that_kills_its_decoder_is_quarantined_and_the_queries_go_on(job: Job) -> None:
    with closing(kafka.KafkaProducer(bootstrap_servers=job.servers)) as producer:
        for how in ("exit", "segfault", "memory"):
            value = config_record(client_id=f"deadly:{how}")
            where = producer.send(CONFIGS, key=how.encode(), value=value).get(timeout=30)
            job.skipped[where.topic, where.partition, where.offset] = len(value)
    job.input.write(100)
    job.comes_out_as_replayed()
    told = quarantined(job.servers)
    assert {place: told[place]["length"] for place in job.skipped} == job.skipped
    assert all(len(told[place]["digest"]) == 64 for place in job.skipped)
    assert metrics(f"{job.page}metrics")["clientscope_stream_quarantined_total", "crashed", CONFIGS] == 3
    newest = {message.key: message.value for message in read_all(job.servers, FINDINGS)}
    said = [Finding.model_validate_json(value) for value in newest.values() if value is not None]
    assert [(finding.state, CONFIGS in finding.message) for finding in said if finding.code == "OP002"] == [("open", True)]
    assert job.restarts()["results"] >= 2
    assert job.restarts()["gauges"] == 0
    job.processes.check()


def test_f21_they_stay_skipped_when_all_is_read_again(job: Job) -> None:
    job.input.write(100)
    job.kill()
    shutil.rmtree(job.folder / "checkpoints" / "results")
    job.start()
    job.ready()
    job.comes_out_as_replayed()
    assert set(job.restarts().values()) == {0}


def kill_now_and_then(job: Job, seed: int, drivers: int, workers: int) -> None:
    """Kills in an order and at moments that the seed says, while records come in.

    Every other driver is killed right after it has written to a table, when its checkpoint says that it has still to.
    """
    chance = random.Random(seed)  # noqa: S311 - moments that can be had again
    plan = ["driver"] * drivers + ["worker"] * workers
    chance.shuffle(plan)
    for what in plan:
        job.input.write(chance.randrange(50, 200))
        if what == "worker":
            assert eventually(lambda: bool(job.workers()), 180), "it may have been killed while it started"
            time.sleep(chance.uniform(0, 0.3))
            alive = sorted(job.workers())
            if alive:
                os.kill(chance.choice(alive), signal.SIGKILL)
        else:
            moment = chance.random()
            if drivers % 2:
                job.await_append(0.1 * moment)
            else:
                time.sleep(2 * moment)
            drivers -= 1
            job.kill(whole=chance.random() < 0.5)
            job.input.write(20)
            job.start()
            if chance.random() < 0.5:
                job.ready()
            else:  # killed while it starts, perhaps, next time
                time.sleep(chance.uniform(5, 20))
        job.processes.check()
    job.ready()


@pytest.mark.long_form
@pytest.mark.timeout(scaled(300, 3600))
def test_f22_kills_at_random_points_lose_nothing_and_repeat_only_what_is_alike(job: Job) -> None:
    """Of an executor: test_cluster.py."""
    kill_now_and_then(job, SEED, drivers=int(scaled(1, 20)), workers=int(scaled(1, 20)))
    job.comes_out_as_replayed()
