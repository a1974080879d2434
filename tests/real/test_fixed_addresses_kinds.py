"""One gateway for a cluster of another kind: brokers that ask for SASL, brokers of older releases; pushes and the request log."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import confluent_kafka
import kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from conftest import running_broker, running_gateway
from every import every
from fixed_cluster import InFront, free_ports
from forked import clientscope
from observe import connection_records
from patience import LIMIT_S, until

from clientscope import topics
from clientscope.client.raw import RawClient
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.records.enums import Kind

pytestmark = pytest.mark.matrix

PASSWORD = "canary-password-7f3a"
_MODULES = "org.apache.kafka.common.security"
RELEASES = ["broker-2.4", "broker-2.8", "broker-3.6", "broker-3.9", "broker-4.0.0"]


@contextmanager
def in_front_of(bootstrap: str, folder: Path, *flags: str) -> Iterator[InFront]:
    ports = free_ports(3)
    with running_gateway(
        bootstrap, "127.0.0.1:1", folder, "--broker-ports", f"{ports[0]}-{ports[-1]}", "--first-broker-id", "1", *flags
    ) as running:
        yield InFront(running, ports)


def round_trip(settings: dict[str, Any]) -> None:
    """Creates a topic, produces to it and consumes from it in a group, as a transaction where the broker can."""
    admin = AdminClient(settings)
    (created,) = admin.create_topics([NewTopic("fixed.kinds", 2, 1)]).values()
    created.result(LIMIT_S)
    producer = confluent_kafka.Producer({**settings, "transactional.id": "kinds"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for number in range(100):
        producer.produce("fixed.kinds", str(number).encode())
    producer.commit_transaction(30)
    producer.close()
    taken: set[int] = set()
    consumer = confluent_kafka.Consumer({**settings, "group.id": "kinds", "auto.offset.reset": "earliest"})
    consumer.subscribe(["fixed.kinds"])

    def take() -> bool:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            taken.add(int(message.value()))
        return len(taken) == 100

    until(take)
    consumer.close()


def test_clients_authenticate_to_the_broker(tmp_path: Path) -> None:
    port = free_port()
    extra = {
        "listener.security.protocol.map": "CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.client.plain.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required"
        f' user_alice="{PASSWORD}" user_gateway="{PASSWORD}";',
    }
    plan = BrokerPlan(port, free_port(), f"127.0.0.1:{port}", tmp_path / "broker", extra=extra)
    secret = tmp_path / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    own = (
        "--kafka-security-protocol", "SASL_PLAINTEXT", "--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", "gateway",
        "--kafka-sasl-password-file", str(secret),
    )  # fmt: skip
    with EmbeddedBroker(plan):
        topics.create(plan.internal)
        with in_front_of(plan.advertised, tmp_path / "logs", *own) as in_front:
            sasl = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": PASSWORD}
            round_trip({"bootstrap.servers": in_front.gateway.address, **sasl})
            gateway_id = f"{in_front.gateway.address}/1"

            def principals() -> set[str | None]:
                return {each.principal for each in connection_records(plan.internal, gateway_id) if each.kind == Kind.CLOSED}

            until(principals, {"User:alice"})


@pytest.mark.parametrize("release", RELEASES)
def test_an_older_release(tmp_path: Path, release: str) -> None:
    with running_broker(tmp_path / "broker", release) as broker, in_front_of(broker.internal, tmp_path / "logs") as in_front:
        round_trip({"bootstrap.servers": in_front.gateway.address})
        through = AdminClient({"bootstrap.servers": in_front.gateway.address}).list_topics(timeout=LIMIT_S).brokers
        assert [(b.id, b.port) for b in through.values()] == [(1, in_front.ports[0])]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running_broker(tmp_path_factory.mktemp("fixed-push")) as running:
        yield running


def test_pushes_requests_and_goodbyes_are_each_brokers_own(broker: Any, tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    with in_front_of(broker.internal, tmp_path / "logs", "--request-log", str(log), "--gateway-id", "whole") as in_front:
        os.kill(in_front.gateway.pid, signal.SIGHUP)
        with RawClient.connect(in_front.address(1), "pusher") as client:
            client.api_versions("pusher", "1.0")
            assert client.push_config([("acks", "all", 1, False)]).error_code == 0
        producer = confluent_kafka.Producer({"bootstrap.servers": in_front.gateway.address, "client.id": "logged"})
        with kafka.KafkaAdminClient(bootstrap_servers=broker.internal) as admin:
            admin.create_topics({"fixed.logged": {"num_partitions": 1}}, wait_for_metadata=True)
        producer.produce("fixed.logged", b"x")
        assert producer.flush(LIMIT_S) == 0
        producer.close()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    times = {line["requestHeader"]["requestApiKeyName"]: line["totalTimeMs"] for line in lines}
    assert {"METADATA", "PRODUCE", "PUSH_CONFIG"} <= times.keys() and all(time is not None for time in every(times.values()))
    records = connection_records(broker.internal, "whole/1")
    assert {record.broker_id for record in records} == {1}
    assert records[-1].kind == Kind.HEARTBEAT and records[-1].heartbeat_interval_ms == 0


@pytest.mark.parametrize(("first", "said", "status"), [(5, "no broker has a port", 2), (1, "cannot listen on", 1)])
def test_a_gateway_that_could_serve_no_broker_does_not_start(broker: Any, first: int, said: str, status: int) -> None:
    ports = free_ports(3)
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports[0]))
        other.listen()
        ended = clientscope(
            "gateway", "--bootstrap-servers", broker.internal, "--listen", f"127.0.0.1:{free_port()}", "--broker-ports",
            f"{ports[0]}-{ports[-1]}", "--first-broker-id", str(first), "--metrics-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
        )  # fmt: skip
    assert ended.returncode == status
    assert f"error: {said}" in ended.stderr or f"error: listen: {said}" in ended.stderr
    assert "hint: " in ended.stderr and "Traceback" not in ended.stderr
