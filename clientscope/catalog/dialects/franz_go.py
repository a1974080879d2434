"""franz-go: settings are options of ``kgo.NewClient``, and a settings file has the options' names.

Names are those of the functions that make the options: ``{"ProducerLinger": "5ms", "RequiredAcks": -1, "ConsumerGroup": "orders"}``.
Durations are Go's, as text or as a number of nanoseconds.

Source: ``defaultCfg`` and ``validate`` in pkg/kgo/config.go of each release from 1.0.0 to 1.21.5, and sink.go for requests in flight.
Releases before 1.1.3 say 0.1.0 of themselves.  A client that breaks ``validate`` (idempotent without acks=all, say) never starts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Default, Dialect
from clientscope.catalog.settings import Release

_LARGEST_INT = str(2**31 - 1)

_CLIENT = {
    "ClientID": "client.id",
    "ConnIdleTimeout": "connections.max.idle.ms",
    "DialTimeout": "socket.connection.setup.timeout.ms",
    "SeedBrokers": "bootstrap.servers",
    "MetadataMaxAge": "metadata.max.age.ms",
    "AllowAutoTopicCreation": "allow.auto.create.topics",
}
_PRODUCER = {
    **_CLIENT,
    "RequiredAcks": "acks",
    "DisableIdempotentWrite": "enable.idempotence",
    "MaxProduceRequestsInflightPerBroker": "max.in.flight.requests.per.connection",
    "MaxBufferedBytes": "buffer.memory",
    "ProduceRequestTimeout": "request.timeout.ms",
    "ProducerBatchCompression": "compression.type",
    "ProducerBatchMaxBytes": "batch.size",
    "ProducerLinger": "linger.ms",
    "RecordDeliveryTimeout": "delivery.timeout.ms",
    "RecordRetries": "retries",
    "TransactionTimeout": "transaction.timeout.ms",
    "TransactionalID": "transactional.id",
}
_GROUP = {
    **_CLIENT,
    "FetchMaxBytes": "fetch.max.bytes",
    "FetchMaxPartitionBytes": "max.partition.fetch.bytes",
    "FetchMaxWait": "fetch.max.wait.ms",
    "FetchMinBytes": "fetch.min.bytes",
    "Rack": "client.rack",
}
_CONSUMER = {
    **_GROUP,
    "AutoCommitInterval": "auto.commit.interval.ms",
    "Balancers": "partition.assignment.strategy",
    "ConsumeResetOffset": "auto.offset.reset",
    "ConsumerGroup": "group.id",
    "DisableAutoCommit": "enable.auto.commit",
    "FetchIsolationLevel": "isolation.level",
    "HeartbeatInterval": "heartbeat.interval.ms",
    "InstanceID": "group.instance.id",
    "RebalanceTimeout": "max.poll.interval.ms",  # JoinGroup's RebalanceTimeoutMs, as in Kafka's own consumer
    "SessionTimeout": "session.timeout.ms",
}
_SHARE_CONSUMER = {**_GROUP, "ShareGroup": "group.id", "ShareMaxRecords": "max.poll.records"}

_ALL: dict[str, Default] = {
    "allow.auto.create.topics": "false",
    "bootstrap.servers": "127.0.0.1",
    "client.id": "kgo",
    "connections.max.idle.ms": {"1.0.0": "20000", "1.20.7": "30000"},
    "metadata.max.age.ms": "300000",
    "retry.backoff.max.ms": {"1.0.0": "1000", "1.2.3": "2500", "1.19.0": "5000"},
    "retry.backoff.ms": {"1.0.0": "100", "1.2.3": "250"},
    "socket.connection.setup.timeout.ms": "10000",
}
_FETCHING: dict[str, Default] = {
    **_ALL,
    "fetch.max.bytes": "52428800",
    "fetch.min.bytes": "1",
    "max.partition.fetch.bytes": {"1.0.0": "10485760", "1.4.1": "1048576"},
}


def _settle(client_type: ClientType, values: Mapping[str, str | None], given: Collection[str], software: Release) -> Mapping[str, str]:
    """Requests in flight are five a broker when idempotent, whatever is set, and else one unless set."""
    if client_type is not ClientType.PRODUCER:
        return {}
    if values.get("enable.idempotence") != "false":
        return {"max.in.flight.requests.per.connection": "5"}
    return {} if "max.in.flight.requests.per.connection" in given else {"max.in.flight.requests.per.connection": "1"}


FRANZ_GO = Dialect(
    name="franz-go",
    software=("kgo",),
    defaults={
        ClientType.PRODUCER: {
            **_ALL,
            "acks": "all",
            "batch.size": {"1.0.0": "1000000", "1.10.3": "1000012"},
            "compression.type": "snappy",
            "enable.idempotence": "true",
            "linger.ms": {"1.0.0": "0", "1.20.0": "10"},
            "max.in.flight.requests.per.connection": "5",
            "request.timeout.ms": {"1.0.0": "30000", "1.2.3": "10000"},
            "retries": _LARGEST_INT,
            "transaction.timeout.ms": "40000",
        },
        ClientType.CONSUMER: {
            **_FETCHING,
            "auto.commit.interval.ms": "5000",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "true",
            "fetch.max.wait.ms": "5000",
            "heartbeat.interval.ms": "3000",
            "isolation.level": "read_uncommitted",
            "max.poll.interval.ms": "60000",
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": "45000",
        },
        ClientType.SHARE_CONSUMER: {**_FETCHING, "fetch.max.wait.ms": "500", "max.poll.records": {"1.21.0": "500"}},
        ClientType.ADMIN: {**_ALL, "retries": "20"},
    },
    aliases_of={
        ClientType.PRODUCER: _PRODUCER,
        ClientType.CONSUMER: _CONSUMER,
        ClientType.SHARE_CONSUMER: _SHARE_CONSUMER,
        ClientType.ADMIN: {**_CLIENT, "RequestRetries": "retries"},
    },
    spellings={
        "acks": {"-1": "all", "allisracks": "all", "leaderack": "1", "noack": "0"},
        "delivery.timeout.ms": {"0": _LARGEST_INT},  # unlimited
        "isolation.level": {
            "0": "read_uncommitted", "1": "read_committed", "readuncommitted": "read_uncommitted", "readcommitted": "read_committed",
        },
    },
    durations=frozenset(
        {
            "AutoCommitInterval", "ConnIdleTimeout", "DialTimeout", "FetchMaxWait", "HeartbeatInterval", "MetadataMaxAge",
            "ProduceRequestTimeout", "ProducerLinger", "RebalanceTimeout", "RecordDeliveryTimeout", "SessionTimeout", "TransactionTimeout",
        }
    ),
    inverted=frozenset({"DisableAutoCommit", "DisableIdempotentWrite"}),
    settle=_settle,
    oldest=(1, 0, 0),
)  # fmt: skip
