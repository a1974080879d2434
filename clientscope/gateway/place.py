"""Place of a gateway: its cluster, its broker, and the security protocol of that broker's listener."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from kafka.errors import KafkaError

from clientscope.clock import now_ms
from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway.epoch import next_epoch
from clientscope.gateway.tls import ClientAuth, plan
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import AdminClient, Described, configs, describe, new_admin
from clientscope.session.state import UNAUTHENTICATED, UNSEEN, Identity

_PROTOCOLS = "listener.security.protocol.map"
_CLIENT_AUTH = "ssl.client.auth"


@dataclass(frozen=True)
class GatewayPlace:
    """The place of this gateway.

    Attributes:
        gateway_epoch: when this process started, in ms since the epoch, UTC; and above its process's before (``gateway.epoch``).
        security_protocol: Kafka's name of what clients speak to the gateway: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
        tls: whether what passes is TLS, of which nothing can be read.
        warnings: what the operator should know at the start.
        host: the name of the host that the gateway runs on.
    """

    cluster_id: str
    broker_id: int
    gateway_id: str
    gateway_epoch: int
    listener_name: str
    security_protocol: str = "PLAINTEXT"
    tls: bool = False
    warnings: tuple[str, ...] = ()
    host: str = platform.node()

    @property
    def sasl(self) -> bool:
        """Whether clients authenticate by SASL."""
        return self.security_protocol.startswith("SASL_")

    @property
    def identity(self) -> Identity:
        """The identity of a client that has sent nothing yet."""
        return UNSEEN if self.sasl or self.tls else UNAUTHENTICATED


def find_place(settings: GatewaySettings) -> GatewayPlace:
    """Asks the cluster for its id and, unless they are set, for the broker behind this gateway and its listener's security protocol.

    Raises:
        SettingsError: several brokers, or not that one; no such listener, or no right to ask for it; TLS that can't work.
    """
    with closing(new_admin({**KafkaAccess.of(settings).client_arguments(), "client_id": "clientscope-gateway-start"})) as admin:
        cluster = describe(admin)
        brokers = [broker.id for broker in cluster.brokers]
        broker_id = settings.broker_id if settings.broker_id >= 0 or len(brokers) != 1 else brokers[0]
        if broker_id not in brokers:
            wrong = f"broker {broker_id} isn't in the cluster" if broker_id >= 0 else "the cluster has several brokers"
            raise SettingsError(wrong, f"say which one --upstream is: --broker-id with one of {', '.join(map(str, brokers))}")
        protocol: str = settings.security_protocol
        client_auth = ClientAuth.UNKNOWN
        if not protocol:
            protocol, client_auth = _ask_protocol(admin, broker_id, settings)
        tls = plan(settings, protocol, client_auth)
        gateway_id = settings.gateway_id or settings.listen
        return GatewayPlace(
            cluster_id=cluster.cluster_id,
            broker_id=broker_id,
            gateway_id=gateway_id,
            gateway_epoch=next_epoch(KafkaAccess.of(settings), gateway_id, now_ms()),
            listener_name=settings.listener_name,
            security_protocol=tls.clients,
            tls=tls.passes,
            warnings=(*tls.warnings, *_unserved(settings, cluster)),
        )


def _unserved(settings: GatewaySettings, cluster: Described) -> Iterator[str]:
    """What the settings ask for and this release of Kafka can't do."""
    if cluster.by_metadata and (settings.broker_software_name or settings.broker_software_version or settings.broker_jmx):
        yield "the broker has no DescribeCluster (KIP-700, Kafka 2.8): clients can't ask what software it runs, and only the page shows it"


def _ask_protocol(admin: AdminClient, broker_id: int, settings: GatewaySettings) -> tuple[str, ClientAuth]:
    """What one of a broker's listeners speaks (KIP-103), and whether it asks for certificates, from the broker's own settings."""
    listener = settings.listener_name
    hint = (
        "say it: --security-protocol PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL; or let this principal ask:"
        " kafka-acls.sh --add --operation DescribeConfigs --cluster"
    )
    try:
        described = configs(admin, "broker", [str(broker_id)])[str(broker_id)]
        if not described:
            principal = KafkaAccess.of(settings).principal
            raise SettingsError(f"{principal} has no right to DescribeConfigs on the cluster, to ask what the listener speaks", hint)
        protocols = dict(entry.split(":", 1) for entry in str(described[_PROTOCOLS]).split(","))
    except (KafkaError, KeyError, ValueError) as error:
        raise SettingsError(f"broker {broker_id} doesn't tell its {_PROTOCOLS} ({type(error).__name__})", hint) from None
    if listener not in protocols:
        raise SettingsError(
            f"broker {broker_id} has no listener {listener}, only {', '.join(protocols)}",
            "say which one --upstream is: --listener-name",
        )
    for key in (f"listener.name.{listener.lower()}.{_CLIENT_AUTH}", _CLIENT_AUTH):
        if (value := described.get(key)) in {auth.value for auth in ClientAuth}:
            return str(protocols[listener]), ClientAuth(value)
    return str(protocols[listener]), ClientAuth.UNKNOWN
