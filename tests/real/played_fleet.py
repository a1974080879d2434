"""A fleet of 200 clients, played: what gateways would have written of it, on a real broker's topics.

Who is who is decided here, so that the answers to operators' questions are known.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import kafka
from record_bytes import config_record, connection_record, heartbeat, setting

from clientscope.catalog.value_states import ValueState
from clientscope.clock import now_ms
from clientscope.digest import DigestKey
from clientscope.model.client_key import client_key
from clientscope.model.codec import encode_whole
from clientscope.model.connection import rates
from clientscope.model.enums import Kind
from clientscope.model.principals import ANONYMOUS
from clientscope.model.status import BrokerStatus
from clientscope.model.topics import CONFIGS, CONNECTIONS, STATUS

CLUSTER = "played"
SECRET = "canary-played-4711"
STORM_ADDRESS = "10.9.9.9"
STORM_CLOSED = 1_200
OWNERS = """
[[owner]]
team = "payments"
contact = "#payments"
principal = "User:payments"

[[owner]]
team = "web"
contact = "web@example.com"
client_id = "web-*"

[[owner]]
team = "data"
contact = "#data"
client_id = ["clicks-*", "metrics-*"]
"""
_TODAY = ((18, 3), (3, 12), (0, 9), (1, 12))
_LONG_AGO = ((18, 0), (3, 1), (0, 2), (1, 3))


@dataclass(frozen=True)
class Application:
    """Clients that are alike.

    Attributes:
        settings: what each pushes; None of those that push nothing.
        gone: so many of them have disconnected.
        old: they request versions that Kafka 4.0 doesn't serve any more (KIP-896).
    """

    name: str
    clients: int
    software: Sequence[str]
    settings: Mapping[str, str] | None = None
    principal: str | None = None
    broker: int = 1
    gone: int = 0
    old: bool = False


APPLICATIONS = [Application(**each) for each in tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["application"]]
assert sum(application.clients for application in APPLICATIONS) == 200
MAY_LOSE = {"clicks": 25, "metrics-agent": 15, "orders": 10}
"""Producers that may lose data, once the orders have started with other settings."""


class PlayedFleet:
    """Writes the records.  Each broker has a gateway, whose name ends with the broker's number.

    Args:
        key: the gateways' digest key.
    """

    def __init__(self, internal: str, key: DigestKey) -> None:
        self._internal, self._key = internal, key
        self._sequences = {1: 0, 2: 0}
        self._connections = 0
        self._open: dict[str, int] = {}
        self._busy: dict[int, dict[int, tuple[int, int]]] = {1: {}, 2: {}}

    def starts(self) -> None:
        """Everybody connects and pushes; two of the billing clients leave again."""
        with closing(self._producer()) as producer:
            for application in APPLICATIONS:
                for number in range(application.clients):
                    self._client(producer, application, number)
            billing = next(each for each in APPLICATIONS if each.name == "billing")
            for number in range(billing.clients - billing.gone, billing.clients):
                self._event(producer, billing, number, Kind.CLOSED, self._open[f"billing-{number}"])
            for broker in (1, 2):
                self._heartbeat(producer, broker)
                status = BrokerStatus(
                    id=f"{CLUSTER}/{broker}", cluster=CLUSTER, broker=broker, gateway=f"gw-{broker}", told_ms=now_ms(),
                    interval_ms=3_600_000, software_name="apache-kafka", software_version="3.9.1", source="declared",
                )  # fmt: skip
                producer.send(STATUS, key=status.key, value=encode_whole(status))

    def orders_start_otherwise(self) -> None:
        """All clients of the orders are restarted, with acks=1."""
        with closing(self._producer()) as producer:
            orders = next(each for each in APPLICATIONS if each.name == "orders")
            for number in range(orders.clients):
                self._event(producer, orders, number, Kind.CLOSED, self._open[f"orders-{number}"])
                self._client(producer, orders, number, {**(orders.settings or {}), "acks": "1", "enable.idempotence": "false"}, start=1)

    def storm(self) -> None:
        """A job at broker 1 connects and leaves again and again."""
        job = Application("batch-job", 1, ("kafka-python", "2.0.2"))
        with closing(self._producer()) as producer:
            for _ in range(STORM_CLOSED):
                self._connections += 1
                for kind in (Kind.OPENED, Kind.CLOSED):
                    self._event(producer, job, 0, kind, self._connections, address=STORM_ADDRESS)

    def _producer(self) -> Any:
        return kafka.KafkaProducer(bootstrap_servers=self._internal, linger_ms=5)

    def _client(self, producer: Any, application: Application, number: int, settings: Any = None, start: int = 0) -> None:
        self._connections += 1
        name = f"{application.name}-{number}"
        self._open[name] = self._connections
        self._busy[application.broker][self._connections] = (1_000 * number, 10)
        instance = None if application.settings is None else UUID(int=(start + 1 << 64) + self._connections)
        self._event(producer, application, number, Kind.OPENED, self._connections, instance_id=instance)
        used = {"instance_id": instance, "requested_versions": _LONG_AGO if application.old else _TODAY}
        self._event(producer, application, number, Kind.PRESENT, self._connections, **used)
        if instance is None:
            return
        pushed = [setting(key, value) for key, value in (settings or application.settings or {}).items()]
        if application.name == "billing":
            hidden = {"state": ValueState.KEY_INFIX, "length": len(SECRET), "digest": self._key.digest(SECRET)}
            pushed.append(setting("sasl.jaas.config", None, **hidden))
        who = self._who(application, number)
        value = config_record(
            *pushed, received_ms=now_ms(), connection=self._connections, instance_id=instance,
            digest_key_id=self._key.key_id, **who,
        )  # fmt: skip
        key = client_key(CLUSTER, who["principal"], who["address"], instance, "", 0, 0)
        producer.send(CONFIGS, key=key.encode(), value=value)

    def _event(self, producer: Any, application: Application, number: int, kind: Kind, connection: int, **fields: Any) -> None:
        sequence = self._sequences[application.broker]
        self._sequences[application.broker] += 1
        who = {**self._who(application, number), **fields}
        value = connection_record(sequence, kind=kind, connection=connection, timestamp_ms=now_ms(), **who)
        producer.send(CONNECTIONS, key=f"gw-{application.broker}".encode(), value=value)

    def _heartbeat(self, producer: Any, broker: int) -> None:
        sequence = self._sequences[broker]
        self._sequences[broker] += 2
        where = {"cluster": CLUSTER, "broker": broker, "gateway": f"gw-{broker}", "epoch": 1}
        passed = {"kind": Kind.TRAFFIC, "connection": -1, "measured_ms": 1_000, "traffic": rates(1_000, self._busy[broker])}
        values = (
            heartbeat(sequence, heartbeat_interval_ms=3_600_000, timestamp_ms=now_ms(), **where),
            connection_record(sequence + 1, timestamp_ms=now_ms(), **passed, **where),
        )
        for value in values:
            producer.send(CONNECTIONS, key=f"gw-{broker}".encode(), value=value)

    def _who(self, application: Application, number: int) -> dict[str, Any]:
        return {
            "cluster": CLUSTER,
            "broker": application.broker,
            "gateway": f"gw-{application.broker}",
            "epoch": 1,
            "principal": application.principal or ANONYMOUS,
            "security_protocol": "SASL_SSL" if application.principal else "PLAINTEXT",
            "client_id": f"{application.name}-{number}",
            "address": f"10.0.{len(application.name)}.{number + 1}",
            "software_name": application.software[0],
            "software_version": application.software[1],
        }
