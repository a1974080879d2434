"""KafkaJS: its own names in camelCase, in nested objects or flat.

A file of its settings holds what an application gives to ``new Kafka()``, ``producer()``, ``send()``, ``consumer()``, ``subscribe()`` and
``run()``, either flat or each under one of these names: ``{"clientId": "orders", "producer": {"maxInFlightRequests": 1}}``.

Source: src/index.js, src/producer, src/consumer, src/cluster and src/retry/defaults.js of KafkaJS 2.2.4, which says no software name.
An idempotent producer's retries stay at 5 too: the constructor gives it an object of retry settings, so its own larger default never holds.
"""

from __future__ import annotations

from collections.abc import Mapping

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Default, Dialect

_CLIENT = {
    "brokers": "bootstrap.servers",
    "clientId": "client.id",
    "connectionTimeout": "socket.connection.setup.timeout.ms",
    "requestTimeout": "request.timeout.ms",
    "metadataMaxAge": "metadata.max.age.ms",
    "allowAutoTopicCreation": "allow.auto.create.topics",
    "maxInFlightRequests": "max.in.flight.requests.per.connection",
    "retry.retries": "retries",
    "retry.initialRetryTime": "retry.backoff.ms",
    "retry.maxRetryTime": "retry.backoff.max.ms",
}
_PRODUCER = {
    **_CLIENT,
    "idempotent": "enable.idempotence",
    "transactionalId": "transactional.id",
    "transactionTimeout": "transaction.timeout.ms",
    "acks": "acks",
    "compression": "compression.type",
}
_CONSUMER = {
    **_CLIENT,
    "groupId": "group.id",
    "sessionTimeout": "session.timeout.ms",
    "rebalanceTimeout": "max.poll.interval.ms",  # what JoinGroup's RebalanceTimeoutMs is in Kafka's own consumer
    "heartbeatInterval": "heartbeat.interval.ms",
    "maxBytesPerPartition": "max.partition.fetch.bytes",
    "minBytes": "fetch.min.bytes",
    "maxBytes": "fetch.max.bytes",
    "maxWaitTimeInMs": "fetch.max.wait.ms",
    "readUncommitted": "isolation.level",
    "rackId": "client.rack",
    "autoCommit": "enable.auto.commit",
    "autoCommitInterval": "auto.commit.interval.ms",
    "fromBeginning": "auto.offset.reset",
}
_ALL: dict[str, Default] = {
    "client.id": "kafkajs",
    "request.timeout.ms": "30000",
    "retries": "5",
    "retry.backoff.max.ms": "30000",
    "retry.backoff.ms": "300",
    "socket.connection.setup.timeout.ms": "1000",
}


def _within(aliases: Mapping[str, str], *objects: str) -> dict[str, str]:
    """Names as they are, and within each of these objects."""
    return {**aliases, **{f"{within}.{name}": key for within in objects for name, key in aliases.items()}}


KAFKAJS = Dialect(
    name="kafkajs",
    software=("kafkajs",),
    defaults={
        ClientType.PRODUCER: {
            **_ALL,
            "acks": "all",
            "allow.auto.create.topics": "true",
            "compression.type": "none",
            "enable.idempotence": "false",
            "metadata.max.age.ms": "300000",
            "transaction.timeout.ms": "60000",
        },
        ClientType.CONSUMER: {
            **_ALL,
            "allow.auto.create.topics": "true",
            "auto.offset.reset": "latest",
            "enable.auto.commit": "true",
            "fetch.max.bytes": "10485760",
            "fetch.max.wait.ms": "5000",
            "fetch.min.bytes": "1",
            "heartbeat.interval.ms": "3000",
            "isolation.level": "read_committed",
            "max.partition.fetch.bytes": "1048576",
            "max.poll.interval.ms": "60000",
            "metadata.max.age.ms": "300000",
            "session.timeout.ms": "30000",
        },
        ClientType.ADMIN: _ALL,
    },
    aliases_of={
        ClientType.PRODUCER: _within(_PRODUCER, "producer", "send"),
        ClientType.CONSUMER: _within(_CONSUMER, "consumer", "subscribe", "run"),
        ClientType.ADMIN: _within(_CLIENT, "admin"),
    },
    spellings={
        "acks": {"-1": "all"},
        "auto.offset.reset": {"true": "earliest", "false": "latest"},
        "compression.type": {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4", "4": "zstd"},
        "isolation.level": {"true": "read_uncommitted", "false": "read_committed"},
    },
)
