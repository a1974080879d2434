"""Kafka's client settings, as data: their types, and the ones that a client pushes by default.

Other libraries' names for them are in ``dialects``.

Sources: the catalogue (`clientscope.catalog.settings`) for the types; KIP-1324 "Sensitive Configuration" for the default lists, and
revision 9 of its page for the consumer's ``request.timeout.ms`` and for the admin client.
"""

from __future__ import annotations

from enum import Enum, IntEnum

from clientscope.catalog import settings


class Type(IntEnum):
    """Kafka's ConfigDef.Type, by its ordinals: what a push's ConfigType carries."""

    BOOLEAN = 0
    STRING = 1
    INT = 2
    SHORT = 3
    LONG = 4
    DOUBLE = 5
    LIST = 6
    CLASS = 7
    PASSWORD = 8


class ClientType(Enum):
    """Which of Kafka's clients a configuration is for."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    SHARE_CONSUMER = "share-consumer"
    ADMIN = "admin"
    STREAMS = "streams"

    __hash__ = object.__hash__  # Enum's own is a function in Python, which would be called 70 times for a push


DEFAULT_KEYS: dict[ClientType, tuple[str, ...]] = {
    ClientType.PRODUCER: (
        "acks",
        "batch.size",
        "buffer.memory",
        "client.id",
        "compression.type",
        "delivery.timeout.ms",
        "enable.idempotence",
        "linger.ms",
        "max.in.flight.requests.per.connection",
        "request.timeout.ms",
        "retries",
    ),
    ClientType.CONSUMER: (
        "auto.offset.reset",
        "client.id",
        "enable.auto.commit",
        "fetch.min.bytes",
        "fetch.max.wait.ms",
        "group.id",
        "isolation.level",
        "max.poll.interval.ms",
        "max.poll.records",
        "request.timeout.ms",
        "session.timeout.ms",
    ),
    ClientType.SHARE_CONSUMER: (
        "client.id",
        "fetch.max.wait.ms",
        "fetch.min.bytes",
        "group.id",
        "max.poll.interval.ms",
        "max.poll.records",
        "share.acknowledgement.mode",
        "share.acquire.mode",
    ),
    ClientType.ADMIN: ("client.id", "request.timeout.ms", "retries"),
    ClientType.STREAMS: (
        "application.id",
        "client.id",
        "commit.interval.ms",
        "group.protocol",
        "max.task.idle.ms",
        "num.standby.replicas",
        "num.stream.threads",
        "processing.guarantee",
        "replication.factor",
        "request.timeout.ms",
        "statestore.cache.max.bytes",
    ),
}
"""What each client pushes unless ``config.push.allowed.keys`` says otherwise.

KIP-1324 has no list for Kafka Streams. This one follows its others: the application's identity (``application.id`` is its consumers'
group.id), and otherwise numbers and fixed choices, those of StreamsConfig that decide about loss, duplicates, latency and availability.
No class, no path (``state.dir``), no address (``application.server``), and nothing under ``producer.``, ``consumer.``, ``main.consumer.``
or ``admin.``: those are settings of embedded clients, and StreamsConfig defines none of them, so they count as custom.
"""

_JAVA = settings.libraries()["java"]
_KIP_1324 = {"config.push.allowed.keys": Type.LIST, "enable.config.push": Type.BOOLEAN}
TYPES: dict[str, Type] = {key: Type(found) for key, found in _JAVA.newest_types({each.value for each in ClientType}).items()} | _KIP_1324
"""Every client config of Kafka 4.4.0, of Kafka Streams 4.3.0, and KIP-1324's two.

A key that isn't here is custom, which KIP-1324 calls sensitive.
"""
