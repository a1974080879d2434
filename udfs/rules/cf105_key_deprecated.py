"""CF105: a setting that the client library will remove.

What
    The library's release says of the setting that it is deprecated.

Why
    A later release ignores it, or refuses to start.

Example
    ``auto.include.jmx.reporter=true`` in Java 3.9

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
    return batch.checked.verdict(batch.checked.named(NameState.DEPRECATED), evaluable=batch.release_known)


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings."""
    return batch.checked.evidence(batch.checked.named(NameState.DEPRECATED), rows, "use {instead}")


RULE = Rule(
    code="CF105",
    name="key_deprecated",
    severity="low",
    risks=("drift",),
    messages=(
        "Which release of the library it is isn't known.",
        "No setting of this client is deprecated in its release.",
        "Settings of this client are deprecated: take them out, or move to what replaces them, before an upgrade.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"auto.include.jmx.reporter": "true", "acks": "all"}, version="3.9.2"),
        Case(PASSED, {"acks": "all"}, version="3.9.2"),
        Case(NOT_EVALUABLE, {"auto.include.jmx.reporter": "true", "acks": "all"}, version="unknown"),
    ),
)
