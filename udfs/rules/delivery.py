"""Judging of the rules in delivery.toml, about a producer's guarantees: acknowledgements, retries, order and timeouts."""

from __future__ import annotations

from clientscope.catalog.configs import ClientType
from udfs.rules.engine.pushed_config import PushedConfig
from udfs.rules.engine.rule import HIGH, INFO, LOW, MEDIUM, Judgement, judged, judges, known, limit


@judges("AN101")
def acks_zero(push: PushedConfig) -> Judgement:
    # Not evaluable where acks wasn't pushed, was redacted, or is no number of acknowledgements that Kafka knows.
    acks = push.text("acks")
    few = push.is_set("retries") and push.number("retries") < limit(push, "AN103", "minimum")
    # Few tries make no difference then, so no rule of their own says it.
    return judged(acks == "0", acks in ("0", "1", "all"), settings=push.evidence(("acks", "retries") if few else ("acks",)))


@judges("AN102")
def idempotence_lost_to_acks(push: PushedConfig) -> Judgement:
    # Only where idempotence would be on by default, so not for librdkafka and Java before 3.0.
    acks = push.text("acks")
    would_be_on = push.untouched("enable.idempotence", ClientType.PRODUCER, "true")
    asked = push.is_set("enable.idempotence")
    chosen = push.is_set("acks") and acks == "1"
    said = asked or (push.is_default("enable.idempotence") and push.software_known)
    harmless = acks == "all" or push.is_default("acks") or (push.software_known and not would_be_on)
    return judged(chosen and not asked and would_be_on, acks is not None and (harmless or said))


@judges("AN103")
def retries_few(push: PushedConfig) -> Judgement:
    retries, backoff = push.number("retries"), push.number("retry.backoff.ms")
    few = retries < limit(push, "AN103", "minimum")
    # Beside delivery.timeout.ms a number of tries is a limit of its own.
    longest = retries * max(backoff, push.number("retry.backoff.max.ms"))
    soon = push.is_set("retries") and longest < limit(push, "AN107", "minimum_ms")
    return judged(few or (soon and not push.software.lacks("delivery.timeout.ms")), known(retries), HIGH if few else MEDIUM)


_REMEMBERED = 5
"""Batches of one producer and partition (ProducerStateEntry.NUM_BATCHES_TO_RETAIN); no profile can change it."""


@judges("AN104")
def in_flight_above_idempotence(push: PushedConfig) -> Judgement:
    # What counts is what the user wanted of idempotence, not what became of it.
    in_flight = push.number("max.in.flight.requests.per.connection")
    asked = push.is_set("enable.idempotence")
    if asked:
        wanted = push.text("enable.idempotence", settled=False) == "true"
    else:
        wanted = push.untouched("enable.idempotence", ClientType.PRODUCER, "true")
    said = asked or (push.is_default("enable.idempotence") and push.software_known)
    return judged(in_flight > _REMEMBERED and wanted, in_flight <= _REMEMBERED or (known(in_flight) and said))


@judges("AN105")
def reordering_possible(push: PushedConfig) -> Judgement:
    # One of the three that keeps the order is enough to pass.
    in_flight, retries = push.number("max.in.flight.requests.per.connection"), push.number("retries")
    idempotence = push.text("enable.idempotence")
    keeps = idempotence == "true" or in_flight <= 1 or retries <= 0
    asked = push.is_set("enable.idempotence") or push.is_set("max.in.flight.requests.per.connection")
    return judged(not keeps, keeps or (idempotence is not None and known(in_flight, retries)), MEDIUM if asked else INFO)


@judges("AN106")
def delivery_timeout_below_one_try(push: PushedConfig) -> Judgement:
    # A default that is too short is raised by Java itself, so only one that was set counts.
    delivery = push.number("delivery.timeout.ms")
    one_try = push.number("linger.ms") + push.number("request.timeout.ms")
    short = delivery < one_try and not push.is_default("delivery.timeout.ms")
    severity = HIGH if push.software.is_of("java") else MEDIUM
    return judged(short, known(delivery, one_try), severity)


@judges("AN114")
def transactional_not_idempotent(push: PushedConfig) -> Judgement:
    # By what was set; a client that starts nevertheless got another value elsewhere.
    transactional = push.text("transactional.id")
    idempotence = push.text("enable.idempotence", settled=False)
    off = idempotence == "false" and (push.is_set("enable.idempotence") or push.software.is_of("sarama"))
    harmless = (idempotence is not None and not off) or push.is_absent("transactional.id")
    return judged(bool(transactional) and off, harmless or (transactional is not None and idempotence is not None))


@judges("AN116")
def acks_one(push: PushedConfig) -> Judgement:
    # Not evaluable where acks wasn't pushed, was redacted, or is no number of acknowledgements that Kafka knows.
    acks = push.text("acks")
    return judged(acks == "1", acks in ("0", "1", "all"), MEDIUM if push.is_set("acks") else LOW)


@judges("AN117")
def transaction_too_long(push: PushedConfig) -> Judgement:
    timeout = push.number("transaction.timeout.ms")
    fired = timeout > limit(push, "AN117", "maximum_ms") and not push.is_absent("transactional.id")
    return judged(fired, known(timeout))


@judges("AN118")
def internal_topics_single_copy(push: PushedConfig) -> Judgement:
    copies = push.number("replication.factor")
    return judged(copies == 1, known(copies), MEDIUM if push.is_set("replication.factor") else LOW)
