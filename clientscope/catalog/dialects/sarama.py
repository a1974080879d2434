"""Sarama: settings are the fields of ``sarama.Config``, and a settings file has the fields' paths.

``{"ClientID": "orders", "Producer": {"RequiredAcks": -1, "Flush": {"Frequency": "5ms"}}}``; durations are Go's, as text or as a number of
nanoseconds, which is how Go writes them in JSON.

Source: ``NewConfig`` and ``Validate`` in config.go of each release from 1.19.0 (consumer groups) to 1.60.1; KIP-511's name is sent since
1.30.0. A configuration that breaks ``Validate`` (idempotent with more than one request in flight, say) makes no client.
"""

from __future__ import annotations

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Default, Dialect

_CLIENT = {
    "ClientID": "client.id",
    "RackID": "client.rack",
    "Metadata.AllowAutoTopicCreation": "allow.auto.create.topics",
    "Metadata.RefreshFrequency": "metadata.max.age.ms",
    "Net.DialTimeout": "socket.connection.setup.timeout.ms",
}
_PRODUCER = {
    **_CLIENT,
    "Net.MaxOpenRequests": "max.in.flight.requests.per.connection",
    "Producer.Compression": "compression.type",
    "Producer.Flush.Frequency": "linger.ms",
    "Producer.Idempotent": "enable.idempotence",
    "Producer.MaxMessageBytes": "max.request.size",
    "Producer.RequiredAcks": "acks",
    "Producer.Retry.Backoff": "retry.backoff.ms",
    "Producer.Retry.Max": "retries",
    "Producer.Timeout": "request.timeout.ms",
    "Producer.Transaction.ID": "transactional.id",
    "Producer.Transaction.Timeout": "transaction.timeout.ms",
}
_CONSUMER = {
    **_CLIENT,
    "Consumer.Fetch.Default": "max.partition.fetch.bytes",
    "Consumer.Fetch.MaxBytes": "fetch.max.bytes",
    "Consumer.Fetch.Min": "fetch.min.bytes",
    "Consumer.Group.Heartbeat.Interval": "heartbeat.interval.ms",
    "Consumer.Group.InstanceId": "group.instance.id",
    "Consumer.Group.Rebalance.GroupStrategies": "partition.assignment.strategy",
    "Consumer.Group.Rebalance.Strategy": "partition.assignment.strategy",
    "Consumer.Group.Rebalance.Timeout": "max.poll.interval.ms",  # JoinGroup's RebalanceTimeoutMs, as in Kafka's own consumer
    "Consumer.Group.Session.Timeout": "session.timeout.ms",
    "Consumer.IsolationLevel": "isolation.level",
    "Consumer.MaxWaitTime": "fetch.max.wait.ms",
    "Consumer.Offsets.AutoCommit.Enable": "enable.auto.commit",
    "Consumer.Offsets.AutoCommit.Interval": "auto.commit.interval.ms",
    "Consumer.Offsets.CommitInterval": "auto.commit.interval.ms",
    "Consumer.Offsets.Initial": "auto.offset.reset",
    "Consumer.Retry.Backoff": "retry.backoff.ms",
    "Net.ReadTimeout": "request.timeout.ms",
}
_ADMIN = {**_CLIENT, "Admin.Retry.Backoff": "retry.backoff.ms", "Admin.Retry.Max": "retries", "Admin.Timeout": "request.timeout.ms"}

_ALL: dict[str, Default] = {
    "allow.auto.create.topics": {"1.30.0": "true"},
    "client.id": "sarama",
    "metadata.max.age.ms": "600000",
    "socket.connection.setup.timeout.ms": "30000",
}

SARAMA = Dialect(
    name="sarama",
    software=("sarama",),
    defaults={
        ClientType.PRODUCER: {
            **_ALL,
            "acks": "1",
            "compression.type": "none",
            "enable.idempotence": "false",
            "linger.ms": "0",
            "max.in.flight.requests.per.connection": "5",
            "max.request.size": {"1.19.0": "1000000", "1.43.1": "1048576"},
            "request.timeout.ms": "10000",
            "retries": "3",
            "retry.backoff.ms": "100",
            "transaction.timeout.ms": {"1.37.0": "60000"},
        },
        ClientType.CONSUMER: {
            **_ALL,
            "auto.commit.interval.ms": "1000",
            "auto.offset.reset": "latest",
            "enable.auto.commit": "true",
            "fetch.max.bytes": {"1.49.0": "52428800"},
            "fetch.max.wait.ms": {"1.19.0": "250", "1.33.0": "500"},
            "fetch.min.bytes": "1",
            "heartbeat.interval.ms": "3000",
            "isolation.level": "read_uncommitted",
            "max.partition.fetch.bytes": "1048576",
            "max.poll.interval.ms": "60000",
            "partition.assignment.strategy": "range",
            "request.timeout.ms": "30000",
            "retry.backoff.ms": "2000",
            "session.timeout.ms": "10000",
        },
        ClientType.ADMIN: {
            **_ALL,
            "request.timeout.ms": "3000",
            "retries": {"1.26.0": "5"},
            "retry.backoff.ms": {"1.26.0": "100"},
        },
    },
    aliases_of={ClientType.PRODUCER: _PRODUCER, ClientType.CONSUMER: _CONSUMER, ClientType.ADMIN: _ADMIN},
    spellings={
        "acks": {"-1": "all", "waitforall": "all", "waitforlocal": "1", "noresponse": "0"},
        "auto.offset.reset": {"-1": "latest", "-2": "earliest", "offsetnewest": "latest", "offsetoldest": "earliest"},
        "compression.type": {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4", "4": "zstd"},
        "isolation.level": {
            "0": "read_uncommitted", "1": "read_committed", "readuncommitted": "read_uncommitted", "readcommitted": "read_committed",
        },
    },
    durations=frozenset(
        {
            "Admin.Retry.Backoff", "Admin.Timeout", "Consumer.Group.Heartbeat.Interval", "Consumer.Group.Rebalance.Timeout",
            "Consumer.Group.Session.Timeout", "Consumer.MaxWaitTime", "Consumer.Offsets.AutoCommit.Interval",
            "Consumer.Offsets.CommitInterval", "Consumer.Retry.Backoff", "Metadata.RefreshFrequency", "Net.DialTimeout", "Net.ReadTimeout",
            "Producer.Flush.Frequency", "Producer.Retry.Backoff", "Producer.Timeout", "Producer.Transaction.Timeout",
        }
    ),
    oldest=(1, 19, 0),
)  # fmt: skip
