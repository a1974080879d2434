"""kafka-python: Kafka's names with underscores.

Source: ``DEFAULT_CONFIG`` of KafkaProducer, KafkaConsumer and KafkaAdminClient in each release from 1.4.0 to 3.0.12; a test compares with
the one that is installed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Default, Dialect, settle_idempotence
from clientscope.catalog.settings import Release

_ALL: dict[str, Default] = {
    "bootstrap.servers": "localhost",
    "client.dns.lookup": {"3.0.0": "use_all_dns_ips"},
    "connections.max.idle.ms": "540000",
    "max.in.flight.requests.per.connection": "5",
    "metadata.max.age.ms": "300000",
    "metrics.num.samples": "2",
    "metrics.sample.window.ms": "30000",
    "reconnect.backoff.max.ms": {"1.4.0": "1000", "2.0.4": "30000"},
    "reconnect.backoff.ms": "50",
    "request.timeout.ms": "30000",
    "retry.backoff.ms": "100",
}


def _settle(client_type: ClientType, values: Mapping[str, str | None], given: Collection[str], software: Release) -> Mapping[str, str]:
    """Until 3.0 idempotence is off unless it is asked for, and then takes other defaults with it."""
    if client_type is not ClientType.PRODUCER:
        return {}
    with_it = {}
    asked = "enable.idempotence" in given and values.get("enable.idempotence") == "true"
    if software and software < (3, 0, 0) and (asked or values.get("transactional.id")):
        defaults = {"acks": "all", "max.in.flight.requests.per.connection": "1"}
        with_it = {key: value for key, value in defaults.items() if key not in given}
    return {**with_it, **settle_idempotence(client_type, {**values, **with_it}, given, software)}


KAFKA_PYTHON = Dialect(
    name="kafka-python",
    software=("kafka-python",),
    defaults={
        ClientType.PRODUCER: {
            **_ALL,
            "acks": {"1.4.0": "1", "3.0.0": "all"},
            "allow.auto.create.topics": {"2.1.0": "true"},
            "batch.size": "16384",
            "buffer.memory": {"1.4.0": "33554432", "2.1.5": None},
            "compression.type": "none",
            "delivery.timeout.ms": {"2.2.0": "120000"},
            "enable.idempotence": {"2.2.0": "false", "3.0.0": "true"},
            "linger.ms": "0",
            "max.block.ms": "60000",
            "max.request.size": "1048576",
            "retries": {"1.4.0": "0", "2.2.0": "2147483647"},
            "transaction.timeout.ms": {"2.2.0": "60000"},
        },
        ClientType.CONSUMER: {
            **_ALL,
            "allow.auto.create.topics": {"2.1.0": "true"},
            "auto.commit.interval.ms": "5000",
            "auto.offset.reset": "latest",
            "check.crcs": "true",
            "client.id": "kafka-python-{version}",
            "enable.auto.commit": "true",
            "exclude.internal.topics": "true",
            "fetch.max.bytes": "52428800",
            "fetch.max.wait.ms": "500",
            "fetch.min.bytes": "1",
            "heartbeat.interval.ms": "3000",
            "isolation.level": {"2.2.0": "read_uncommitted"},
            "max.partition.fetch.bytes": "1048576",
            "max.poll.interval.ms": "300000",
            "max.poll.records": "500",
            "partition.assignment.strategy": "kafka.coordinator.assignors.range.RangePartitionAssignor,"
            "kafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor",
            "request.timeout.ms": {"1.4.0": "305000", "3.0.0": "30000"},
            "session.timeout.ms": {"1.4.0": "10000", "3.0.0": "45000"},
        },
        ClientType.ADMIN: {**_ALL, "client.id": "kafka-python-{version}"},
    },
    aliases={"partitioner": "partitioner.class"},
    separator="_",
    spellings={"acks": {"-1": "all"}},
    settle=_settle,
    oldest=(1, 4, 0),
)
