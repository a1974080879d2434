"""CF107: a setting that a later release of the client library brings.

What
    A later release of the library has the setting, and the client's hasn't.

Why
    It has no effect; librdkafka, kafka-python and aiokafka refuse to start.

Example
    ``compression.gzip.level=9`` in Java 3.7

Use instead
    A release that has it, or no such setting.

Source
    Apache Kafka, configuration: https://kafka.apache.org/documentation/#configuration
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clientscope.catalog.setting_names import NameState
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Case, Evidence, Judgement, Rule


def evaluate(batch: Batch) -> Judgement:
    """By the catalogue, for the client's library, release and kind."""
    return batch.checked.verdict(batch.checked.named(NameState.NOT_YET), evaluable=batch.release_known)


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings."""
    return batch.checked.evidence(batch.checked.named(NameState.NOT_YET), rows, "since {since}")


RULE = Rule(
    code="CF107",
    name="key_not_yet",
    severity="medium",
    risks=("drift",),
    messages=(
        "Which release of the library it is isn't known.",
        "The client's release has all of its settings.",
        "Settings of this client are of a later release of its library, and have no effect: upgrade, or take them out.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"compression.gzip.level": "9", "acks": "all"}, version="3.7.2"),
        Case(PASSED, {"compression.gzip.level": "9", "acks": "all"}),
        Case(PASSED, {"acks": "all"}, version="3.7.2"),
        Case(NOT_EVALUABLE, {"compression.gzip.level": "9", "acks": "all"}, version="unknown"),
    ),
)
