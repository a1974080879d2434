"""AN106: no time for a single try.

What
    ``delivery.timeout.ms`` (librdkafka: ``message.timeout.ms``), set by the user, is below ``linger.ms`` plus
    ``request.timeout.ms``.

Why
    Java throws a ConfigException: the producer never starts. Other libraries start, and fail records while their first request is
    still waited for; the record may have been written all the same.

Example
    ``delivery.timeout.ms=10000 with request.timeout.ms=30000``

Use instead
    A ``delivery.timeout.ms`` of several times ``request.timeout.ms``; the default is 120000.

Source
    Apache Kafka, KafkaProducer.configureDeliveryTimeout:
    https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/producer/KafkaProducer.java
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, HIGH, MEDIUM, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """A default that is too short is raised by Java itself, so only one that was set counts."""
    delivery = batch.number("delivery.timeout.ms")
    one_try = batch.number("linger.ms") + batch.number("request.timeout.ms")
    java = batch.software.where(lambda it: it.dialect is not None and it.dialect.name == "java")
    severities = np.where(java, HIGH, MEDIUM)
    return judged((delivery < one_try) & ~batch.is_default("delivery.timeout.ms"), ~np.isnan(delivery) & ~np.isnan(one_try), severities)


RULE = Rule(
    code="AN106",
    name="delivery_timeout_below_one_try",
    severity="high",
    risks=("loss", "stall"),
    messages=(
        "delivery.timeout.ms, linger.ms and request.timeout.ms are needed, and were not all pushed.",
        "There is time for at least one try.",
        "delivery.timeout.ms is shorter than one try (linger.ms + request.timeout.ms): raise it, or lower request.timeout.ms.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    of_answers=True,
    keys=(
        "delivery.timeout.ms",
        "linger.ms",
        "request.timeout.ms",
    ),
    cases=(
        Case(FIRED, {"delivery.timeout.ms": "10000"}, {"linger.ms": "5", "request.timeout.ms": "30000"}),
        Case(FIRED, {"message.timeout.ms": "10000"}, software="librdkafka", version="2.8.0", severity="medium", complete=True),
        Case(PASSED, {"message.timeout.ms": "0"}, software="librdkafka", version="2.8.0", complete=True),
        Case(PASSED, {"request.timeout.ms": "300000", "linger.ms": "5"}, {"delivery.timeout.ms": "120000"}),
        Case(PASSED, {"delivery.timeout.ms": "30005", "linger.ms": "5"}, {"request.timeout.ms": "30000"}),
        Case(NOT_EVALUABLE, {"delivery.timeout.ms": "10000"}, {"linger.ms": "5"}),
    ),
)
