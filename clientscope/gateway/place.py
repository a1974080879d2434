"""Place of a gateway: its cluster, its broker, and the security protocol of that broker's listener."""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from kafka.errors import KafkaError

from clientscope.clock import now_ms
from clientscope.config import GatewaySettings
from clientscope.errors import RecordError, SettingsError
from clientscope.gateway.tls import ClientAuth, plan
from clientscope.kafka.access import Kafka, KafkaAccess
from clientscope.kafka.admin import AdminClient, Described, configs, describe, new_admin
from clientscope.kafka.reader import OffsetRange, TopicReader
from clientscope.kafka.writer import partition_of
from clientscope.model.codec import decode
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.topics import CONNECTIONS
from clientscope.session.state import UNAUTHENTICATED, UNSEEN, Identity

_PROTOCOLS = "listener.security.protocol.map"
_CLIENT_AUTH = "ssl.client.auth"


@dataclass(frozen=True)
class GatewayPlace:
    """The place of this gateway.

    Attributes:
        gateway_epoch: when this process started, in ms since the epoch, UTC; and above its process's before (`next_epoch`).
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


# Epoch of a gateway's process: its start time, always above that of the previous process.
#
# Readers take the process with the largest epoch for the newest.  A clock that was set back between two starts would make the new one look
# older, and all it says would be ignored; so the last epoch is read from where readers have it from.

log = logging.getLogger(__name__)

PATIENCE_S = 3.0
_LARGEST = 2**63 - 1
_STEPS = (100, 1_000, 10_000)
"""Numbers of the partition's last records to search for one of this gateway, which writes one each heartbeat."""


def next_epoch(kafka: Kafka, gateway_id: str, now_ms: int, patience_s: float = PATIENCE_S) -> int:
    """The time, or one more than this gateway's last epoch where that is later.

    Never fails, and lasts ``patience_s`` at most: where Kafka doesn't tell in time it is the time, which the log then says.
    """
    try:
        last = _last_epoch(kafka, gateway_id, time.monotonic() + patience_s)
    except (KafkaError, OSError, TimeoutError) as error:
        log.warning("the epoch of this gateway's last process can't be read (%s); its own clock must do", type(error).__name__)
        return now_ms
    if last is None or last < now_ms:
        return now_ms
    if last >= _LARGEST:
        log.error("%s has a record under this gateway's id whose epoch is the largest there is: its gauges will be ignored", CONNECTIONS)
        return now_ms
    log.warning("this machine's clock is %.0f s behind the last start of this gateway; is it right?", (last - now_ms) / 1000)
    return last + 1


def _last_epoch(kafka: Kafka, gateway_id: str, deadline: float) -> int | None:
    """The largest among this gateway's last records, or None if there are none.

    Raises:
        KafkaError, TimeoutError: it could not be read in time.
    """
    key = gateway_id.encode()
    reader = TopicReader(kafka, "clientscope-gateway-start", silence_s=deadline - time.monotonic(), wait_ms=100)
    with closing(reader):
        ranges = reader.ranges(CONNECTIONS, until=deadline)
        if not ranges:
            return None
        # Once partitions were added, older records are elsewhere, and too old to matter.
        number = partition_of(key, sorted(partition.partition for partition in ranges))
        (partition,) = (each for each in ranges if each.partition == number)
        begin, end = ranges[partition]
        for step in _STEPS:
            first = max(begin, end - step)
            reader.seek({partition: OffsetRange(first, end)})
            records = (record for batches in reader.read(deadline) for record in batches.get(partition, ()))
            epochs = [_epoch(record.value) for record in records if record.key == key]
            if found := [epoch for epoch in epochs if epoch is not None]:
                return max(found)
            if first == begin:
                break
    return None


def _epoch(value: bytes | None) -> int | None:
    try:
        return decode(ClientConnectionRecord, value).epoch
    except RecordError:
        return None
