"""Judging of the rule in combinations.toml, about settings with which a client refuses to start: each library's own checks, by release.

Sources: ProducerConfig.postProcessAndValidateIdempotenceConfigs, KafkaProducer.configureDeliveryTimeout, ConsumerConfig,
Heartbeat and KafkaAdminClient of Apache Kafka; rd_kafka_conf_finalize and rd_kafka_topic_conf_finalize in librdkafka's
src/rdkafka_conf.c; KafkaProducer and KafkaConsumer of kafka-python; AIOKafkaProducer and AIOKafkaConsumer of aiokafka; src/producer of
KafkaJS.

A check is about values that are there: what a client lacks (serializers, ``bootstrap.servers``) may come from its code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from clientscope.catalog.configs import ClientType
from clientscope.catalog.settings import Release
from clientscope.catalog.vocabulary import KnownSoftware
from clientscope.model.setting import Setting
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import Judgement, judges, pointing

Holds = Callable[[PushedConfig], bool]

_IDEMPOTENCE, _TRANSACTIONS = "enable.idempotence", "transactional.id"
_IN_FLIGHT = "max.in.flight.requests.per.connection"
_PRODUCER, _CONSUMER = ClientType.PRODUCER, ClientType.CONSUMER
_JAVA, _LIBRDKAFKA, _KAFKA_PYTHON, _AIOKAFKA, _KAFKAJS = "java", "librdkafka", "kafka-python", "aiokafka", "kafkajs"


class Refusal(NamedTuple):
    """One check.

    Attributes:
        dialects: the libraries that make it → the release since which they do, empty for all. An unknown release counts as the newest.
        keys: Kafka's names of the settings that contradict each other.
        because: the condition to start, as a person reads it.
        holds: whether the client refuses.
    """

    dialects: Mapping[str, Release]
    client_type: ClientType
    keys: tuple[str, ...]
    because: str
    holds: Holds

    def is_made_by(self, software: KnownSoftware, candidates: Collection[ClientType]) -> bool:
        """Whether a client has this check. One of unknown kind may be this one: its settings say so."""
        if software.dialect is None or software.dialect.name not in self.dialects or self.client_type not in candidates:
            return False
        return not software.release or software.release >= self.dialects[software.dialect.name]


def _is(key: str, *texts: str) -> Holds:
    """The user set it to one of these."""
    return lambda push: push.is_set(key) and push.text(key, settled=False) in texts


def _other_than(key: str, *texts: str) -> Holds:
    """The user set it to a known value that is none of these."""
    return lambda push: push.is_set(key) and push.text(key, settled=False) not in (None, *texts)


def _set(key: str) -> Holds:
    """The user set it to something."""
    return lambda push: push.is_set(key) and push.text(key, settled=False) != ""


def _number(key: str, holds: Callable[[float], bool]) -> Holds:
    """The user set it to such a number."""
    return lambda push: push.is_set(key) and holds(push.number(key))


def _all(*of: Holds) -> Holds:
    return lambda push: all(each(push) for each in of)


def _above(key: str, other: str, *asked: str) -> Holds:
    """The one number is above the other, and the user set one of ``asked``, or of the two."""
    return lambda push: push.number(key) > push.number(other) and any(map(push.is_set, asked or (key, other)))


def _not_below(key: str, other: str) -> Holds:
    """The one number is the other or above it, and the user set one of them."""
    return lambda push: push.number(key) >= push.number(other) and (push.is_set(key) or push.is_set(other))


def _delivery_too_short(push: PushedConfig) -> bool:
    delivery, linger = push.number("delivery.timeout.ms"), push.number("linger.ms")
    # A framework's client may have any linger.ms: without one it is too short already.
    one_try = push.number("request.timeout.ms") + (0 if math.isnan(linger) else linger)
    return push.is_set("delivery.timeout.ms") and delivery < one_try and delivery < 2**31 - 1


def _fetch_below_message(push: PushedConfig) -> bool:
    sent = push.number("max.request.size")
    return push.is_set("fetch.max.bytes") and push.number("fetch.max.bytes") < (1_000_000 if math.isnan(sent) else sent)


def _runs(protocol: str) -> Holds:
    """Whether the group is of this protocol, as it was pushed."""
    return lambda push: (push.text("group.protocol") or "").lower() == protocol


def _classic(push: PushedConfig) -> bool:
    """Whether the group is of the old protocol, the only one before 3.7."""
    release = push.software.release
    return (bool(release) and release < (3, 7)) or not _runs("consumer")(push)


_ASKED = _is(_IDEMPOTENCE, "true")
_many_in_flight = _number(_IN_FLIGHT, lambda number: number > 5)
_WEAK_ACKS, _NO_RETRIES = _other_than("acks", "all"), _number("retries", lambda number: number == 0)
_WEAK = (
    ("acks", _WEAK_ACKS, "acks must be all with"),
    ("retries", _NO_RETRIES, "retries must not be 0 with"),
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
    holds = _all(_set(key), _runs(protocol))
    return Refusal(dialects, _CONSUMER, (key, "group.protocol"), f"{key} must not be set with group.protocol={protocol}", holds)


_OF_PRODUCERS = (
    *_with_idempotence(),
    Refusal(
        {_JAVA: (), _LIBRDKAFKA: (), _KAFKA_PYTHON: (2, 2)}, _PRODUCER, (_TRANSACTIONS, _IDEMPOTENCE),
        f"{_TRANSACTIONS} needs {_IDEMPOTENCE}=true", _all(_is(_IDEMPOTENCE, "false"), _set(_TRANSACTIONS)),
    ),
    Refusal(
        {_AIOKAFKA: (), _KAFKAJS: ()}, _PRODUCER, ("acks", _IDEMPOTENCE), f"acks must be all with {_IDEMPOTENCE}=true",
        _all(_WEAK_ACKS, _ASKED),
    ),
    Refusal(
        {_KAFKAJS: ()}, _PRODUCER, ("retries", _IDEMPOTENCE), f"retries must not be 0 with {_IDEMPOTENCE}=true",
        _all(_NO_RETRIES, _ASKED),
    ),
    Refusal(
        {_JAVA: (2, 1)}, _PRODUCER, ("delivery.timeout.ms", "linger.ms", "request.timeout.ms"),
        "delivery.timeout.ms must be at least linger.ms + request.timeout.ms", _delivery_too_short,
    ),
    Refusal(
        {_LIBRDKAFKA: (1, 4)}, _PRODUCER, ("delivery.timeout.ms", "transaction.timeout.ms", _TRANSACTIONS),
        "message.timeout.ms must be at most transaction.timeout.ms",
        _all(_set(_TRANSACTIONS), _above("delivery.timeout.ms", "transaction.timeout.ms", "delivery.timeout.ms")),
    ),
    Refusal(
        {_LIBRDKAFKA: (1, 0)}, _PRODUCER, ("linger.ms", "delivery.timeout.ms"), "message.timeout.ms must be more than linger.ms",
        _all(_set("delivery.timeout.ms"), _not_below("linger.ms", "delivery.timeout.ms")),
    ),
    Refusal(
        {_JAVA: (4, 0)}, _PRODUCER, (_IN_FLIGHT, _IDEMPOTENCE), f"{_IN_FLIGHT} must be at most 5, unless {_IDEMPOTENCE}=false",
        # Where settings are a part of a client's, a framework may have turned it off, as Connect does.
        lambda push: _many_in_flight(push) and push.text(_IDEMPOTENCE, settled=False) == "true",
    ),
    Refusal(
        {_JAVA: (4, 4)}, _PRODUCER, ("partitioner.rack.aware", "client.rack"), "partitioner.rack.aware=true needs client.rack",
        _all(_is("partitioner.rack.aware", "true"), lambda push: push.is_absent("client.rack")),
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
        _all(_is("enable.auto.commit", "true"), lambda push: push.is_absent("group.id")),
    ),
    Refusal(
        {_JAVA: ()}, _CONSUMER, ("heartbeat.interval.ms", "session.timeout.ms"), "heartbeat.interval.ms must be below session.timeout.ms",
        _all(_not_below("heartbeat.interval.ms", "session.timeout.ms"), lambda push: push.is_set("group.id"), _classic),
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
_DIALECTS = frozenset(dialect for refusal in REFUSALS for dialect in refusal.dialects)


@lru_cache(maxsize=1024)
def _checks(software: KnownSoftware, candidates: frozenset[ClientType]) -> list[Refusal]:
    """What such a client checks."""
    return [each for each in REFUSALS if each.is_made_by(software, candidates)]


def _contradicting(push: PushedConfig, refusal: Refusal) -> Sequence[Setting]:
    """The settings of a combination that is refused, the first of them with the condition to start."""
    # As the user asked for it, not as other settings made it, as they do with this one alone.
    first, *others = (
        replace(each, value=push.text(_IDEMPOTENCE, settled=False)) if each.key == _IDEMPOTENCE and each.origin == "set" else each
        for each in push.evidence(refusal.keys)
    )
    return [replace(first, note=refusal.because), *others]


@judges("CF104")
def combination_refused(push: PushedConfig) -> Judgement:
    # Each library's own checks; of which a client that was seen has passed all, with whatever it has.
    checked = push.software.is_of(*_DIALECTS) and push.client_type is not None and not push.was_seen
    refusal = next((each for each in _checks(push.software, push.candidates) if each.holds(push)), None) if checked else None
    return pointing(_contradicting(push, refusal) if refusal else (), checked)
