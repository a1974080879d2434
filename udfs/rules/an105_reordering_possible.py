"""AN105: records may change their order.

What
    A producer that isn't idempotent retries, with more than one request in flight.

Why
    When the first of two requests fails and is tried again, its records come behind those of the second. Where the user asked for
    it this is medium; where a library has it by default (librdkafka, Java before 3.0, Sarama) it is for information.

Example
    ``enable.idempotence=false``

Use instead
    ``enable.idempotence=true``; where brokers don't allow that or the library has none, ``max.in.flight.requests.per.connection=1``.

Source
    Apache Kafka, max.in.flight.requests.per.connection: https://kafka.apache.org/documentation/#producerconfigs_max.in.flight.requests.per.connection
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, INFO, MEDIUM, NOT_APPLICABLE, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged
from udfs.rules.engine.software import lacks


def evaluate(batch: Batch) -> Judgement:
    """One of the three that keeps the order is enough to pass."""
    in_flight, retries = batch.number("max.in.flight.requests.per.connection"), batch.number("retries")
    idempotence = batch.text("enable.idempotence")
    keeps = idempotence.equals("true") | (in_flight <= 1) | (retries <= 0)
    known = idempotence.known & ~np.isnan(in_flight) & ~np.isnan(retries)
    asked = batch.is_set("enable.idempotence") | batch.is_set("max.in.flight.requests.per.connection")
    return judged(~keeps, keeps | known, np.where(asked, MEDIUM, INFO))


RULE = Rule(
    code="AN105",
    name="reordering_possible",
    severity="medium",
    risks=("duplicates",),
    messages=(
        "enable.idempotence, max.in.flight.requests.per.connection and retries are needed, and were not all pushed.",
        "The order of records holds, or nothing is tried again.",
        "A retry can change the order of records: set enable.idempotence=true, or max.in.flight.requests.per.connection=1.",
    ),
    instead=(
        (lacks("max.in.flight.requests.per.connection"), "A retry can change the order of records: set enable.idempotence=true."),
        (lacks("enable.idempotence"), "A retry can change the order of records: set max.in.flight.requests.per.connection=1."),
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    of_answers=True,
    keys=(
        "enable.idempotence",
        "max.in.flight.requests.per.connection",
        "retries",
    ),
    cases=(
        Case(FIRED, {"enable.idempotence": "false"}, {"max.in.flight.requests.per.connection": "5", "retries": "2147483647"}),
        Case(FIRED, {"acks": "all"}, software="librdkafka", version="2.8.0", severity="info", complete=True),
        Case(FIRED, {"max.in.flight": "10", "acks": "all"}, software="librdkafka", version="2.8.0", complete=True),
        Case(FIRED, {"acks": "1"}, version="2.8.2", severity="info", complete=True),
        Case(PASSED, {"enable.idempotence": "false", "max.in.flight.requests.per.connection": "1"}),
        Case(PASSED, {"linger.ms": "5"}, complete=True),
        Case(PASSED, {"enable.idempotence": "true"}, software="librdkafka", version="2.8.0"),
        Case(NOT_EVALUABLE, {"enable.idempotence": "false"}),
        Case(NOT_APPLICABLE, {"acks": "0"}, complete=True),
    ),
)
