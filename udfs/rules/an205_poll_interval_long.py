"""AN205: a stuck consumer isn't noticed.

What
    ``max.poll.interval.ms`` is above half an hour, in a library that watches the time between polls.

Why
    It is the only thing that notices a consumer whose thread hangs while its heartbeats continue. A rebalance, too, waits for members
    for as long.

Example
    ``max.poll.interval.ms=86400000``

Use instead
    Less work in a poll (``max.poll.records``), or work in another thread with the partitions paused.

Source
    Apache Kafka, max.poll.interval.ms: https://kafka.apache.org/documentation/#consumerconfigs_max.poll.interval.ms
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FETCHING, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective number."""
    interval = batch.number("max.poll.interval.ms")
    return judged(interval > batch.limit(RULE, "maximum_ms"), ~np.isnan(interval))


RULE = Rule(
    code="AN205",
    name="poll_interval_long",
    severity="info",
    risks=("stall",),
    messages=(
        "max.poll.interval.ms was not pushed.",
        "A stuck consumer is noticed in time.",
        "A stuck consumer keeps its partitions for very long: poll fewer records, and set max.poll.interval.ms={maximum_ms} or less.",
    ),
    evaluate=evaluate,
    client_types=FETCHING,
    keys=("max.poll.interval.ms",),
    limits={"maximum_ms": 1800000},
    dialects=frozenset({"java", "librdkafka", "kafka-python", "aiokafka"}),
    cases=(
        Case(FIRED, {"max.poll.interval.ms": "86400000"}),
        Case(PASSED, {"max.poll.interval.ms": "1800000"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
