"""AN101: a producer doesn't wait for any acknowledgement.

What
    ``acks`` (librdkafka also: ``request.required.acks``) is 0.

Why
    The broker doesn't answer, so a record that never arrived, or that the broker refused, is lost without notice; retries and
    idempotence are without effect.

Example
    ``acks=0``

Use instead
    ``acks=all``, the default since Kafka 3.0.

Source
    Apache Kafka, acks: https://kafka.apache.org/documentation/#producerconfigs_acks
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    confluentinc/librdkafka#1467, "recommended to not use acks=0": https://github.com/confluentinc/librdkafka/issues/1467
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_APPLICABLE, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """Not evaluable where acks wasn't pushed, was redacted, or is no number of acknowledgements that Kafka knows."""
    acks = batch.text("acks")
    return judged(acks.equals("0"), acks.isin({"0", "1", "all"}))


RULE = Rule(
    code="AN101",
    name="acks_zero",
    severity="high",
    risks=("loss",),
    messages=(
        "acks was not pushed, or is not 0, 1 or all.",
        "This producer waits for acknowledgements.",
        "This producer waits for no acknowledgement and loses records without notice: set acks=all.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    keys=("acks",),
    cases=(
        Case(FIRED, {"acks": "0"}),
        Case(FIRED, {"request.required.acks": "0"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"acks": "1"}),
        Case(PASSED, {"acks": "-1"}),
        Case(NOT_EVALUABLE, {"linger.ms": "5"}),
        Case(NOT_EVALUABLE, {"acks": "lots"}),
        Case(NOT_EVALUABLE, {"acks": None}),
        Case(NOT_APPLICABLE, {"group.id": "g"}),
    ),
)
