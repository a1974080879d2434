"""F47: only the query that fails is parked: a full disk of history, INTERNAL away. Records that are gone unread: `test_checkpoints`.

One broker and one job run through all of it, under load. `outcome` holds it to its input without Spark.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import kafka
import pytest
from conftest import RunningBroker, start_broker
from degraded import Volume, volume
from every import every
from kafka.errors import KafkaError
from observe import metrics, newest, page, told_findings
from patience import LIMIT_S, eventually, meanwhile, until
from record_bytes import config_record, heartbeat, setting
from stream_job import StreamJob

from clientscope.local.broker import EmbeddedBroker
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS, GAUGES, RESULTS

pytestmark = pytest.mark.faults

LIVE, HISTORY = ("live",), ("history_pushes", "history_connections")
LETTERS = str.maketrans("0123456789", "klmnopqrst")
"""Digits at the end of a client.id would be taken for an instance's."""


class SteadyLoad:
    """A push of a new application and a heartbeat with new counts, for each `write`; what Kafka doesn't acknowledge isn't written again.

    Attributes:
        acknowledged: how often both were.
        gateway: the heartbeats' gateway.
    """

    def __init__(self, servers: str, producer: kafka.KafkaProducer) -> None:
        self.acknowledged = 0
        self.gateway = f"load-{uuid.uuid4()}"
        self._servers, self._producer = servers, producer
        self._connections = uuid.uuid4().int % 10**8  # a client that pushes on another one's connection would replace it
        self._written = 0

    def writes(self, number: int = 20) -> None:
        """Waits for so many more."""
        before = self.acknowledged
        until(lambda: self.acknowledged >= before + number)

    def comes_out(self, after: int) -> bool:
        """Whether results, findings and gauges have something of what it wrote after so many."""

        def read(topic: str) -> list[dict[str, Any]]:
            return [json.loads(value) for value in newest(self._servers, topic).values() if value is not None]

        later = {self._client_id(number) for number in range(after + 1, self._written + 1)}
        return (
            any(each["client_id"] in later for each in read(RESULTS))
            and any(each["application"].get("client_id") in later for each in read(FINDINGS))
            and any(each["gateway"] == self.gateway and each.get("connections", 0) > after for each in read(GAUGES))
        )

    def _client_id(self, number: int) -> str:
        return f"load{self._connections + number}".translate(LETTERS)

    def write(self) -> None:
        self._written += 1
        number = self._written
        client_id = self._client_id(number)
        push = config_record(setting("acks", "0"), client_id=client_id, connection=self._connections + number)
        counts = [("java", "1.0", number, 2 * number, number)]
        beat = heartbeat(number, counts, gateway=self.gateway, heartbeat_interval_ms=600_000, timestamp_ms=number)
        with suppress(KafkaError):
            sent = [self._producer.send(CONFIGS, key=client_id.encode(), value=push)]
            sent.append(self._producer.send(CONNECTIONS, key=self.gateway.encode(), value=beat))
            for each in sent:
                each.get(LIMIT_S)
            self.acknowledged += 1


@contextmanager
def steady_load(servers: str) -> Iterator[SteadyLoad]:
    """Writes ten times a second."""
    with kafka.KafkaProducer(bootstrap_servers=servers, enable_idempotence=False) as producer:  # an idempotent one may end with the broker
        load = SteadyLoad(servers, producer)
        with meanwhile(load.write, 0.1):
            yield load


class JobOnASmallDisk(StreamJob):
    """A job whose history lies on a small volume, and its broker."""

    def __init__(self, started: EmbeddedBroker, broker: RunningBroker, disk: Volume, directory: Path) -> None:
        super().__init__(broker.internal, directory, "--quality", "off", history=disk.path)
        self.started, self.disk = started, disk

    def of_queries(self, name: str) -> dict[str, float]:
        samples = metrics(f"{self.page}metrics")
        return {query: samples.get((f"clientscope_stream_{name}", query), 0.0) for query in LIVE + HISTORY}

    def only_history_is_parked(self) -> bool:
        return self.of_queries("query_running") == {**dict.fromkeys(LIVE, 1), **dict.fromkeys(HISTORY, 0)}

    def probe(self, name: str) -> tuple[int, list[str]]:
        status, text = page(f"{self.page}{name}")
        return status, text.splitlines()

    def is_ready(self) -> bool:
        return self.probe("readyz") == (200, ["ok"]) and set(self.of_queries("query_running").values()) == {1}

    def said_parked(self, state: str) -> bool:
        """Whether findings say so of both queries of history."""
        said = [message.split()[1] for found, message in told_findings(self.servers, "OP005") if found == state]
        return set(said) >= set(HISTORY)


@pytest.fixture(scope="module")
def job(folder: Path) -> Iterator[JobOnASmallDisk]:
    extra = {"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500"}
    started, running = start_broker(folder / "broker", extra=extra)
    with volume(folder / "history", 48) as disk:
        job = JobOnASmallDisk(started, running, disk, folder)
        try:
            with job.running():
                yield job
        finally:
            started.stop()


def test_f47_a_full_disk_of_history_parks_history_alone_until_there_is_room(job: JobOnASmallDisk) -> None:
    with steady_load(job.servers) as load:
        load.writes(50)  # until all is warm
        filled = load.acknowledged
        job.disk.fill()
        assert eventually(job.only_history_is_parked), job.of_queries("query_running")
        assert eventually(lambda: job.said_parked("open")), told_findings(job.servers, "OP005")
        status, said = job.probe("readyz")
        assert (status, [line.split()[:5] for line in said]) == (503, [[query, "is", "parked", "and", "retried:"] for query in HISTORY]), (
            said
        )
        assert all("No space left on device (os error 28); make room where --history-dir" in line for line in every(said)), said
        assert job.probe("healthz")[0] == 200, "no restart makes room"
        assert [job.of_queries("query_restarts")[query] for query in LIVE] == [0]
        until(lambda: load.comes_out(filled), why="results, gauges and findings come out meanwhile")
        job.disk.relieve()
        assert eventually(job.is_ready), job.probe("readyz")
    assert eventually(lambda: job.said_parked("resolved")), told_findings(job.servers, "OP005")
    job.comes_out()
    job.processes.check()


def test_f47_a_job_outlives_internal_and_continues_by_itself(job: JobOnASmallDisk) -> None:
    with steady_load(job.servers) as load:
        load.writes()
        job.started.stop()
        began, healthy = time.monotonic(), {200}

        def is_over() -> bool:
            healthy.add(job.probe("healthz")[0])
            job.processes.check()
            status, said = job.probe("readyz")
            assert status == 200 or all("is the broker up" in line for line in said), said
            return status == 503 and time.monotonic() > began + 20

        until(is_over, why="it says within seconds that Kafka doesn't answer")
        assert healthy == {200}, "no restart brings Kafka back"
        job.started.start()
        assert eventually(job.is_ready), job.probe("readyz")
        load.writes(50)
    job.comes_out()
    job.processes.check()
