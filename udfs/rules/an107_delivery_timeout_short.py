"""AN107: a producer gives up before a leader can move.

What
    ``delivery.timeout.ms`` (librdkafka: ``message.timeout.ms``) is below a minute.

Why
    A broker that fails is replaced as leader within tens of seconds; a producer that gives up before loses what it had.

Example
    ``delivery.timeout.ms=30000``

Use instead
    ``delivery.timeout.ms=120000``, the default.

Source
    Apache Kafka, delivery.timeout.ms: https://kafka.apache.org/documentation/#producerconfigs_delivery.timeout.ms
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective number; 0 is without end where a library has it so."""
    timeout = batch.number("delivery.timeout.ms")
    return judged(timeout < batch.limit(RULE, "minimum_ms"), ~np.isnan(timeout))


RULE = Rule(
    code="AN107",
    name="delivery_timeout_short",
    severity="medium",
    risks=("loss",),
    messages=(
        "delivery.timeout.ms was not pushed.",
        "This producer waits long enough for a new leader.",
        "This producer gives up before a new leader can be elected: set delivery.timeout.ms={minimum_ms} or more.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    of_answers=True,
    keys=("delivery.timeout.ms",),
    limits={"minimum_ms": 60000},
    cases=(
        Case(FIRED, {"delivery.timeout.ms": "59999"}),
        Case(FIRED, {"message.timeout.ms": "5000"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"delivery.timeout.ms": "60000"}),
        Case(PASSED, {"message.timeout.ms": "0"}, software="librdkafka", version="2.8.0"),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
