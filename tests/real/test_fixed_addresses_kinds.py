"""One gateway for a cluster of another kind: brokers with SASL, with TLS on both sides, of older releases; pushes, the request log."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from certificates import Authority
from clients.python import Confluent
from clients.script import variants, work
from conftest import PASSWORD, running_broker, sasl
from every import every
from fixed_cluster import InFront, free_ports, gateway_in_front
from forked import refused
from observe import by_librdkafka, connection_records, count, make_topic, private_file, push_one
from patience import until
from test_client_matrix import was_real_work

from clientscope import topics
from clientscope.client.raw import RawClient
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.model.enums import Kind

RELEASES = ["broker-2.4", "broker-2.8", "broker-3.6", "broker-3.9", "broker-4.0.0"]


def does_all(in_front: InFront, **settings: str) -> None:
    """What a client does, by the address that broker 1 has behind the gateway, where all of its connections are."""
    client = Confluent(in_front.address(1), **settings)
    was_real_work(work(client, "kinds"), list(variants(client, "")))


@pytest.mark.matrix
def test_clients_authenticate_to_the_broker(tmp_path: Path) -> None:
    port = free_port()
    plan = BrokerPlan(port, free_port(), f"127.0.0.1:{port}", tmp_path / "broker", extra=sasl("PLAIN", PASSWORD, "alice", "gateway"))
    secret = private_file(tmp_path / "password", PASSWORD)
    own = (
        "--kafka-security-protocol", "SASL_PLAINTEXT", "--kafka-sasl-mechanism", "PLAIN", "--kafka-sasl-username", "gateway",
        "--kafka-sasl-password-file", str(secret),
    )  # fmt: skip
    with EmbeddedBroker(plan):
        topics.create(plan.internal)
        with gateway_in_front(plan.advertised, tmp_path / "logs", *own) as in_front:
            login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": PASSWORD}
            does_all(in_front, **login)
            gateway_id = f"{in_front.gateway.address}/1"

            def principals() -> set[str | None]:
                return {each.principal for each in connection_records(plan.internal, gateway_id, kind=Kind.CLOSED)}

            until(principals, {"User:alice"})


@pytest.mark.matrix
@pytest.mark.parametrize("release", RELEASES)
def test_an_older_release(tmp_path: Path, release: str) -> None:
    with running_broker(tmp_path / "broker", release) as broker, gateway_in_front(broker.internal, tmp_path / "logs") as in_front:
        does_all(in_front)


@pytest.mark.matrix
def test_pushes_requests_and_goodbyes_are_each_brokers_own(lone: Any, tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    with gateway_in_front(lone.internal, tmp_path / "logs", "--request-log", str(log), "--gateway-id", "whole") as in_front:
        os.kill(in_front.gateway.pid, signal.SIGHUP)
        with RawClient.connect(in_front.address(1), "pusher") as client:
            client.api_versions("pusher", "1.0")
            assert push_one(client) == 0
        make_topic(lone.internal, "fixed.logged")
        by_librdkafka(in_front.gateway.address, "fixed.logged").close()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    times = {line["requestHeader"]["requestApiKeyName"]: line["totalTimeMs"] for line in lines}
    assert {"METADATA", "PRODUCE", "PUSH_CONFIG"} <= times.keys() and all(time is not None for time in every(times.values()))
    records = connection_records(lone.internal, "whole/1")
    assert {record.broker for record in records} == {1}
    assert records[-1].kind == Kind.HEARTBEAT and records[-1].heartbeat_interval_ms == 0


@pytest.mark.matrix
@pytest.mark.parametrize(("first", "said", "status"), [(5, "no broker has a port", 2), (1, "cannot listen on", 1)])
def test_a_gateway_that_could_serve_no_broker_does_not_start(lone: Any, first: int, said: str, status: int) -> None:
    ports = free_ports(3)
    with socket.socket() as other:
        other.bind(("127.0.0.1", ports[0]))
        other.listen()
        error = refused(
            "gateway", "--bootstrap-servers", lone.internal, "--listen", f"127.0.0.1:{free_port()}", "--broker-ports",
            f"{ports[0]}-{ports[-1]}", "--first-broker-id", str(first), "--metrics-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
            status=status,
        )  # fmt: skip
    assert f"error: {said}" in error or f"error: listen: {said}" in error
    assert "hint: " in error


GATEWAY = "127.0.0.1"
BROKER = "localhost"
"""Names under which this machine is reached: the brokers' certificate has the second alone, the gateway's the first."""


@dataclass(frozen=True)
class SecureCluster:
    """A broker whose only listener for clients speaks TLS, by a name, and asks for the gateway's certificate."""

    plan: BrokerPlan
    brokers: Authority
    clients: Authority
    folder: Path

    @property
    def bootstrap(self) -> str:
        return f"{BROKER}:{self.plan.port}"


@contextmanager
def secure_cluster(folder: Path, advertised: str = BROKER) -> Iterator[SecureCluster]:
    brokers, clients = Authority(folder / "brokers", "brokers"), Authority(folder / "clients", "clients")
    port = free_port()
    extra = {
        "listener.security.protocol.map": "CLIENT:SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listener.name.client.ssl.keystore.type": "PEM",
        "listener.name.client.ssl.keystore.location": str(brokers.sign("broker", san=f"DNS:{BROKER}").both),
        "listener.name.client.ssl.truststore.type": "PEM",
        "listener.name.client.ssl.truststore.location": str(brokers.certificate),
        "listener.name.client.ssl.client.auth": "required",
    }
    plan = BrokerPlan(port, free_port(), f"{advertised}:{port}", folder / "broker", extra=extra)
    with EmbeddedBroker(plan):
        topics.create(plan.internal)
        yield SecureCluster(plan, brokers, clients, folder)


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[SecureCluster]:
    with secure_cluster(folder / "fixed-tls") as running:
        yield running


def flags(cluster: SecureCluster) -> list[str]:
    own = cluster.brokers.sign("gateway-for-brokers", subject="/CN=gateway")
    shown = cluster.clients.sign("gateway-for-clients", san=f"IP:{GATEWAY}")
    return [
        "--advertised-host", GATEWAY,
        *shown.flags(), *own.flags("--upstream-ssl"), "--upstream-ssl-ca-location", str(cluster.brokers.certificate),
        "--kafka-security-protocol", "SSL", "--kafka-ssl-ca-location", str(cluster.brokers.certificate),
        "--kafka-ssl-certificate-location", str(own.certificate), "--kafka-ssl-key-location", str(own.key),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def in_front(cluster: SecureCluster) -> Iterator[InFront]:
    with gateway_in_front(cluster.bootstrap, cluster.folder / "logs", *flags(cluster)) as running:
        yield running


def trusting(cluster: SecureCluster) -> dict[str, str]:
    """Settings of a client that trusts the gateway alone."""
    return {
        "security.protocol": "SSL",
        "ssl.ca.location": str(cluster.clients.certificate),
        "ssl.endpoint.identification.algorithm": "https",
        "broker.address.family": "v4",
    }


@pytest.mark.matrix
def test_a_client_that_trusts_the_gateway_alone_produces_and_consumes(cluster: SecureCluster, in_front: InFront) -> None:
    does_all(in_front, **trusting(cluster))


@pytest.mark.matrix
def test_a_broker_that_shows_a_certificate_of_another_name_gets_no_client(tmp_path: Path) -> None:
    with secure_cluster(tmp_path, advertised="127.0.0.1") as cluster:
        wanted = [*flags(cluster), "--kafka-ssl-endpoint-identification-algorithm", "none"]
        with gateway_in_front(cluster.bootstrap, tmp_path / "logs", *wanted) as in_front:
            producer = confluent_kafka.Producer({"bootstrap.servers": in_front.address(1), **trusting(cluster)})

            def is_refused() -> bool:
                producer.poll(0.1)
                return count(in_front.gateway, "upstream_failures", "SSLCertVerificationError") > 0

            until(is_refused)
            producer.close()
