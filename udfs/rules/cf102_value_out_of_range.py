"""CF102: a number outside the range that the client library takes.

What
    The number is below or above what the library takes in the client's release, in the setting's own unit.

Why
    Java's clients and librdkafka refuse to start with it. Other libraries find out later, or use something else.

Example
    ``acks=-2`` of librdkafka, ``retries=-1`` of Java

Use instead
    A value that the library's documentation names for this release.

Source
    Apache Kafka, ConfigDef: https://kafka.apache.org/43/javadoc/org/apache/kafka/common/config/ConfigDef.html
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Case, Evidence, Judgement, Rule


def evaluate(batch: Batch) -> Judgement:
    """By the catalogue, for the client's library, release and kind."""
    return batch.checked.verdict(_found(batch), evaluable=batch.checked.has_constrained)


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings, and what is allowed."""
    return batch.checked.evidence(_found(batch), rows, "allowed: {allowed}")


def _found(batch: Batch) -> npt.NDArray[np.int64]:
    return batch.checked.refused_by("range")


RULE = Rule(
    code="CF102",
    name="value_out_of_range",
    severity="high",
    risks=("stall",),
    messages=(
        "No setting of this client is known to have a range.",
        "The numbers of this client are within their ranges.",
        "Numbers of this client are outside the range that its library takes: choose numbers within it.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"max.in.flight.requests.per.connection": "0"}),
        Case(FIRED, {"linger.ms": "1000000"}, software="librdkafka", version="2.8.0"),
        Case(FIRED, {"retries": "-1"}, complete=True),
        Case(PASSED, {"linger.ms": "1000000"}),
        Case(PASSED, {"linger.ms": "${LINGER}"}, complete=True),
        Case(NOT_EVALUABLE, {"linger.ms": None}),
        Case(NOT_EVALUABLE, {"linger.ms": "-5"}, software="in-house", version="1"),
    ),
)
