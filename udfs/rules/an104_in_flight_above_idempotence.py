"""AN104: more requests in flight than idempotence allows.

What
    ``max.in.flight.requests.per.connection`` is above 5 while ``enable.idempotence`` is true, or would be by default.

Why
    A broker remembers five batches of an idempotent producer. Set explicitly, Java and librdkafka refuse to start; by default, Java
    turns idempotence off with one warning, and announces an error for later.

Example
    ``max.in.flight.requests.per.connection=10``

Use instead
    ``max.in.flight.requests.per.connection=5``; or ``enable.idempotence=false`` beside it, where order and duplicates don't matter.

Source
    Apache Kafka, max.in.flight.requests.per.connection: https://kafka.apache.org/documentation/#producerconfigs_max.in.flight.requests.per.connection
    Apache Kafka, ProducerConfig.postProcessAndValidateIdempotenceConfigs:
    https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/producer/ProducerConfig.java
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np

from clientscope.catalog.configs import ClientType
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged

_REMEMBERED = 5
"""Batches of one producer and partition (ProducerStateEntry.NUM_BATCHES_TO_RETAIN); no profile can change it."""


def evaluate(batch: Batch) -> Judgement:
    """What counts is what the user wanted of idempotence, not what became of it."""
    in_flight = batch.number("max.in.flight.requests.per.connection")
    asked = batch.is_set("enable.idempotence")
    wanted = np.where(
        asked,
        batch.text("enable.idempotence", settled=False).equals("true"),
        batch.untouched("enable.idempotence", ClientType.PRODUCER, "true"),
    )
    said = asked | (batch.is_default("enable.idempotence") & batch.software_known)
    return judged((in_flight > _REMEMBERED) & wanted, (in_flight <= _REMEMBERED) | (~np.isnan(in_flight) & said))


RULE = Rule(
    code="AN104",
    name="in_flight_above_idempotence",
    severity="high",
    risks=("duplicates", "stall"),
    messages=(
        "max.in.flight.requests.per.connection was not pushed, or whether idempotence is meant isn't known.",
        "Requests in flight and idempotence go together.",
        "More than five requests in flight turn idempotence off, or stop the producer from starting: set "
        "max.in.flight.requests.per.connection=5.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    of_answers=True,
    keys=(
        "max.in.flight.requests.per.connection",
        "enable.idempotence",
    ),
    cases=(
        Case(FIRED, {"max.in.flight.requests.per.connection": "6"}, {"enable.idempotence": "false", "acks": "all"}),
        Case(FIRED, {"max.in.flight.requests.per.connection": "6", "enable.idempotence": "true"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"max.in.flight.requests.per.connection": "6"}, {"enable.idempotence": "false", "acks": "1"}, version="2.8.2"),
        Case(PASSED, {"acks": "all"}, software="librdkafka", version="2.8.0", complete=True),
        Case(PASSED, {"max.in.flight.requests.per.connection": "5", "acks": "all"}),
        Case(NOT_EVALUABLE, {"max.in.flight.requests.per.connection": "6", "acks": "all"}),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
