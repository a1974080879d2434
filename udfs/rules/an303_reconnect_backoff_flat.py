"""AN303: a client reconnects at a steady, fast rate.

What
    ``reconnect.backoff.ms`` is below 1000 and doesn't grow: ``reconnect.backoff.max.ms`` is the same or less, or, in Java, was left
    out.

Why
    While a broker is down all its clients knock at that rate; when it comes back, all at once. Java turns growth off when only the
    first of the two is set.

Example
    ``reconnect.backoff.ms=50 with reconnect.backoff.max.ms=50``

Use instead
    ``reconnect.backoff.max.ms=10000`` beside it.

Source
    Apache Kafka, CommonClientConfigs.postProcessReconnectBackoffConfigs:
    https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/CommonClientConfigs.java
    KIP-144: https://cwiki.apache.org/confluence/display/KAFKA/KIP-144%3A+Exponential+backoff+for+broker+reconnect+attempts
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """What Java makes of a first value alone, it makes before it pushes; in a file it is seen here."""
    first, most = batch.number("reconnect.backoff.ms"), batch.number("reconnect.backoff.max.ms")
    java = batch.software.where(lambda it: it.dialect is not None and it.dialect.name == "java")
    alone = java & batch.is_set("reconnect.backoff.ms") & batch.is_default("reconnect.backoff.max.ms")
    flat = (first >= most) | (alone & batch.complete)
    return judged(flat & (first < batch.limit(RULE, "minimum_ms")), ~np.isnan(first) & ~np.isnan(most))


RULE = Rule(
    code="AN303",
    name="reconnect_backoff_flat",
    severity="medium",
    risks=("cost",),
    messages=(
        "reconnect.backoff.ms and reconnect.backoff.max.ms are needed, and were not both pushed.",
        "Reconnecting slows down.",
        "This client reconnects at a steady, fast rate: set reconnect.backoff.max.ms={minimum_ms} or more.",
    ),
    evaluate=evaluate,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
    ),
    limits={"minimum_ms": 1000},
    cases=(
        Case(FIRED, {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "50"}),
        Case(FIRED, {"reconnect.backoff.ms": "100", "acks": "all"}, complete=True),
        Case(PASSED, {"reconnect.backoff.ms": "100", "acks": "all"}, software="librdkafka", version="2.8.0", complete=True),
        Case(PASSED, {"reconnect.backoff.ms": "1000", "reconnect.backoff.max.ms": "1000"}),
        Case(PASSED, {"acks": "all"}, complete=True),
        Case(NOT_EVALUABLE, {"reconnect.backoff.ms": "50"}),
    ),
)
