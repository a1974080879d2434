"""What checks know: the settings of all processes, and what earlier checks found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clientscope.cluster.software import BrokerDetails
from clientscope.config import GatewaySettings, KafkaSettings, PageSettings, ServeSettings, StreamSettings
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import AdminClient

CLIENT_ID = "clientscope-doctor"


@dataclass
class Situation:
    """What is checked. Checks run one after the other, and fill in what others need.

    Attributes:
        gateway, stream, serve, page: settings of those processes; None if they are invalid.
        gateway_address: of ``--gateway``; empty if it isn't given.
        process: the one whose rights are checked; empty for all.
        timeout_s: how long one address, or one broker, has for an answer.
        access: None if the settings of Kafka can't be used, or one of their files can't.
        admin: None if no broker answers.
        brokers: those that were found.
    """

    kafka: KafkaSettings
    gateway: GatewaySettings | None
    stream: StreamSettings | None
    serve: ServeSettings | None
    page: PageSettings | None
    gateway_address: str = ""
    process: str = ""
    timeout_s: float = 5.0
    access: KafkaAccess | None = None
    admin: AdminClient | None = None
    brokers: Sequence[BrokerDetails] = ()
