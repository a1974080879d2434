"""AN108: a client doesn't wait for a slow broker.

What
    ``request.timeout.ms`` (librdkafka's consumer: ``socket.timeout.ms``) is below 10 s. Consumers are judged too: they push it as
    well.

Why
    When brokers are slow, a client that doesn't wait sends the same again, and makes them slower.

Example
    ``request.timeout.ms=2000``

Use instead
    ``request.timeout.ms=30000``, the default (librdkafka's consumers: ``socket.timeout.ms``); on Event Hubs 60000.

Source
    Apache Kafka, request.timeout.ms: https://kafka.apache.org/documentation/#producerconfigs_request.timeout.ms
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
    Confluent, common pitfalls: https://www.confluent.io/blog/5-common-pitfalls-when-using-apache-kafka/
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FETCHING, FIRED, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged
from udfs.rules.engine.software import is_library


def evaluate(batch: Batch) -> Judgement:
    """By the effective number."""
    timeout = batch.number("request.timeout.ms")
    return judged(timeout < batch.limit(RULE, "minimum_ms"), ~np.isnan(timeout))


RULE = Rule(
    code="AN108",
    name="request_timeout_short",
    severity="medium",
    risks=("cost",),
    messages=(
        "request.timeout.ms was not pushed.",
        "This client waits for slow brokers.",
        "This client repeats its requests when brokers are slow, and makes them slower: set request.timeout.ms={minimum_ms} or more.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "This client repeats its requests when brokers are slow, and makes them slower: set a producer's request.timeout.ms, or a "
            "consumer's socket.timeout.ms, to {minimum_ms} or more.",
        ),
    ),
    evaluate=evaluate,
    client_types=frozenset({*PRODUCERS, *FETCHING}),
    of_answers=True,
    keys=("request.timeout.ms",),
    limits={"minimum_ms": 10000},
    cases=(
        Case(FIRED, {"request.timeout.ms": "2000", "acks": "all"}),
        Case(FIRED, {"request.timeout.ms": "2000", "group.id": "g"}),
        Case(FIRED, {"socket.timeout.ms": "2000", "group.id": "g"}, software="librdkafka", version="2.8.0", complete=True),
        Case(PASSED, {"request.timeout.ms": "10000", "acks": "all"}),
        Case(PASSED, {"socket.timeout.ms": "2000", "acks": "all"}, software="librdkafka", version="2.8.0", complete=True),
        Case(NOT_EVALUABLE, {"acks": "all"}),
        Case(NOT_EVALUABLE, {"request.timeout.ms": "2000"}),
    ),
)
