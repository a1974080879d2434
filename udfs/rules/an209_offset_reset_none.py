"""AN209: a consumer without an offset fails.

What
    ``auto.offset.reset`` is none (librdkafka: error). That members of one group differ is judged across the fleet, once its state
    is there.

Why
    A new group, or one whose offset has expired, gets an exception instead of records, and the application must know what to do
    with it. Where members differ, chance decides where a partition begins.

Example
    ``auto.offset.reset=none``

Use instead
    ``earliest`` where no record may be missed, ``latest`` where only new ones count.

Source
    Apache Kafka, auto.offset.reset: https://kafka.apache.org/documentation/#consumerconfigs_auto.offset.reset
    Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective value."""
    reset = batch.text("auto.offset.reset")
    return judged(reset.equals("none"), reset.known)


RULE = Rule(
    code="AN209",
    name="offset_reset_none",
    severity="medium",
    risks=("stall",),
    messages=(
        "auto.offset.reset was not pushed.",
        "A consumer without an offset knows where to begin.",
        "A consumer without an offset gets an exception: set auto.offset.reset=earliest or latest, unless the application handles it.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    keys=("auto.offset.reset",),
    cases=(
        Case(FIRED, {"auto.offset.reset": "none"}),
        Case(FIRED, {"auto.offset.reset": "error"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"auto.offset.reset": "latest"}),
        Case(PASSED, {"auto.offset.reset": "largest"}, software="librdkafka", version="2.8.0"),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
