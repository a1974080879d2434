"""Clients' own telemetry through a gateway that asks for it (KIP-714): real clients work as without, and what they push is recorded.

Some releases do not survive being asked (librdkafka 2.5.0 aborts its application), and must not be asked.
"""

from __future__ import annotations

import json
import os
import signal
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka
import deltalake
import pytest
from clients.every import CLIENTS, each_client
from clients.script import work
from conftest import RunningBroker, RunningGateway
from every import every
from kafka.record import MemoryRecords
from observe import (
    OwnMetrics,
    connection_records,
    count,
    counts,
    findings,
    make_topic,
    metrics,
    own_metrics,
    page,
)
from patience import LIMIT_S, eventually, until
from programs import ran
from stream_job import StreamJob

from clientscope.clock import now_ms
from clientscope.local.process import free_port
from clientscope.model.enums import Kind
from clientscope.model.telemetry import TERMINATING
from clientscope.model.topics import TELEMETRY
from clientscope.session.telemetry import survives
from clientscope.wire.telemetry import ZSTD

CLIENTS_OWN = {"client_closed", "client_reset"}
"""Ends of connections that the client chose; it resets one that it closes before it has read the last answer."""

ASKING = ("--client-telemetry", "--client-telemetry-interval-ms", "1000")
WHEELS = {"2.5.0": False, "2.10.0": False, "2.10.1": True, "2.16.1": True}
"""Releases of confluent-kafka, each with librdkafka of the same number but for the last digit; whether it is asked."""


@pytest.fixture(scope="module")
def settings(folder: Path) -> Path:
    """The gateway's file, which a test may change."""
    file = folder / "clientscope.toml"
    file.write_text("[gateway]\nclient_telemetry_interval_ms = 1000\n")
    return file


@pytest.fixture(scope="module")
def gateway(spare: RunningBroker, settings: Path) -> Iterator[RunningGateway]:
    """A gateway that asks for telemetry each second."""
    flags = ("--config", str(settings), "--policy-deadline-ms", "10000", "--client-telemetry")
    with spare.gateway(settings.parent, *flags, advertised=True) as running:
        yield running


class Job(NamedTuple):
    """Addresses of a job and a page that are up, and where their history is."""

    metrics_url: str
    api: str
    history: Path


def telemetry(spare: RunningBroker, client_id: str) -> list[OwnMetrics]:
    return [record for record in own_metrics(spare.internal) if record.client["client_id"] == client_id]


def codecs(logs: Path) -> set[int]:
    """How the topic's batches are compressed, as they are on the broker's disk."""
    (segment,) = logs.glob(f"{TELEMETRY}-0/*.log")
    batches = MemoryRecords(segment.read_bytes())
    return {batches.next_batch().compression_type for _ in iter(batches.has_next, False)}


def ends(spare: RunningBroker, gateway: RunningGateway, client_id: str) -> set[str]:
    """How the client's connections ended."""
    records = connection_records(spare.internal, gateway.address, kind=Kind.CLOSED, client_id=client_id)
    return {record.reason for record in records}


@pytest.mark.matrix
@pytest.mark.timeout(600)  # the first run on a machine downloads and compiles clients
@pytest.mark.parametrize("name", each_client({"java 3.7", "java 2.8", "java 4.4", "confluent-kafka", "franz-go"}))
def test_a_client_does_the_same_work_whether_it_is_asked_or_not(spare: Any, gateway: Any, name: str) -> None:
    with CLIENTS[name](spare.internal) as client:
        direct = work(client, "direct")
        client.address = gateway.address
        # A consumer at rest stays for longer than the interval of a second, so whoever is asked pushes.
        through = work(client, "through", lambda: time.sleep(2.5))
        identity, client_id = client.identity, client.client_id
    assert through == direct
    asked = survives(*identity)
    assert eventually(lambda: bool(telemetry(spare, client_id))) if asked else not telemetry(spare, client_id)
    found = telemetry(spare, client_id)
    for record in found:
        assert record.names
        assert (record.client["client_software_name"], record.client["client_software_version"]) == identity
    until(lambda: ends(spare, gateway, client_id))
    assert ends(spare, gateway, client_id) <= CLIENTS_OWN
    assert counts(gateway, "telemetry_dropped") == {}


def test_a_client_that_stays_pushes_at_the_interval_and_what_is_asked_changes_while_it_runs(
    spare: RunningBroker, gateway: Any, settings: Path
) -> None:
    name = "telemetry-stays"

    def pushed() -> list[OwnMetrics]:
        producer.produce("test.telemetry", b"value")
        producer.poll(0.2)
        return [record for record in telemetry(spare, name) if TERMINATING not in record.names]

    make_topic(spare.internal, "test.telemetry")  # librdkafka waits half a minute for a topic that isn't there
    producer = confluent_kafka.Producer({"bootstrap.servers": gateway.address, "client.id": name})
    until(lambda: len(pushed()) >= 2)
    ids = {record.client["client_instance_id"] for record in pushed()}
    assert len(ids) == 1, "one instance, whichever connection it pushes on"
    assert all("org.apache.kafka.producer.connection.creation.total" in record.names for record in every(pushed()))

    def regular() -> bool:
        number, known = len(pushed()), count(gateway, "telemetry_judged", "new")
        return eventually(lambda: len(pushed()) >= number + 3) and count(gateway, "telemetry_judged", "new") == known

    until(regular, why="pushes that differ in numbers and times alone are not judged again")
    only, before = "org.apache.kafka.producer.node.", settings.read_text()
    settings.write_text(f'{before}client_telemetry_metrics = "{only}"\n')
    os.kill(gateway.pid, signal.SIGHUP)
    try:
        until(lambda: all(each.startswith(only) for each in pushed()[-1].names))
        assert {record.client["client_instance_id"] for record in pushed()} == ids
    finally:
        settings.write_text(before)
        os.kill(gateway.pid, signal.SIGHUP)
    producer.flush(LIMIT_S)
    assert counts(gateway, "telemetry_dropped") == {}
    assert codecs(spare.data_dir / "logs") == {ZSTD}


@pytest.fixture
def job(spare: RunningBroker, tmp_path: Path) -> Iterator[Job]:
    """The job that reads clients' metrics, and the page that shows its history."""
    page, job = f"127.0.0.1:{free_port()}", StreamJob(spare.internal, tmp_path, "--quality", "off", "--client-telemetry")
    with job.running():
        job.processes.start("serve", "serve", "--bootstrap-servers", spare.internal, "--listen", page, "--history-dir", str(job.history))
        job.ready("serve")
        yield Job(f"{job.page}metrics", f"http://{page}/api/v1/", Path(job.history))


@pytest.mark.long
@pytest.mark.timeout(900)  # rates count that last for a minute
def test_what_clients_push_becomes_facts_in_history_on_metrics_and_on_the_page(spare: Any, gateway: Any, job: Job) -> None:
    """Java's consumer says everything of its kind, librdkafka's producer a few; and a rule needs both metrics and a setting."""

    def reporting(kind: str, software: tuple[str, str]) -> bool:
        return metrics(job.metrics_url).get(("clientscope_stream_client_instances", kind, *software), 0) > 0

    def said(client_id: str, kind: str) -> dict[str, list[float]]:
        kinds = json.loads(page(f"{job.api}history/client-facts?client_id={client_id}&to={now_ms()}")[1])["kinds"]
        facts = [fact for of in kinds if of["kind"] == kind for fact in of["facts"]]
        return {fact["name"]: [value for value in fact["values"] if value is not None] for fact in facts}

    topic = "test.facts"
    python = confluent_kafka.Producer({"bootstrap.servers": gateway.address, "client.id": "facts-librdkafka"})
    with CLIENTS["java 4.4"](gateway.address) as java:
        java.create_topic(topic)
        with java.polling(topic, "facts", max_poll_interval_ms="6000") as poll:
            python.produce(topic, b"first")
            until(lambda: python.poll(0) >= 0 and poll() > 0)
            time.sleep(5.2)  # more than four fifths of what it may take
            until(lambda: poll() >= 0 and reporting("consumer", java.identity))
            until(lambda: poll() >= 0 and bool(findings(spare.internal, "AN406")))

    until(lambda: "lag_max_records" in said(java.client_id, "consumer"))
    java_said = said(java.client_id, "consumer")
    assert max(java_said["poll_interval_max_ms"]) > 0
    assert max(java_said["record_rate"]) > 0
    (finding,) = findings(spare.internal, "AN406")
    assert finding.settings[0].value == "6000", "which nothing but its requests has shown"
    assert {"lag_max_records", "rebalances", "fetch_latency_avg_ms", "poll_idle_ratio", "throttle_time_max_ms"} <= java_said.keys()

    def measured() -> bool:
        python.produce(topic, b"value")
        python.poll(0.2)
        return max(said("facts-librdkafka", "producer").get("request_latency_max_ms", [0])) > 0  # librdkafka says 0 where it had no request

    until(measured)
    python_said = said("facts-librdkafka", "producer")
    python.flush(LIMIT_S)
    assert not {"record_rate", "record_errors", "batch_size_avg_bytes"} & python_said.keys(), "librdkafka has none of them"
    quantile = ("clientscope_stream_client_request_latency_max_seconds", "producer")
    assert any(key[:2] == quantile and key[4] == "1" for key in metrics(job.metrics_url))
    rows = deltalake.DeltaTable(str(job.history / "client_facts")).to_pyarrow_table().to_pylist()
    assert len({(row["partition"], row["offset"]) for row in rows}) == len(rows)
    assert {"facts-librdkafka", java.client_id} <= {row["client_id"] for row in rows}
    assert "topics" not in rows[0], "which are for a rule alone"
    assert not [key for key in metrics(job.metrics_url) if key[0] == "clientscope_stream_quarantined_total"]


WORK = """
import sys, time, confluent_kafka, confluent_kafka.admin
address, name, limit_s = *sys.argv[1:3], float(sys.argv[3])
common = {"bootstrap.servers": address, "client.id": name}
admin = confluent_kafka.admin.AdminClient(common)  # its queue goes with it
admin.create_topics([confluent_kafka.admin.NewTopic(name, 1)])[name].result(limit_s)
producer = confluent_kafka.Producer(common)
consumer = confluent_kafka.Consumer({**common, "group.id": name, "auto.offset.reset": "earliest"})
producer.produce(name, b"first")
producer.flush(limit_s)
consumer.subscribe([name])
taken, end = 0, time.monotonic() + 6
while time.monotonic() < end or not taken:
    producer.produce(name, b"value")
    producer.poll(0.05)
    message = consumer.poll(0.05)
    taken += message is not None and message.error() is None
producer.flush(limit_s)
consumer.close()
print("done")
"""
"""A producer and a consumer that stay for a few intervals."""


@pytest.mark.matrix
@pytest.mark.parametrize("prefixes", ["*", "org.apache.kafka.producer.", "nothing."])
def test_no_release_of_librdkafka_aborts_or_disconnects(prefixes: str, own: RunningBroker, tmp_path: Path, wheels: dict[str, Path]) -> None:
    """Asked for what fits one of its clients alone, 2.5.0 would abort; it isn't asked."""
    flags = (*ASKING, "--client-telemetry-metrics", prefixes)
    with own.gateway(tmp_path, *flags, advertised=True) as gateway:
        for version, asked in WHEELS.items():
            name = f"wheel-{version}"
            assert ran(wheels[version], "-c", WORK, gateway.address, name, str(LIMIT_S)).stdout == "done\n"
            assert bool(telemetry(own, name)) == (asked and prefixes != "nothing.")
            until(lambda name=name: ends(own, gateway, name))
            assert ends(own, gateway, name) <= CLIENTS_OWN
        assert counts(gateway, "telemetry_answered").keys() == {"none"}


@pytest.fixture(scope="module")
def wheels(folder: Path) -> dict[str, Path]:
    """The Python of an environment of each release."""
    found = {}
    for version in WHEELS:
        venv.create(folder / version, with_pip=True)
        found[version] = folder / version / "bin" / "python"
        ran(found[version], "-m", "pip", "install", "--quiet", f"confluent-kafka=={version}")
    return found
