"""CF103: a value that is none of those that the client library takes.

What
    The setting takes some words, and this value is none of them; or it has to have a value, and is empty.

Why
    Java's clients and librdkafka refuse to start with it. Other libraries find out later, or use something else.

Example
    ``acks=2``, ``compression.type=zst``

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
    return batch.checked.refused_by("words", "any case", "list", "filled")


RULE = Rule(
    code="CF103",
    name="value_not_allowed",
    severity="high",
    risks=("stall",),
    messages=(
        "No setting of this client is known to take some words alone.",
        "The values of this client are among those that its library takes.",
        "Values of this client are none of those that its library takes: choose one of them.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"acks": "2"}),
        Case(FIRED, {"compression.type": "zst"}),
        Case(FIRED, {"compression.type": "zst"}, software="librdkafka", version="2.8.0"),
        Case(FIRED, {"auto.offset.reset": "by_duration:P1D"}, version="3.9.2"),
        Case(PASSED, {"auto.offset.reset": "by_duration:P1D"}),
        Case(PASSED, {"acks": "all", "compression.type": "zstd"}),
        Case(PASSED, {"auto.offset.reset": "smallest"}, software="librdkafka", version="2.8.0"),
        Case(NOT_EVALUABLE, {"client.id": "a"}),
        Case(NOT_EVALUABLE, {"acks": "2"}, software="in-house", version="1"),
    ),
)
