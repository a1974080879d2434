"""Faults that the job survives: invalid records (F20), records that kill their decoder (F21), and being killed itself (F22).

One job runs through all of it, on a broker of its own. `outcome` holds it to its input without Spark.
"""

from __future__ import annotations

import hmac
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import kafka
import pytest
from conftest import RunningBroker
from forked import printed
from kafka.errors import MessageSizeTooLargeError
from observe import children, command_line, java_below, metrics, set_topic, told_findings, write
from outcome import Input, Place, quarantined
from patience import LIMIT_S, until
from record_bytes import config_record
from stream_job import KEY, StreamJob

from clientscope.config import StreamSettings
from clientscope.model.topics import BY_NAME, CONFIGS, QUARANTINE
from streaming.queries.registry import wanted

pytestmark = pytest.mark.faults

SEED = 22
QUERIES = tuple(wanted(StreamSettings(bootstrap_servers="127.0.0.1:1")))
"""Those that run without further settings."""
DEADLY = Path(__file__).with_name("deadly")


class Job(StreamJob):
    """A job whose decoder dies of certain records."""

    def __init__(self, broker: RunningBroker, folder: Path) -> None:
        super().__init__(broker.internal, folder, "--quality", "off")
        self.input = Input(broker.internal, SEED)

    def start(self, name: str = "stream", *flags: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(DEADLY), prepend=os.pathsep)
            super().start(name, *flags)

    def workers(self) -> list[int]:
        """Spark's Python workers: what its daemon has forked."""
        found = []
        for pid in children(self.processes.pid("stream")):
            # The JVM has the name among its options, and so has the script that starts it.
            found += children(pid) if command_line(pid)[1:3] == ["-m", "streaming.worker_daemon"] else []
        return found

    def await_append(self, seconds: float) -> None:
        """Returns so many seconds after a batch of pushes was written to its table."""
        log = Path(self.history) / "pushes" / "_delta_log"
        before = len(list(log.glob("*.json")))
        self.input.write(50)
        deadline = time.monotonic() + 60
        while len(list(log.glob("*.json"))) == before and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(seconds)

    def restarts(self) -> dict[str, float]:
        reported = metrics(f"{self.page}metrics")
        return {query: reported["clientscope_stream_query_restarts", query] for query in QUERIES}


@pytest.fixture(scope="module")
def job(lone: RunningBroker, folder: Path) -> Iterator[Job]:
    job = Job(lone, folder)
    with job.running():
        yield job


def larger_than_the_quarantine_takes(servers: str) -> tuple[Place, bytes]:
    """A record of 1.5 MB, on a topic that takes such for as long as that takes."""
    limits = [BY_NAME[topic].max_message_bytes for topic in (CONFIGS, QUARANTINE)]
    value = b"\xff" * 1_500_000
    assert len(value) > max(limits)

    def sent() -> bool:
        nonlocal where
        try:
            where = producer.send(CONFIGS, key=b"large", value=value).get(LIMIT_S)
        except MessageSizeTooLargeError:  # the setting needs a moment
            return False
        return True

    where: Any = None
    set_topic(servers, CONFIGS, {"max.message.bytes": str(2 * len(value))})
    with kafka.KafkaProducer(bootstrap_servers=servers, max_request_size=2 * len(value)) as producer:
        until(sent)
    set_topic(servers, CONFIGS, {"max.message.bytes": str(limits[0])})
    return (where.topic, where.partition, where.offset), value


def test_f20_one_record_in_a_hundred_is_none_and_no_query_is_started_again(job: Job) -> None:
    place, large = larger_than_the_quarantine_takes(job.servers)
    job.input.poisoned[place] = large
    job.input.write(1200)
    job.comes_out()
    reported, poisoned = quarantined(job.servers), job.input.poisoned
    assert len(poisoned) == 25
    assert reported.keys() == poisoned.keys()
    assert {value["reason"] for value in reported.values()} == {"not_json", "unknown_version", "too_large"}
    assert b"" in poisoned.values()
    assert any(value and not value.strip(b"\0") for value in poisoned.values())
    # Counted once a batch is done: its records are on the topic by then.
    until(
        lambda: job.counted("clientscope_stream_quarantined_total"), Counter((value["reason"], each[0]) for each, value in reported.items())
    )
    assert job.restarts() == dict.fromkeys(QUERIES, 0)
    job.processes.check()


def jvm(job: Job) -> int:
    """The driver's."""
    return java_below(job.processes.pid("stream"))


def test_f21_a_record_that_kills_its_decoder_is_quarantined_and_the_queries_continue(job: Job) -> None:
    driver = job.processes.pid("stream"), jvm(job)
    deadly: dict[Place, bytes] = {}
    for how in ("exit", "segfault", "memory"):
        value = config_record(client_id=f"deadly:{how}")
        (where,) = write(job.servers, CONFIGS, (how.encode(), value))
        deadly[where.topic, where.partition, where.offset] = value
    job.skipped.update({place: len(value) for place, value in deadly.items()})
    job.input.write(100)
    job.comes_out()
    assert (job.processes.pid("stream"), jvm(job)) == driver, "whoever searches outlives what it finds"
    reported = quarantined(job.servers)
    assert {place: reported[place]["length"] for place in job.skipped} == job.skipped
    digests = {place: hmac.new(KEY.secret, value, "sha256").hexdigest() for place, value in deadly.items()}
    assert {place: reported[place]["digest"] for place in deadly} == digests
    assert metrics(f"{job.page}metrics")["clientscope_stream_quarantined_total", "crashed", CONFIGS] == 3
    blamed = re.findall(r"(\S+), partition (\d+), offset (\d+) kills its decoder", job.log())
    assert sorted((topic, int(partition), int(offset)) for topic, partition, offset in blamed) == sorted(deadly), "once each"
    assert [(state, CONFIGS in said) for state, said in told_findings(job.servers, "OP002")] == [("open", True)]
    restarts = job.restarts()
    assert restarts["live"] >= 2, "the batch is tried again before anything is searched"
    assert restarts["history_connections"] == 0
    job.input.write(50)
    job.comes_out()
    assert job.restarts() == restarts, "they go on"
    job.processes.check()


def test_f21_they_stay_skipped_when_all_is_read_again(job: Job) -> None:
    assert job.skipped, "by the test before"
    job.input.write(100)
    job.kill()
    printed("checkpoints", "reset", "live", "--bootstrap-servers", job.servers)
    job.start()
    job.ready()
    job.comes_out()
    assert set(job.restarts().values()) == {0}


def kill_now_and_then(job: Job, seed: int, drivers: int, workers: int) -> None:
    """Kills in an order and at moments that the seed says, while records come in.

    Every other driver is killed right after it has written to a table, before it has noted that.
    """
    chance = random.Random(seed)  # noqa: S311 - moments that can be had again
    plan = ["driver"] * drivers + ["worker"] * workers
    chance.shuffle(plan)
    for what in plan:
        job.input.write(chance.randrange(50, 200))
        if what == "worker":
            until(job.workers, why="it may have been killed while it started")
            time.sleep(chance.uniform(0, 0.3))
            alive = sorted(job.workers())
            if alive:
                with suppress(ProcessLookupError):
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


@pytest.mark.parametrize(("drivers", "workers"), [(2, 1), pytest.param(20, 20, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_f22_kills_at_random_points_lose_nothing_and_repeat_only_what_is_alike(job: Job, drivers: int, workers: int) -> None:
    """Of an executor: test_sparks.py."""
    kill_now_and_then(job, SEED, drivers, workers)
    job.comes_out()
