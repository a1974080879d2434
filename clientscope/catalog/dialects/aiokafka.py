"""aiokafka: Kafka's names with underscores, except ``max_batch_size``.

Source: the parameters of AIOKafkaProducer, AIOKafkaConsumer and AIOKafkaAdminClient in each release from 0.5.0 to 0.14.0, and what
AIOKafkaProducer's constructor makes of them; a test compares with the release that is installed.  It has no retries, no
delivery.timeout.ms and no choice of requests in flight.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Default, Dialect
from clientscope.catalog.settings import Release

_ALL: dict[str, Default] = {
    "bootstrap.servers": "localhost",
    "connections.max.idle.ms": "540000",
    "metadata.max.age.ms": "300000",
    "request.timeout.ms": "40000",
    "retry.backoff.ms": "100",
}


def _settle(client_type: ClientType, values: Mapping[str, str | None], given: Collection[str], software: Release) -> Mapping[str, str]:
    if client_type is not ClientType.PRODUCER:
        return {}
    settled = {"enable.idempotence": "true"} if values.get("transactional.id") else {}
    if {**values, **settled}.get("enable.idempotence") == "true" and "acks" not in given:
        settled["acks"] = "all"
    return settled


AIOKAFKA = Dialect(
    name="aiokafka",
    software=("aiokafka",),
    defaults={
        ClientType.PRODUCER: {
            **_ALL,
            "acks": "1",
            "batch.size": "16384",
            "compression.type": "none",
            "enable.idempotence": "false",
            "linger.ms": "0",
            "max.request.size": "1048576",
            "transaction.timeout.ms": "60000",
        },
        ClientType.CONSUMER: {
            **_ALL,
            "auto.commit.interval.ms": "5000",
            "auto.offset.reset": "latest",
            "check.crcs": "true",
            "client.id": "aiokafka-{version}",
            "enable.auto.commit": "true",
            "exclude.internal.topics": "true",
            "fetch.max.bytes": "52428800",
            "fetch.max.wait.ms": "500",
            "fetch.min.bytes": "1",
            "heartbeat.interval.ms": "3000",
            "isolation.level": "read_uncommitted",
            "max.partition.fetch.bytes": "1048576",
            "max.poll.interval.ms": {"0.5.1": "300000"},
            "partition.assignment.strategy": "aiokafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor",
            "session.timeout.ms": {"0.5.0": "30000", "0.5.1": "10000"},
        },
        ClientType.ADMIN: {**_ALL, "client.id": "aiokafka-{version}"},
    },
    aliases={"max_batch_size": "batch.size", "partitioner": "partitioner.class"},
    separator="_",
    spellings={"acks": {"-1": "all"}},
    settle=_settle,
    oldest=(0, 5, 0),
)
