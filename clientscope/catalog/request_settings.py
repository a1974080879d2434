"""What a request shows of its client's settings, exactly, and what the times and sizes of several let infer.

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

INFERRED = "~"
"""First character of a value that follows from several requests, as `inferred_text` and `_at_least` write it."""
_AT_LEAST = f"{INFERRED}at least "
_RANGE = f"{INFERRED}between "
REGULAR_OF = 3 / 4
"""Part of the intervals that have to be about the same, or nothing follows from them."""
_ROUNDED = 0.01
"""How far from the median the roundest number may be: so near came medians to what clients were set to."""

_ISOLATION = {"0": "read_uncommitted", "1": "read_committed"}
_COMPRESSION = {"0": "none", "1": "gzip", "2": "snappy", "3": "lz4", "4": "zstd"}
_RESET = {"-1": "latest", "-2": "earliest"}
"""ListOffsets.Timestamp of a consumer that has no offset."""
_ACQUIRE_MODE = {"0": "batch_optimized", "1": "record_limit"}
_SENDS_REQUEST_TIMEOUT = frozenset({"java", "librdkafka", "kafka-python", "aiokafka"})
"""Libraries whose Produce.TimeoutMs is request.timeout.ms; Sarama and franz-go have a setting of their own for it."""
_SENDS_POLL_INTERVAL = frozenset({"java", "librdkafka", "kafka-python"})
"""Libraries whose JoinGroup.RebalanceTimeoutMs is max.poll.interval.ms; aiokafka has a setting of its own for it."""
_REFRESHES_BY_AGE = frozenset({"java", "kafka-python", "aiokafka"})
"""Libraries that ask for metadata again as soon as it is as old as metadata.max.age.ms; librdkafka has an interval of its own for it."""
_LIMITS_BATCHES = frozenset({"java", "librdkafka", "kafka-python"})
"""Libraries that add no second record to a batch that would then be larger than batch.size.

Java compresses as it adds, and so goes by what it expects of the compression: its compressed batches may be larger.
"""
_LINGERS = frozenset({"java", "librdkafka", "kafka-python"})
"""Libraries whose batches wait for linger.ms from their first record on, and whose records have times of the client's own clock."""
_MOST_DIGITS = 15
_OF_THREAD = frozenset({68, 76})
SPEAKS_FOR_GROUP = frozenset({11, 12, *_OF_THREAD})
"""JoinGroup and heartbeats, which a consumer sends over one connection."""
_LATE_MS = {"java": 100, "librdkafka": 1_000, "kafka-python": 100, "aiokafka": 100}
"""How much later than connections.max.idle.ms says a library closes a connection, while it is a member of a group.

Java's thread for heartbeats looks each ``retry.backoff.ms``, librdkafka's of a broker each second; the others set a timer.
"""
_JAVA_LATE_MS = 5_000
"""The same of Java's thread for KIP-848 and for share groups (``ConsumerNetworkThread.MAX_POLL_TIMEOUT_MS``)."""
_EARLY_MS = {"librdkafka": 2_000}
"""How much sooner: ``rd_kafka_broker_idle_check`` takes off a random time."""
_CLOCK_MS = 10
"""How much shorter an idle time may seem than it was: Linux's clock of a socket has steps of up to so much."""

_SENT_BY = {
    ClientType.PRODUCER: frozenset({0, 22}),
    ClientType.CONSUMER: frozenset({1, 11, 12, 14, 68}),
    ClientType.SHARE_CONSUMER: frozenset({76, 78, 79}),
}


_CONSUMES, _SHARES = (ClientType.CONSUMER,), (ClientType.SHARE_CONSUMER,)


class ShownSetting(NamedTuple):
    """A setting under Kafka's name, with Kafka's text."""

    client_type: ClientType
    key: str
    value: str


def weakest(key: str, values: str) -> str | None:
    """What rules judge of several values, `BETWEEN` them; None where none of them is the client's for sure.

    Of ``acks`` each is true of some of the client's records, so the one that loses most counts.
    """
    return min(values.split(BETWEEN)) if key == "acks" else None


def inferred_text(fields: Mapping[str, str]) -> str | None:
    """An interval with its range and how regular it was; None for irregular ones."""
    if "medianMs" not in fields:
        return None
    median, regular, count = int(fields["medianMs"]), int(fields["regular"]), int(fields["intervals"])
    if regular < count * REGULAR_OF:
        return None
    multiples = " multiples" if fields.get("multiples") else ""
    return f"{INFERRED}{_roundest(median)} ({fields['leastMs']} to {fields['mostMs']}, {regular} of {count}{multiples} within 5 %)"


def inferred_value(text: str) -> str | None:
    """The number that an inferred value is about; None where it is a range, or the least that the setting can be."""
    return None if text.startswith((_AT_LEAST, _RANGE)) else text[len(INFERRED) :].partition(" ")[0]


def least(text: str) -> int | None:
    """The number that a setting isn't below, by a value that says no more; None of another value."""
    number = next((text[len(start) :].partition(" ")[0] for start in (_AT_LEAST, _RANGE) if text.startswith(start)), "")
    return int(number) if number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS else None


def least_idle_ms(library: str | None, api_keys: Collection[int]) -> float | None:
    """The shortest idle time (ms) at whose end a close shows the setting within `_ROUNDED`; None if no close does.

    Args:
        api_keys: of all requests that a client has shown: an application may close a producer, and keep a consumer.
    """
    late_ms = _LATE_MS.get(library or "")
    if late_ms is None or shown_types(api_keys) not in (_CONSUMES, _SHARES):
        return None
    if library == "java" and not _OF_THREAD.isdisjoint(api_keys):
        late_ms = _JAVA_LATE_MS
    return (late_ms + _EARLY_MS.get(library or "", 0)) / _ROUNDED


def idle_text(least_ms: int, most_ms: int, connections: int, library: str | None) -> str | None:
    """How long a client's connections were idle when it closed them, with the range; None for times that contradict each other.

    The number is the roundest that is near the shortest, and not above it, as most libraries may be late and are never early.
    """
    if not connections or most_ms - least_ms > least_ms * _ROUNDED:
        return None
    highest = least_ms + _CLOCK_MS + _EARLY_MS.get(library or "", 0)
    units = [10**zeros for zeros in range(len(str(highest)) - 1, -1, -1)]
    number = next(rounded for unit in units if (rounded := highest // unit * unit) >= least_ms * (1 - _ROUNDED))
    seen = f"{least_ms}, of 1 connection" if connections == 1 else f"{least_ms} to {most_ms}, of {connections} connections"
    return f"{INFERRED}{number} ({seen})"


def _at_least(number: str | None, what: str, requests: str | None) -> str | None:
    return f"{_AT_LEAST}{number} ({what}, of {requests} requests)" if number and int(number) > 1 else None


def _roundest(number: int) -> int:
    """The number with the fewest digits before its zeros that is near enough."""
    for digits in range(1, len(str(number))):
        rounded = round(number, digits - len(str(number)))
        if abs(rounded - number) <= number * _ROUNDED:
            return rounded
    return number


def shown_types(api_keys: Collection[int]) -> tuple[ClientType, ...]:
    """What a client is, by the requests that only such a client sends; empty where none of them came."""
    return tuple(client_type for client_type, keys in _SENT_BY.items() if not keys.isdisjoint(api_keys))


def shown_settings(api_key: int, api_version: int, fields: Mapping[str, str], library: str | None) -> Iterator[ShownSetting]:
    """The settings in a request.

    Args:
        fields: of its body, by Kafka's names in JSON, and those that `clientscope.wire.request_fields` reads off its first batch; then
            what several requests show together (`clientscope.session.shown`).
        library: name of the client library's dialect; None where it isn't known.
    """
    match api_key:
        case 0:
            yield from _of(ClientType.PRODUCER, _produced(fields, library))
        case 22:
            yield from _of(ClientType.PRODUCER, _producer_id(fields))
        case 1:
            yield from _of(ClientType.CONSUMER, _fetched(fields))
        case 2 if fields.get("beforeFetch") and (reset := _RESET.get(fields.get("timestamp", ""))):
            yield ShownSetting(ClientType.CONSUMER, "auto.offset.reset", f"{INFERRED}{reset} (asked for before the first fetch)")
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
        case 12 | 14:
            heartbeats = {"heartbeat.interval.ms": inferred_text(fields)}
            yield from _of(ClientType.CONSUMER, {"group.id": fields.get("groupId"), **heartbeats})
        case 8 if fields.get("memberId"):  # without a member an admin client may have sent it
            commits = {"auto.commit.interval.ms": inferred_text(fields)}
            yield from _of(ClientType.CONSUMER, {"group.id": fields.get("groupId"), **commits})
        case 3:
            if library in _REFRESHES_BY_AGE and (age := inferred_text(fields)) is not None:
                yield from (ShownSetting(client_type, "metadata.max.age.ms", age) for client_type in _SENT_BY)
            # A producer always asks for topics to be created, whatever its settings are; librdkafka only for some topics.
            created = fields.get("allowAutoTopicCreation")
            if not (library == "librdkafka" and created == "false"):
                yield from _of(ClientType.CONSUMER, {"allow.auto.create.topics": created})


def _of(client_type: ClientType, settings: Mapping[str, str | None]) -> Iterator[ShownSetting]:
    for key, value in settings.items():
        if value:
            yield ShownSetting(client_type, key, value)


def _produced(fields: Mapping[str, str], library: str | None) -> dict[str, str | None]:
    found = {"acks": "all" if fields.get("acks") == "-1" else fields.get("acks"), "transactional.id": fields.get("transactionalId")}
    if library in _SENDS_REQUEST_TIMEOUT:
        found["request.timeout.ms"] = fields.get("timeoutMs")
    compression = _COMPRESSION.get(fields.get("batchCompression", ""))
    if compression != "none" or library == "java":  # others send what compression makes no smaller as it is
        found["compression.type"] = compression
    if library is not None:  # each batch of an idempotent producer has its id, and no other batch
        found["enable.idempotence"] = fields.get("batchHasProducerId")
    requests = fields.get("ofRequests")
    found["max.in.flight.requests.per.connection"] = _at_least(fields.get("mostInFlight"), "at once", requests)
    if library in _LIMITS_BATCHES and (library != "java" or compression == "none"):
        found["batch.size"] = _at_least(fields.get("mostBatchBytes"), "the largest", requests)
    if library in _LINGERS and (most := fields.get("lingerMostMs")):
        found["linger.ms"] = f"{_RANGE}{fields['lingerLeastMs']} and {most} (of {requests} requests)"
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
