"""AN110: a producer's batches are small.

What
    ``batch.size`` is below Kafka's default of 16384 bytes; below 4096 it is high.

Why
    Each batch has its own overhead, on the wire, on disk and for compression; many small ones cost brokers more than their bytes. 0
    turns batching off.

Example
    ``batch.size=1024``

Use instead
    ``batch.size=65536`` or more, with ``linger.ms`` above 0.

Source
    Apache Kafka, batch.size: https://kafka.apache.org/documentation/#producerconfigs_batch.size
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    Strimzi, Kafka producer tuning: https://strimzi.io/blog/2020/10/15/producer-tuning/
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, HIGH, MEDIUM, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective number."""
    size = batch.number("batch.size")
    severities = np.where(size < batch.limit(RULE, "critical_bytes"), HIGH, MEDIUM)
    return judged(size < batch.limit(RULE, "minimum_bytes"), ~np.isnan(size), severities)


RULE = Rule(
    code="AN110",
    name="batch_size_small",
    severity="high",
    risks=("cost",),
    messages=(
        "batch.size was not pushed.",
        "Batches may become large enough.",
        "This producer's batches are too small to be cheap: set batch.size={minimum_bytes} or more.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    keys=("batch.size",),
    limits={"minimum_bytes": 16384, "critical_bytes": 4096},
    cases=(
        Case(FIRED, {"batch.size": "0"}),
        Case(FIRED, {"batch.size": "4096"}, severity="medium"),
        Case(PASSED, {"batch.size": "16384"}),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
