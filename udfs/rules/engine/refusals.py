"""Combinations of settings with which a client refuses to start: each library's own checks, by release.

Sources: ProducerConfig.postProcessAndValidateIdempotenceConfigs, KafkaProducer.configureDeliveryTimeout, ConsumerConfig,
Heartbeat and KafkaAdminClient of Apache Kafka; rd_kafka_conf_finalize and rd_kafka_topic_conf_finalize in librdkafka's
src/rdkafka_conf.c; KafkaProducer and KafkaConsumer of kafka-python; AIOKafkaProducer and AIOKafkaConsumer of aiokafka.

A check is about values that are there: what a client lacks (serializers, ``bootstrap.servers``) may come from its code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.settings import Release
from udfs.rules.engine.rule import Mask

if TYPE_CHECKING:
    from udfs.rules.engine.batch import Batch

Holds = Callable[["Batch"], Mask]

_IDEMPOTENCE, _TRANSACTIONS = "enable.idempotence", "transactional.id"
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_PRODUCER, _CONSUMER = ClientType.PRODUCER, ClientType.CONSUMER
_JAVA, _LIBRDKAFKA, _KAFKA_PYTHON, _AIOKAFKA = "java", "librdkafka", "kafka-python", "aiokafka"


class Refusal(NamedTuple):
    """One check.

    Attributes:
        dialects: the libraries that make it → the release since which they do, empty for all. An unknown release counts as the newest.
        keys: Kafka's names of the settings that contradict each other.
        because: the condition to start, as a person reads it.
        holds: where the client refuses.
    """

    dialects: Mapping[str, Release]
    client_type: ClientType
    keys: tuple[str, ...]
    because: str
    holds: Holds

    def applies(self, batch: Batch) -> Mask:
        """Where the client has this check."""

        def checks(dialect: Dialect | None, release: Release) -> bool:
            return dialect is not None and dialect.name in self.dialects and (not release or release >= self.dialects[dialect.name])

        return batch.software.where(lambda it: checks(it.dialect, it.release))


def _is(key: str, *texts: str) -> Holds:
    """The user set it to one of these."""
    return lambda batch: batch.is_set(key) & batch.text(key, settled=False).isin(texts)


def _other_than(key: str, *texts: str) -> Holds:
    """The user set it to a known value that is none of these."""
    return lambda batch: batch.is_set(key) & batch.text(key, settled=False).known & ~batch.text(key, settled=False).isin(texts)


def _set(key: str) -> Holds:
    """The user set it to something."""
    return lambda batch: batch.is_set(key) & ~_is(key, "")(batch)


def _number(key: str, holds: Callable[[npt.NDArray[np.float64]], Mask]) -> Holds:
    """The user set it to such a number."""
    return lambda batch: batch.is_set(key) & holds(batch.number(key))


def _all(*of: Holds) -> Holds:
    def found(batch: Batch) -> Mask:
        made = of[0](batch)
        for each in of[1:]:
            made = made & each(batch)
        return made

    return found


def _above(key: str, other: str, *asked: str) -> Holds:
    """The one number is above the other, and the user set one of ``asked``, or of the two."""
    return lambda batch: (batch.number(key) > batch.number(other)) & _any_set(batch, asked or (key, other))


def _not_below(key: str, other: str) -> Holds:
    """The one number is the other or above it, and the user set one of them."""
    return lambda batch: (batch.number(key) >= batch.number(other)) & _any_set(batch, (key, other))


def _any_set(batch: Batch, keys: tuple[str, ...]) -> Mask:
    found: Mask = np.logical_or.reduce([batch.is_set(key) for key in keys])
    return found


def _delivery_too_short(batch: Batch) -> Mask:
    delivery = batch.number("delivery.timeout.ms")
    needed = batch.number("linger.ms") + batch.number("request.timeout.ms")
    made: Mask = batch.is_set("delivery.timeout.ms") & (delivery < needed) & (delivery < 2**31 - 1)
    return made


def _delivery_above_transaction(batch: Batch) -> Mask:
    made: Mask = batch.is_set("delivery.timeout.ms") & (batch.number("delivery.timeout.ms") > batch.number("transaction.timeout.ms"))
    return made


def _fetch_below_message(batch: Batch) -> Mask:
    sent = batch.number("max.request.size")
    made: Mask = batch.is_set("fetch.max.bytes") & (batch.number("fetch.max.bytes") < np.where(np.isnan(sent), 1_000_000, sent))
    return made


def _classic(batch: Batch) -> Mask:
    """Whether the group is of the old protocol, the only one before 3.7."""
    old = batch.software.where(lambda it: bool(it.release) and it.release < (3, 7))
    return old | ~batch.text("group.protocol").where(lambda text: text.lower() == "consumer")


_ASKED = _is(_IDEMPOTENCE, "true")
_many_in_flight = _number(_IN_FLIGHT, lambda number: number > 5)
_WEAK_ACKS = _other_than("acks", "all")
_WEAK = (
    ("acks", _WEAK_ACKS, "acks must be all with"),
    ("retries", _number("retries", lambda number: number == 0), "retries must not be 0 with"),
    (_IN_FLIGHT, _many_in_flight, f"{_IN_FLIGHT} must be at most 5 with"),
)
"""What an idempotent producer doesn't allow, in Java, librdkafka and kafka-python alike."""


def _with_idempotence() -> tuple[Refusal, ...]:
    """The checks of an idempotent producer, where the user asked for it, directly or by transactions."""
    asking = (
        (f"{_IDEMPOTENCE}=true", _IDEMPOTENCE, _ASKED, {_JAVA: (), _LIBRDKAFKA: (), _KAFKA_PYTHON: (2, 2)}),
        (_TRANSACTIONS, _TRANSACTIONS, _set(_TRANSACTIONS), {_JAVA: (), _LIBRDKAFKA: ()}),
    )
    return tuple(
        Refusal(dialects, _PRODUCER, (key, asked), f"{because} {words}", _all(weak, holds))
        for words, asked, holds, dialects in asking
        for key, weak, because in _WEAK
    )


def _with_protocol(dialects: Mapping[str, Release], key: str, protocol: str) -> Refusal:
    """A setting that isn't allowed with a group protocol."""
    holds = _all(_set(key), lambda batch: batch.text("group.protocol").where(lambda text: text.lower() == protocol))
    return Refusal(dialects, _CONSUMER, (key, "group.protocol"), f"{key} must not be set with group.protocol={protocol}", holds)


_OF_PRODUCERS = (
    *_with_idempotence(),
    Refusal(
        {_JAVA: (), _LIBRDKAFKA: (), _KAFKA_PYTHON: (2, 2)}, _PRODUCER, (_TRANSACTIONS, _IDEMPOTENCE),
        f"{_TRANSACTIONS} needs {_IDEMPOTENCE}=true", _all(_is(_IDEMPOTENCE, "false"), _set(_TRANSACTIONS)),
    ),
    Refusal({_AIOKAFKA: ()}, _PRODUCER, ("acks", _IDEMPOTENCE), f"acks must be all with {_IDEMPOTENCE}=true", _all(_WEAK_ACKS, _ASKED)),
    Refusal(
        {_JAVA: (2, 1)}, _PRODUCER, ("delivery.timeout.ms", "linger.ms", "request.timeout.ms"),
        "delivery.timeout.ms must be at least linger.ms + request.timeout.ms", _delivery_too_short,
    ),
    Refusal(
        {_LIBRDKAFKA: (1, 4)}, _PRODUCER, ("delivery.timeout.ms", "transaction.timeout.ms", _TRANSACTIONS),
        "message.timeout.ms must be at most transaction.timeout.ms", _all(_set(_TRANSACTIONS), _delivery_above_transaction),
    ),
    Refusal(
        {_LIBRDKAFKA: (1, 0)}, _PRODUCER, ("linger.ms", "delivery.timeout.ms"), "message.timeout.ms must be more than linger.ms",
        _all(_set("delivery.timeout.ms"), _not_below("linger.ms", "delivery.timeout.ms")),
    ),
    Refusal(
        {_JAVA: (4, 0)}, _PRODUCER, (_IN_FLIGHT, _IDEMPOTENCE), f"{_IN_FLIGHT} must be at most 5, unless {_IDEMPOTENCE}=false",
        # Where settings are a part of a client's, a framework may have turned it off, as Connect does.
        lambda batch: _many_in_flight(batch) & batch.text(_IDEMPOTENCE, settled=False).equals("true"),
    ),
    Refusal(
        {_JAVA: (4, 4)}, _PRODUCER, ("partitioner.rack.aware", "client.rack"), "partitioner.rack.aware=true needs client.rack",
        _all(_is("partitioner.rack.aware", "true"), lambda batch: batch.is_absent("client.rack")),
    ),
    Refusal(
        {_JAVA: ()}, _PRODUCER, ("transaction.timeout.ms", "transaction.two.phase.commit.enable"),
        "transaction.timeout.ms must not be set with transaction.two.phase.commit.enable=true",
        _all(_set("transaction.timeout.ms"), _is("transaction.two.phase.commit.enable", "true")),
    ),
)  # fmt: skip
_OF_CONSUMERS = (
    Refusal(
        {_JAVA: (2, 2)}, _CONSUMER, ("enable.auto.commit", "group.id"), "enable.auto.commit=true needs group.id",
        _all(_is("enable.auto.commit", "true"), lambda batch: batch.is_absent("group.id")),
    ),
    Refusal(
        {_JAVA: ()}, _CONSUMER, ("heartbeat.interval.ms", "session.timeout.ms"), "heartbeat.interval.ms must be below session.timeout.ms",
        _all(_not_below("heartbeat.interval.ms", "session.timeout.ms"), lambda batch: batch.is_set("group.id"), _classic),
    ),
    Refusal(
        {_LIBRDKAFKA: ()}, _CONSUMER, ("max.poll.interval.ms", "session.timeout.ms"),
        "max.poll.interval.ms must be at least session.timeout.ms", _above("session.timeout.ms", "max.poll.interval.ms"),
    ),
    Refusal(
        {_LIBRDKAFKA: ()}, _CONSUMER, ("fetch.max.bytes", "max.request.size"), "fetch.max.bytes must be at least message.max.bytes",
        _fetch_below_message,
    ),
    _with_protocol({_JAVA: (4, 0), _LIBRDKAFKA: (2, 10)}, "partition.assignment.strategy", "consumer"),
    _with_protocol({_JAVA: (4, 0), _LIBRDKAFKA: (2, 4)}, "session.timeout.ms", "consumer"),
    _with_protocol({_JAVA: (4, 0), _LIBRDKAFKA: (2, 4)}, "heartbeat.interval.ms", "consumer"),
    _with_protocol({_JAVA: (3, 9)}, "group.remote.assignor", "classic"),
    Refusal({_JAVA: (4, 0)}, _CONSUMER, ("group.id",), "group.id must not be empty", _is("group.id", "")),
    *(
        Refusal({_JAVA: (4, 1)}, _CONSUMER, (key, "group.protocol"), f"{key} is for share consumers", _set(key))
        for key in ("share.acknowledgement.mode", "share.acquire.mode")
    ),
    Refusal(
        {_KAFKA_PYTHON: ()}, _CONSUMER, ("request.timeout.ms", "connections.max.idle.ms"),
        "request.timeout.ms must be below connections.max.idle.ms", _not_below("request.timeout.ms", "connections.max.idle.ms"),
    ),
    Refusal(
        {_KAFKA_PYTHON: ()}, _CONSUMER, ("fetch.max.wait.ms", "request.timeout.ms"),
        "fetch.max.wait.ms must be below request.timeout.ms", _not_below("fetch.max.wait.ms", "request.timeout.ms"),
    ),
)  # fmt: skip
_OF_ADMINS = (
    Refusal(
        {_JAVA: (2, 5)}, ClientType.ADMIN, ("default.api.timeout.ms", "request.timeout.ms"),
        "default.api.timeout.ms must be at least request.timeout.ms",
        _above("request.timeout.ms", "default.api.timeout.ms", "default.api.timeout.ms"),
    ),
)  # fmt: skip
_OF_ALL = tuple(
    Refusal(
        {_LIBRDKAFKA: ()}, client_type, ("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
        "reconnect.backoff.max.ms must be at least reconnect.backoff.ms", _above("reconnect.backoff.ms", "reconnect.backoff.max.ms"),
    )
    for client_type in (_PRODUCER, _CONSUMER, ClientType.ADMIN)
)  # fmt: skip

REFUSALS: tuple[Refusal, ...] = (*_OF_PRODUCERS, *_OF_CONSUMERS, *_OF_ADMINS, *_OF_ALL)
