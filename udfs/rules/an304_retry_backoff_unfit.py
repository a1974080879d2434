"""AN304: retries come too fast, or never slow down.

What
    ``retry.backoff.ms`` is below 100 (medium), or above ``retry.backoff.max.ms`` (low).

Why
    Fast retries multiply the load of a broker that is in trouble. Above the maximum, Java waits the maximum each time, with a
    warning: the backoff doesn't grow.

Example
    ``retry.backoff.ms=10``

Use instead
    ``retry.backoff.ms=100``, the default, or more (on MSK 200), and ``retry.backoff.max.ms=1000`` where the library has it.

Source
    Apache Kafka, CommonClientConfigs.warnDisablingExponentialBackoff:
    https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/CommonClientConfigs.java
    KIP-580: https://cwiki.apache.org/confluence/display/KAFKA/KIP-580%3A+Exponential+Backoff+for+Kafka+Clients
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, LOW, MEDIUM, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged
from udfs.rules.engine.software import lacks


def evaluate(batch: Batch) -> Judgement:
    """A library without a maximum, or one that wasn't pushed, leaves the first half."""
    first, most = batch.number("retry.backoff.ms"), batch.number("retry.backoff.max.ms")
    fast = first < batch.limit(RULE, "minimum_ms")
    return judged(fast | (first > most), ~np.isnan(first), np.where(fast, MEDIUM, LOW))


RULE = Rule(
    code="AN304",
    name="retry_backoff_unfit",
    severity="medium",
    risks=("cost",),
    messages=(
        "retry.backoff.ms was not pushed.",
        "Retries give a broker time.",
        "Retries come too fast, or never slow down: set retry.backoff.ms={minimum_ms} or more, and retry.backoff.max.ms above it.",
    ),
    instead=((lacks("retry.backoff.max.ms"), "Retries come too fast: set retry.backoff.ms={minimum_ms} or more."),),
    evaluate=evaluate,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "retry.backoff.ms",
        "retry.backoff.max.ms",
    ),
    limits={"minimum_ms": 100},
    cases=(
        Case(FIRED, {"retry.backoff.ms": "10"}),
        Case(FIRED, {"retry.backoff.ms": "5000", "retry.backoff.max.ms": "1000"}, severity="low"),
        Case(FIRED, {"retry.backoff.ms": "5000", "acks": "all"}, severity="low", complete=True),
        Case(PASSED, {"retry.backoff.ms": "5000", "acks": "all"}, version="3.6.2", complete=True),
        Case(PASSED, {"retry.backoff.ms": "100"}),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
