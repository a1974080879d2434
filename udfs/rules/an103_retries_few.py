"""AN103: a producer gives up after few tries.

What
    ``retries`` (librdkafka also: ``message.send.max.retries``) is below 3, set or by default as in Java before 2.1.

Why
    When a leader moves, the first tries fail; a producer that gives up then loses what it had. With 0, Java turns idempotence off
    as well. How long to try is what ``delivery.timeout.ms`` is for.

Example
    ``retries=0``

Use instead
    Leave ``retries`` alone, and set ``delivery.timeout.ms``. Libraries without the latter, such as Java before 2.1: ``retries=3`` or more.

Source
    Apache Kafka, retries: https://kafka.apache.org/documentation/#producerconfigs_retries
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    KIP-679, the strongest delivery guarantee by default: https://cwiki.apache.org/confluence/display/KAFKA/KIP-679%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_APPLICABLE, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged
from udfs.rules.engine.software import lacks


def evaluate(batch: Batch) -> Judgement:
    """By the effective number."""
    retries = batch.number("retries")
    return judged(retries < batch.limit(RULE, "minimum"), ~np.isnan(retries))


RULE = Rule(
    code="AN103",
    name="retries_few",
    severity="high",
    risks=("loss", "duplicates"),
    messages=(
        "retries was not pushed.",
        "This producer tries often enough.",
        "This producer gives up after too few tries and loses records when a leader moves: leave retries at its "
        "maximum, and limit delivery.timeout.ms instead.",
    ),
    instead=(
        (
            lacks("delivery.timeout.ms"),
            "This producer gives up after too few tries and loses records when a leader moves: set retries={minimum} or more.",
        ),
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    of_answers=True,
    keys=("retries",),
    limits={"minimum": 3},
    cases=(
        Case(FIRED, {"retries": "0", "acks": "all"}),
        Case(FIRED, {"message.send.max.retries": "2", "acks": "all"}, software="librdkafka", version="2.8.0"),
        Case(FIRED, {"acks": "1"}, software="apache-kafka-java", version="2.0.1", complete=True),
        Case(PASSED, {"retries": "3", "acks": "all"}),
        Case(PASSED, {"acks": "1"}, version="2.8.2", complete=True),
        Case(NOT_EVALUABLE, {"acks": "all"}),
        Case(NOT_EVALUABLE, {"retries": "0"}),
        Case(NOT_APPLICABLE, {"retries": "0"}, {"request.timeout.ms": "30000"}),
        Case(NOT_APPLICABLE, {"retries": "0", "acks": "0"}),
    ),
)
