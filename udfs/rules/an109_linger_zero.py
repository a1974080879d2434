"""AN109: a producer sends each record by itself.

What
    ``linger.ms`` (librdkafka also: ``queue.buffering.max.ms``) is 0: set, or by the default of Java before 4.0, kafka-python,
    aiokafka and Sarama.

Why
    Unless records come faster than the broker answers, each is a request of its own: more CPU on both sides, and hardly any
    compression. Kafka 4.0 changed its default to 5 for that.

Example
    ``linger.ms=0``

Use instead
    ``linger.ms=5``, the default since Kafka 4.0; 10 to 100 for throughput.

Source
    Apache Kafka, linger.ms: https://kafka.apache.org/documentation/#producerconfigs_linger.ms
    KIP-1030: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1030%3A+Change+constraints+and+default+values+for+various+configurations
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective number, so by the release's default too."""
    linger = batch.number("linger.ms")
    return judged(linger <= 0, ~np.isnan(linger))


RULE = Rule(
    code="AN109",
    name="linger_zero",
    severity="low",
    risks=("cost",),
    messages=(
        "linger.ms was not pushed.",
        "This producer waits for more records before it sends.",
        "This producer sends a request for almost every record: set linger.ms=5 or more.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    keys=("linger.ms",),
    cases=(
        Case(FIRED, {"linger.ms": "0"}),
        Case(FIRED, {"acks": "all"}, {"linger.ms": "0"}, version="3.9.2"),
        Case(FIRED, {"acks": "all"}, version="3.9.2", complete=True),
        Case(PASSED, {"acks": "all"}, version="4.0.0", complete=True),
        Case(PASSED, {"queue.buffering.max.ms": "0.5"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"linger.ms": "5"}),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
