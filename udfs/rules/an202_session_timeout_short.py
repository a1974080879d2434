"""AN202: a short pause ends a consumer's session.

What
    ``session.timeout.ms`` is below 10 s. With ``group.protocol=consumer`` the broker decides it, so nothing is wrong.

Why
    A garbage collection or a network hiccup then throws a healthy consumer out of its group, and all its members stop for a
    rebalance.

Example
    ``session.timeout.ms=6000``

Use instead
    ``session.timeout.ms=45000``, the default since Kafka 3.0.

Source
    Apache Kafka, session.timeout.ms: https://kafka.apache.org/documentation/#consumerconfigs_session.timeout.ms
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
    Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.group_protocol import run_by_broker
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective number."""
    session = batch.number("session.timeout.ms")
    return judged((session < batch.limit(RULE, "minimum_ms")) & ~run_by_broker(batch), ~np.isnan(session))


RULE = Rule(
    code="AN202",
    name="session_timeout_short",
    severity="medium",
    risks=("stall",),
    messages=(
        "session.timeout.ms was not pushed.",
        "Short pauses don't end this consumer's session.",
        "A short pause throws this consumer out of its group: set session.timeout.ms={minimum_ms} or more.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    keys=("session.timeout.ms",),
    limits={"minimum_ms": 10000},
    cases=(
        Case(FIRED, {"session.timeout.ms": "6000"}),
        Case(PASSED, {"session.timeout.ms": "10000"}),
        Case(PASSED, {"group.id": "g"}, software="sarama", version="v1.43.0", complete=True),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
