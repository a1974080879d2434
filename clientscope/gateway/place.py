"""Where a gateway stands: which cluster, which broker, and what that broker's listener speaks."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass

from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import KafkaError

from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError

_PROTOCOLS = "listener.security.protocol.map"


@dataclass(frozen=True)
class Place:
    """Where this gateway stands.

    Attributes:
        gateway_epoch: when this process started, in ms since the epoch, UTC.
        security_protocol: Kafka's name of what the broker's listener speaks: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.
    """

    cluster_id: str
    broker_id: int
    gateway_id: str
    gateway_epoch: int
    listener_name: str
    security_protocol: str = "PLAINTEXT"

    @property
    def sasl(self) -> bool:
        """Whether clients authenticate by SASL."""
        return self.security_protocol.startswith("SASL_")

    @property
    def tls(self) -> bool:
        """Whether what passes is TLS, of which nothing can be read."""
        return self.security_protocol.endswith("SSL")


def find_place(settings: GatewaySettings) -> Place:
    """Asks the cluster who it is, and for what isn't said: which broker is behind this gateway, and what its listener speaks.

    Raises:
        SettingsError: several brokers, or not that one; no such listener, or no right to ask for it.
    """
    with closing(KafkaAdminClient(bootstrap_servers=settings.bootstrap_servers, client_id="clientscope-gateway-start")) as admin:
        cluster = admin.describe_cluster()
        brokers = sorted(broker["broker_id"] for broker in cluster["brokers"])
        broker_id = settings.broker_id if settings.broker_id >= 0 or len(brokers) != 1 else brokers[0]
        if broker_id not in brokers:
            wrong = f"broker {broker_id} isn't in the cluster" if broker_id >= 0 else "the cluster has several brokers"
            raise SettingsError(wrong, f"say which one --upstream is: --broker-id with one of {', '.join(map(str, brokers))}")
        return Place(
            cluster_id=cluster["cluster_id"],
            broker_id=broker_id,
            gateway_id=settings.gateway_id or settings.listen,
            gateway_epoch=time.time_ns() // 1_000_000,
            listener_name=settings.listener_name,
            security_protocol=settings.security_protocol or _ask_protocol(admin, broker_id, settings.listener_name),
        )


def _ask_protocol(admin: KafkaAdminClient, broker_id: int, listener_name: str) -> str:
    """The protocol of one of a broker's listeners, from the broker's own settings (KIP-103)."""
    hint = "say it: --security-protocol PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"
    resource = ConfigResource(ConfigResourceType.BROKER, str(broker_id))
    try:
        described = admin.describe_configs([resource], config_filter="all")["broker"][str(broker_id)]
        protocols = dict(entry.split(":", 1) for entry in str(described[_PROTOCOLS]["value"]).split(","))
    except (KafkaError, KeyError, ValueError) as error:
        raise SettingsError(f"broker {broker_id} doesn't tell its {_PROTOCOLS} ({type(error).__name__})", hint) from None
    if listener_name not in protocols:
        raise SettingsError(
            f"broker {broker_id} has no listener {listener_name}, only {', '.join(protocols)}",
            "say which one --upstream is: --listener-name",
        )
    return str(protocols[listener_name])
