"""AN115: a producer sends more than brokers take.

What
    ``max.request.size`` (librdkafka: ``message.max.bytes``) is above the 1048588 bytes that brokers accept unless they are configured
    otherwise.

Why
    A batch beyond the broker's ``message.max.bytes`` or the topic's ``max.message.bytes`` is refused; Event Hubs closes the
    connection.

Example
    ``max.request.size=5242880``

Use instead
    The default; or the same limit at the broker or the topic, and a profile that knows it.

Source
    Apache Kafka, max.request.size: https://kafka.apache.org/documentation/#producerconfigs_max.request.size
    Apache Kafka, message.max.bytes: https://kafka.apache.org/documentation/#brokerconfigs_message.max.bytes
    Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Needs, Rule, judged
from udfs.rules.engine.software import is_library


def evaluate(batch: Batch) -> Judgement:
    """Against the limit that the profile knows of; what the broker has isn't seen here."""
    size = batch.number("max.request.size")
    return judged(size > batch.limit(RULE, "maximum_bytes"), ~np.isnan(size))


RULE = Rule(
    code="AN115",
    name="request_size_above_broker",
    severity="medium",
    risks=("loss",),
    messages=(
        "max.request.size was not pushed.",
        "Brokers take requests of this size.",
        "Brokers refuse batches above their message.max.bytes: lower max.request.size to {maximum_bytes}, or raise that limit.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "Brokers refuse batches above their own limit: lower this producer's message.max.bytes to {maximum_bytes}, or raise theirs.",
        ),
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    needs=Needs.ALLOWED_KEYS,
    keys=("max.request.size",),
    limits={"maximum_bytes": 1048588},
    cases=(
        Case(FIRED, {"max.request.size": "5242880", "acks": "all"}),
        Case(FIRED, {"message.max.bytes": "5242880", "acks": "all"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"acks": "all"}, complete=True),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
