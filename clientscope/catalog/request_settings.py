"""What a request shows of its client's settings, exactly.

Which field of which request carries a setting was read in Kafka's Java client (``Sender``, ``AbstractFetch``, ``AbstractCoordinator``,
``ConsumerHeartbeatRequestManager``, ``ConsumerMetadata``, ``TransactionManager``, ``ShareSessionHandler``), in librdkafka
(``rdkafka_request.c``, ``rdkafka_fetcher.c``, ``rdkafka_cgrp.c``, ``rdkafka_msgset_writer.c``), kafka-python and aiokafka
(``producer/sender.py``, ``record/default_records.py``).  Other libraries fill some fields otherwise, so those are read of these alone.

Assignors have the names of the group protocol, ``range``: a class's name isn't on the wire, and is redacted as a secret might be.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from clientscope.catalog.configs import ClientType

BETWEEN = " | "
"""Between the values of a setting of which a client's requests show several, as acks of several topics."""

_ISOLATION = {"0": "read_uncommitted", "1": "read_committed"}
_COMPRESSION = {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4", "4": "zstd"}
_ACQUIRE_MODE = {"0": "batch_optimized", "1": "record_limit"}
_SENDS_REQUEST_TIMEOUT = frozenset({"java", "librdkafka", "kafka-python", "aiokafka"})
"""Libraries whose Produce.TimeoutMs is request.timeout.ms; Sarama and franz-go have a setting of their own for it."""
_SENDS_POLL_INTERVAL = frozenset({"java", "librdkafka", "kafka-python"})
"""Libraries whose JoinGroup.RebalanceTimeoutMs is max.poll.interval.ms; aiokafka has a setting of its own for it."""
_SENT_BY = {
    ClientType.PRODUCER: frozenset({0, 22}),
    ClientType.CONSUMER: frozenset({1, 11, 12, 68}),
    ClientType.SHARE_CONSUMER: frozenset({76, 78, 79}),
}


class RequestSetting(NamedTuple):
    """A setting under Kafka's name, with Kafka's text."""

    client_type: ClientType
    key: str
    value: str


def weakest(key: str, values: str) -> str | None:
    """What rules judge of several values, `BETWEEN` them; None where none of them is the client's for sure.

    Of ``acks`` each is true of some of the client's records, so the one that loses most counts.
    """
    return min(values.split(BETWEEN)) if key == "acks" else None


def shown_types(api_keys: Collection[int]) -> tuple[ClientType, ...]:
    """What a client is, by the requests that only such a client sends; empty where none of them came."""
    return tuple(client_type for client_type, keys in _SENT_BY.items() if not keys.isdisjoint(api_keys))


def shown_settings(api_key: int, api_version: int, fields: Mapping[str, str], library: str | None) -> Iterator[RequestSetting]:
    """The settings in a request.

    Args:
        fields: of its body, by Kafka's names in JSON, and those that `clientscope.wire.request_fields` reads off its first batch.
        library: name of the client library's dialect; None where it isn't known.
    """
    match api_key:
        case 0:
            yield from _of(ClientType.PRODUCER, _produced(fields, library))
        case 22:
            yield from _of(ClientType.PRODUCER, _producer_id(fields))
        case 1:
            yield from _of(ClientType.CONSUMER, _fetched(fields))
        case 11:
            if fields.get("protocolType") == "consumer":
                yield from _of(ClientType.CONSUMER, _joined(fields, api_version, library))
        case 68:
            yield from _of(ClientType.CONSUMER, _heartbeat(fields))
        case 76:
            yield from _of(ClientType.SHARE_CONSUMER, {"group.id": fields.get("groupId"), "client.rack": fields.get("rackId")})
        case 78:
            yield from _of(ClientType.SHARE_CONSUMER, _share_fetched(fields))
        case 72 if library == "java":  # of its own metrics, what `clientscope.policy.telemetry` reads
            yield from _of(ClientType.PRODUCER, {"buffer.memory": fields.get("bufferTotalBytes")})
        case 12:
            yield from _of(ClientType.CONSUMER, {"group.id": fields.get("groupId")})
        case 3:
            # A producer always asks for topics to be created, whatever its settings are; librdkafka only for some topics.
            created = fields.get("allowAutoTopicCreation")
            if not (library == "librdkafka" and created == "false"):
                yield from _of(ClientType.CONSUMER, {"allow.auto.create.topics": created})


def _of(client_type: ClientType, settings: Mapping[str, str | None]) -> Iterator[RequestSetting]:
    for key, value in settings.items():
        if value:
            yield RequestSetting(client_type, key, value)


def _produced(fields: Mapping[str, str], library: str | None) -> dict[str, str | None]:
    found = {"acks": "all" if fields.get("acks") == "-1" else fields.get("acks"), "transactional.id": fields.get("transactionalId")}
    if library in _SENDS_REQUEST_TIMEOUT:
        found["request.timeout.ms"] = fields.get("timeoutMs")
    compression = _COMPRESSION.get(fields.get("batchCompression", ""))
    if compression != "none" or library == "java":  # others send what compression makes no smaller as it is
        found["compression.type"] = compression
    if library is not None:  # each batch of an idempotent producer has its id, and no other batch
        found["enable.idempotence"] = fields.get("batchHasProducerId")
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


def _share_fetched(fields: Mapping[str, str]) -> dict[str, str | None]:
    if fields.get("maxBytes") == "0":  # it only acknowledges
        return {"group.id": fields.get("groupId")}
    return {
        "group.id": fields.get("groupId"),
        "fetch.max.wait.ms": fields.get("maxWaitMs"),
        "fetch.min.bytes": fields.get("minBytes"),
        "fetch.max.bytes": fields.get("maxBytes"),
        "max.poll.records": fields.get("maxRecords"),
        "share.acquire.mode": _ACQUIRE_MODE.get(fields.get("shareAcquireMode", "")),
    }


def _joined(fields: Mapping[str, str], version: int, library: str | None) -> dict[str, str | None]:
    found = {
        "group.id": fields.get("groupId"),
        "session.timeout.ms": fields.get("sessionTimeoutMs"),
        "group.instance.id": fields.get("groupInstanceId"),
        "partition.assignment.strategy": fields.get("protocols"),
    }
    if version >= 1 and library in _SENDS_POLL_INTERVAL:
        found["max.poll.interval.ms"] = fields.get("rebalanceTimeoutMs")
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
