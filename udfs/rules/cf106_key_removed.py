"""CF106: a setting that the client library had once.

What
    An earlier release of the library had the setting, and the client's has it no longer.

Why
    It has no effect any more; librdkafka, kafka-python and aiokafka refuse to start.

Example
    ``auto.include.jmx.reporter=true`` in Java 4.0

Use instead
    What the library's documentation names instead; often nothing.

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
    return batch.checked.verdict(batch.checked.named(NameState.REMOVED), evaluable=batch.release_known)


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings."""
    return batch.checked.evidence(batch.checked.named(NameState.REMOVED), rows, "gone since {since}")


RULE = Rule(
    code="CF106",
    name="key_removed",
    severity="medium",
    risks=("drift",),
    messages=(
        "Which release of the library it is isn't known.",
        "The client's release has all of its settings.",
        "Settings of this client are gone from its library: take them out, or move to what replaces them.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"auto.include.jmx.reporter": "true", "acks": "all"}),
        Case(PASSED, {"acks": "all"}),
        Case(NOT_EVALUABLE, {"auto.include.jmx.reporter": "true", "acks": "all"}, version="unknown"),
    ),
)
