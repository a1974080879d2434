"""What a request shows of its client's settings, exactly; what it only hints at isn't here.

Which field of which request carries a setting was read in Kafka's Java client (``Sender``, ``AbstractFetch``, ``AbstractCoordinator``,
``ConsumerHeartbeatRequestManager``, ``ConsumerMetadata``, ``TransactionManager``) and in librdkafka (``rdkafka_request.c``,
``rdkafka_fetcher.c``, ``rdkafka_cgrp.c``).  Other libraries fill some fields otherwise, so those are read of these alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clientscope.catalog.configs import ClientType
from clientscope.logs.requests import LoggedRequest

_ISOLATION = {"0": "read_uncommitted", "1": "read_committed"}
_JAVA_ASSIGNORS = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "roundrobin": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    "sticky": "org.apache.kafka.clients.consumer.StickyAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class ShownSetting(NamedTuple):
    """A setting under Kafka's name, with Kafka's text."""

    client_type: ClientType
    key: str
    value: str


def shown_settings(request: LoggedRequest, library: str | None) -> Iterator[ShownSetting]:
    """The settings in a request.

    Args:
        library: name of the client library's dialect; None where it isn't known.
    """
    fields = request.fields
    match request.api_key:
        case 0:
            yield from _of(ClientType.PRODUCER, _produced(fields, library))
        case 22:
            yield from _of(ClientType.PRODUCER, _producer_id(fields))
        case 1:
            yield from _of(ClientType.CONSUMER, _fetched(fields))
        case 11:
            if fields.get("protocolType") == "consumer":
                yield from _of(ClientType.CONSUMER, _joined(fields, request.api_version, library))
        case 68:
            yield from _of(ClientType.CONSUMER, _heartbeat(fields))
        case 12 | 14:
            yield from _of(ClientType.CONSUMER, {"group.id": fields.get("groupId")})
        case 8 if fields.get("memberId"):  # without a member an admin client may have sent it
            yield from _of(ClientType.CONSUMER, {"group.id": fields.get("groupId")})
        case 3:
            # A producer always asks for topics to be created, whatever its settings are.
            yield from _of(ClientType.CONSUMER, {"allow.auto.create.topics": fields.get("allowAutoTopicCreation")})


def _of(client_type: ClientType, settings: Mapping[str, str | None]) -> Iterator[ShownSetting]:
    for key, value in settings.items():
        if value:
            yield ShownSetting(client_type, key, value)


def _produced(fields: Mapping[str, str], library: str | None) -> dict[str, str | None]:
    found = {"acks": "all" if fields.get("acks") == "-1" else fields.get("acks"), "transactional.id": fields.get("transactionalId")}
    if library in ("java", "librdkafka", "kafka-python"):  # Sarama and franz-go have a setting of their own for it
        found["request.timeout.ms"] = fields.get("timeoutMs")
    return found


def _producer_id(fields: Mapping[str, str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {"enable.idempotence": "true", "transactional.id": fields.get("transactionalId")}
    if fields.get("transactionalId"):  # without one Java sends 2,147,483,647 and others 0
        found["transaction.timeout.ms"] = fields.get("transactionTimeoutMs")
    return found


def _fetched(fields: Mapping[str, str]) -> dict[str, str | None]:
    return {
        "fetch.max.wait.ms": fields.get("maxWaitMs"),
        "fetch.min.bytes": fields.get("minBytes"),
        "fetch.max.bytes": fields.get("maxBytes"),
        "max.partition.fetch.bytes": fields.get("partitionMaxBytes"),
        "isolation.level": _ISOLATION.get(fields.get("isolationLevel", "")),
        "client.rack": fields.get("rackId"),
    }


def _joined(fields: Mapping[str, str], version: int, library: str | None) -> dict[str, str | None]:
    found = {
        "group.id": fields.get("groupId"),
        "session.timeout.ms": fields.get("sessionTimeoutMs"),
        "group.instance.id": fields.get("groupInstanceId"),
    }
    if version >= 1 and library in ("java", "librdkafka", "kafka-python"):
        found["max.poll.interval.ms"] = fields.get("rebalanceTimeoutMs")
    names = fields.get("protocols", "").split(",")
    if library == "java" and all(name in _JAVA_ASSIGNORS for name in names):
        found["partition.assignment.strategy"] = ",".join(_JAVA_ASSIGNORS[name] for name in names)
    elif library == "librdkafka":
        found["partition.assignment.strategy"] = ",".join(names)
    return found


def _heartbeat(fields: Mapping[str, str]) -> dict[str, str | None]:
    timeout = fields.get("rebalanceTimeoutMs")
    return {
        "group.id": fields.get("groupId"),
        "group.protocol": "consumer",
        "group.instance.id": fields.get("instanceId"),
        "client.rack": fields.get("rackId"),
        "group.remote.assignor": fields.get("serverAssignor"),
        "max.poll.interval.ms": timeout if timeout != "-1" else None,  # -1: as in an earlier request
    }
