"""TLS on both sides of a gateway for a whole cluster: clients check the gateway's one name, the gateway each broker's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import confluent_kafka
import pytest
from certificates import Authority
from confluent_kafka.admin import AdminClient
from conftest import running_gateway
from fixed_cluster import InFront, free_ports
from observe import metrics
from patience import LIMIT_S, until

from clientscope import topics
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port

pytestmark = pytest.mark.matrix

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
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureCluster]:
    with secure_cluster(tmp_path_factory.mktemp("fixed-tls")) as running:
        yield running


def flags(cluster: SecureCluster, ports: range) -> list[str]:
    own = cluster.brokers.sign("gateway-for-brokers", subject="/CN=gateway")
    shown = cluster.clients.sign("gateway-for-clients", san=f"IP:{GATEWAY}")
    return [
        "--broker-ports", f"{ports[0]}-{ports[-1]}", "--first-broker-id", "1", "--advertised-host", GATEWAY,
        *shown.flags(), *own.flags("--upstream-ssl"), "--upstream-ssl-ca-location", str(cluster.brokers.certificate),
        "--kafka-security-protocol", "SSL", "--kafka-ssl-ca-location", str(cluster.brokers.certificate),
        "--kafka-ssl-certificate-location", str(own.certificate), "--kafka-ssl-key-location", str(own.key),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def in_front(cluster: SecureCluster) -> Iterator[InFront]:
    ports = free_ports(3)
    with running_gateway(cluster.bootstrap, "127.0.0.1:1", cluster.folder / "logs", *flags(cluster, ports)) as running:
        yield InFront(running, ports)


def client_settings(cluster: SecureCluster, in_front: InFront) -> dict[str, str]:
    return {
        "bootstrap.servers": f"{GATEWAY}:{in_front.gateway.address.split(':')[1]}",
        "security.protocol": "SSL",
        "ssl.ca.location": str(cluster.clients.certificate),
        "ssl.endpoint.identification.algorithm": "https",
        "broker.address.family": "v4",
    }


def test_a_client_that_trusts_the_gateway_alone_produces_and_consumes(cluster: SecureCluster, in_front: InFront) -> None:
    settings = client_settings(cluster, in_front)
    admin = AdminClient(settings)
    assert [(b.id, b.host, b.port) for b in admin.list_topics(timeout=LIMIT_S).brokers.values()] == [(1, GATEWAY, in_front.ports[0])]
    producer = confluent_kafka.Producer(settings)
    for number in range(100):
        producer.produce("fixed.tls", str(number).encode()) if number else _create(admin)
    assert producer.flush(LIMIT_S) == 0
    consumer = confluent_kafka.Consumer({**settings, "group.id": "tls", "auto.offset.reset": "earliest"})
    consumer.subscribe(["fixed.tls"])
    taken: list[bytes] = []

    def take() -> bool:
        message = consumer.poll(0.2)
        if message is not None and not message.error():
            taken.append(message.value())
        return len(taken) == 99

    until(take)
    consumer.close()


def _create(admin: AdminClient) -> None:
    (created,) = admin.create_topics([confluent_kafka.admin.NewTopic("fixed.tls", 1, 1)]).values()
    created.result(LIMIT_S)


def test_a_broker_that_shows_a_certificate_of_another_name_gets_no_client(tmp_path: Path) -> None:
    ports = free_ports(3)
    with secure_cluster(tmp_path, advertised="127.0.0.1") as cluster:
        wanted = [*flags(cluster, ports), "--kafka-ssl-endpoint-identification-algorithm", "none"]
        with running_gateway(cluster.bootstrap, "127.0.0.1:1", tmp_path / "logs", *wanted) as gateway:
            producer = confluent_kafka.Producer(client_settings(cluster, InFront(gateway, ports)))
            refused = ("clientscope_gateway_upstream_failures_total", "SSLCertVerificationError")

            def is_refused() -> bool:
                producer.poll(0.1)
                return metrics(gateway.metrics_url).get(refused, 0) > 0

            until(is_refused)
            producer.close()
