"""librdkafka, and clients built on it: confluent-kafka in Python, Go and .NET, node-rdkafka, rust-rdkafka, and others.

Sources: CONFIGURATION.md of each release from 1.0.0 to 2.15.0 for names and defaults; rd_kafka_conf_finalize and
rd_kafka_topic_conf_finalize in src/rdkafka_conf.c for what it makes of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Default, Dialect
from clientscope.catalog.settings import Release, numbers

_ALL: dict[str, Default] = {
    "client.id": "rdkafka",
    "client.dns.lookup": {"2.2.0": "use_all_dns_ips"},
    "connections.max.idle.ms": {"1.7.0": "0"},
    "enable.metrics.push": {"2.5.0": "true"},
    "metadata.max.age.ms": "900000",
    "metadata.recovery.rebootstrap.trigger.ms": {"2.11.0": "300000"},
    "metadata.recovery.strategy": {"2.10.0": "rebootstrap"},
    "reconnect.backoff.max.ms": "10000",
    "reconnect.backoff.ms": "100",
    "retry.backoff.max.ms": {"2.3.0": "1000"},
    "retry.backoff.ms": "100",
    "socket.connection.setup.timeout.ms": {"1.9.0": "30000"},
}
_FETCHING: dict[str, Default] = {
    "check.crcs": "false",
    "fetch.max.bytes": "52428800",
    "fetch.max.wait.ms": {"1.0.0": "100", "1.5.0": "500"},
    "fetch.min.bytes": "1",
    "max.partition.fetch.bytes": "1048576",
    "max.poll.interval.ms": "300000",
    "request.timeout.ms": "60000",
}


def _settle(client_type: ClientType, values: Mapping[str, str | None], given: Collection[str], software: Release) -> Mapping[str, str]:
    if client_type is not ClientType.PRODUCER:
        return {}
    settled = {}
    transactional = bool(values.get("transactional.id"))
    if transactional:
        settled["enable.idempotence"] = "true"
        if "delivery.timeout.ms" not in given and (timeout := values.get("transaction.timeout.ms")):
            settled["delivery.timeout.ms"] = timeout
    if transactional or values.get("enable.idempotence") == "true":
        if "max.in.flight.requests.per.connection" not in given:
            settled["max.in.flight.requests.per.connection"] = "5"
        if "retries" not in given:
            settled["retries"] = str(2**31 - 1)
        if "acks" not in given:
            settled["acks"] = "all"
    return settled


def _numbers_of(version: str) -> Release:
    """The version of librdkafka, if a binding sends both: ``2.16.1-rdkafka-2.16.0``."""
    return numbers(version.rpartition("rdkafka-")[2])


_ALIASES = {
    "metadata.broker.list": "bootstrap.servers",
    "max.in.flight": "max.in.flight.requests.per.connection",
    "sasl.mechanisms": "sasl.mechanism",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "fetch.wait.max.ms": "fetch.max.wait.ms",
    "fetch.message.max.bytes": "max.partition.fetch.bytes",
    "auto.commit.enable": "enable.auto.commit",
    "queue.buffering.max.kbytes": "buffer.memory",
    "queue.buffering.max.ms": "linger.ms",
    "message.send.max.retries": "retries",
    "message.max.bytes": "max.request.size",
    "message.timeout.ms": "delivery.timeout.ms",
    "request.required.acks": "acks",
    "compression.codec": "compression.type",
    "partitioner": "partitioner.class",
}

_ALIASES_UNLESS_PRODUCER = {
    "socket.timeout.ms": "request.timeout.ms",
    "request.timeout.ms": "topic.request.timeout.ms",  # librdkafka's own is the producer's alone, so Kafka's must not be taken for it
}

LIBRDKAFKA = Dialect(
    name="librdkafka",
    software=("librdkafka", "confluent-kafka-python", "confluent-kafka-go", "confluent-kafka-dotnet", "confluent-kafka-javascript"),
    defaults={
        ClientType.PRODUCER: {
            **_ALL,
            "acks": "all",
            "allow.auto.create.topics": {"2.0.0": "true"},
            "batch.size": {"1.5.0": "1000000"},
            "buffer.memory": "1073741824",
            "compression.type": "none",
            "delivery.timeout.ms": "300000",
            "enable.idempotence": "false",
            "linger.ms": {"1.0.0": "0", "1.2.0": "0.5", "1.5.0": "5"},
            "max.in.flight.requests.per.connection": "1000000",
            "max.request.size": "1000000",
            "request.timeout.ms": {"1.0.0": "5000", "1.5.2": "30000"},
            "retries": {"1.0.0": "2", "1.5.2": "2147483647"},
            "transaction.timeout.ms": {"1.4.0": "60000"},
        },
        ClientType.CONSUMER: {
            **_ALL,
            **_FETCHING,
            "allow.auto.create.topics": {"1.5.0": "false"},
            "auto.commit.interval.ms": "5000",
            "auto.offset.reset": "latest",
            "enable.auto.commit": "true",
            "group.protocol": {"2.4.0": "classic"},
            "heartbeat.interval.ms": "3000",
            "isolation.level": {"1.2.0": "read_committed"},
            "max.in.flight.requests.per.connection": "1000000",
            "partition.assignment.strategy": "range,roundrobin",
            "session.timeout.ms": {"1.0.0": "10000", "1.7.0": "45000"},
        },
        ClientType.SHARE_CONSUMER: {
            **_ALL,
            **_FETCHING,
            "max.poll.records": {"2.15.0": "500"},
            "share.acknowledgement.mode": {"2.15.0": "implicit"},
        },
        ClientType.ADMIN: {**_ALL, "request.timeout.ms": "60000"},
    },
    # Old bindings nest the topics' settings.
    aliases=_ALIASES | {f"default.topic.config.{name}": key for name, key in _ALIASES.items()},
    aliases_of=dict.fromkeys((ClientType.CONSUMER, ClientType.SHARE_CONSUMER, ClientType.ADMIN), _ALIASES_UNLESS_PRODUCER),
    spellings={
        "acks": {"-1": "all", "all": "all"},
        "auto.offset.reset": {
            "largest": "latest", "latest": "latest", "end": "latest", "smallest": "earliest", "earliest": "earliest",
            "beginning": "earliest", "error": "none",
        },
        "delivery.timeout.ms": {"0": "2147483647"},  # infinite
        # What is one of a list may be written in any case.
        "compression.type": {codec: codec for codec in ("none", "gzip", "snappy", "lz4", "zstd")},
        "group.protocol": {protocol: protocol for protocol in ("classic", "consumer")},
        "isolation.level": {level: level for level in ("read_uncommitted", "read_committed")},
    },
    booleans={"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"},
    factors={"queue.buffering.max.kbytes": 1024},
    settle=_settle,
    numbers_of=_numbers_of,
    oldest=(1, 0, 0),
)  # fmt: skip
