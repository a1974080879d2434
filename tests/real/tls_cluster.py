"""A broker that has TLS, and gateways and clients in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certificates import Authority, Pair
from conftest import RunningGateway, running_gateway
from http_attacks import connected
from observe import make_topic

from clientscope import topics
from clientscope.client.raw import RawClient
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port

TOPIC = "test.tls"


@dataclass(frozen=True)
class Cluster:
    """A broker with two listeners for clients.

    Attributes:
        plain, secure: where CLIENT (plain text) and SECURE (TLS) advertise a gateway.
        secure_port: of SECURE itself.
    """

    plan: BrokerPlan
    secure_port: int
    plain: str
    secure: str


@contextmanager
def tls_cluster(authority: Authority, folder: Path) -> Iterator[Cluster]:
    """A broker with `TOPIC`, whose messages may be large."""
    port, internal, secure_port, plain, secure = (free_port() for _ in range(5))
    extra = {
        "listeners": f"CLIENT://127.0.0.1:{port},SECURE://127.0.0.1:{secure_port},INTERNAL://127.0.0.1:{internal},"
        f"CONTROLLER://127.0.0.1:{(controller := free_port())}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "advertised.listeners": f"CLIENT://127.0.0.1:{plain},SECURE://127.0.0.1:{secure},INTERNAL://127.0.0.1:{internal}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,SECURE:SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listener.name.secure.ssl.keystore.type": "PEM",
        "listener.name.secure.ssl.keystore.location": str(authority.sign("broker").both),
        "listener.name.secure.ssl.truststore.type": "PEM",
        "listener.name.secure.ssl.truststore.location": str(authority.certificate),
        "listener.name.secure.ssl.client.auth": "requested",
    }
    plan = BrokerPlan(port, internal, f"127.0.0.1:{plain}", folder, extra=extra)
    with EmbeddedBroker(plan):
        topics.create(plan.internal)
        make_topic(plan.internal, TOPIC, **{"max.message.bytes": "10000000"})
        yield Cluster(plan, secure_port, f"127.0.0.1:{plain}", f"127.0.0.1:{secure}")


def in_front(cluster: Cluster, log_dir: Path, *flags: str, secure: bool = False) -> Any:
    """A gateway in front of either listener."""
    if secure:
        return running_gateway(
            cluster.plan.internal, f"127.0.0.1:{cluster.secure_port}", log_dir, "--listener-name", "SECURE", *flags, listen=cluster.secure
        )
    return running_gateway(cluster.plan.internal, f"127.0.0.1:{cluster.plan.port}", log_dir, *flags, listen=cluster.plain)


def upstream(authority: Authority) -> list[str]:
    return ["--upstream-ssl-ca-location", str(authority.certificate)]


def raw(gateway: RunningGateway, authority: Authority, client_id: str, own: Pair | None = None) -> RawClient:
    context = authority.context
    if own:
        context.load_cert_chain(own.certificate, own.key)
    return RawClient(context.wrap_socket(connected(gateway.address), server_hostname="127.0.0.1"), client_id)
