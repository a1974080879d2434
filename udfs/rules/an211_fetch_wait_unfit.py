"""AN211: fetches wait too little, or too long.

What
    ``fetch.max.wait.ms`` is below 100, or above ``request.timeout.ms``.

Why
    Little patience is polling: an empty topic costs the broker many requests a second. A wait beyond the request's timeout makes
    idle fetches fail. franz-go's requests time out after the wait, so there it doesn't matter.

Example
    ``fetch.max.wait.ms=10``

Use instead
    ``fetch.max.wait.ms=500``, the default (librdkafka: ``fetch.wait.max.ms``).

Source
    Apache Kafka, fetch.max.wait.ms: https://kafka.apache.org/documentation/#consumerconfigs_fetch.max.wait.ms
    Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FETCHING, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged
from udfs.rules.engine.software import is_library


def evaluate(batch: Batch) -> Judgement:
    """A wait that is too short is judged without a timeout."""
    wait, timeout = batch.number("fetch.max.wait.ms"), batch.number("request.timeout.ms")
    adds_up = batch.software.where(lambda it: it.dialect is not None and it.dialect.name == "franz-go")
    short = wait < batch.limit(RULE, "minimum_ms")
    return judged(short | ((wait > timeout) & ~adds_up), short | (~np.isnan(wait) & (adds_up | ~np.isnan(timeout))))


RULE = Rule(
    code="AN211",
    name="fetch_wait_unfit",
    severity="medium",
    risks=("stall", "cost"),
    messages=(
        "fetch.max.wait.ms and request.timeout.ms are needed, and were not both pushed.",
        "Fetches wait for a moderate time.",
        "Fetches wait too little, or longer than their timeout: set fetch.max.wait.ms={minimum_ms} or more, below request.timeout.ms.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "Fetches wait too little, or longer than their timeout: set fetch.wait.max.ms={minimum_ms} or more, below socket.timeout.ms.",
        ),
        (is_library("franz-go"), "Fetches wait too little: set fetch.max.wait.ms={minimum_ms} or more."),
    ),
    evaluate=evaluate,
    client_types=FETCHING,
    keys=(
        "fetch.max.wait.ms",
        "request.timeout.ms",
    ),
    limits={"minimum_ms": 100},
    cases=(
        Case(FIRED, {"fetch.max.wait.ms": "10"}),
        Case(FIRED, {"fetch.wait.max.ms": "70000", "group.id": "g"}, software="librdkafka", version="2.8.0", complete=True),
        Case(PASSED, {"fetch.max.wait.ms": "500"}, {"request.timeout.ms": "30000"}),
        Case(PASSED, {"FetchMaxWait": "60s", "ConsumerGroup": "g"}, software="kgo", version="v1.21.0", complete=True),
        Case(NOT_EVALUABLE, {"fetch.max.wait.ms": "500"}),
    ),
)
