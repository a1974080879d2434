"""CF108: one setting under two names.

What
    The library has two names for the setting, and the client has both.

Why
    One of the two values has no effect, and which one depends on the order or on the release.

Example
    ``queue.buffering.max.ms=5`` and ``linger.ms=100`` in librdkafka

Use instead
    One of the names, and the value that is meant.

Source
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Case, Evidence, Judgement, Rule


def evaluate(batch: Batch) -> Judgement:
    """By Kafka's name of each."""
    return batch.checked.verdict(batch.checked.twice)


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Both."""
    return batch.checked.evidence(batch.checked.twice, rows)


RULE = Rule(
    code="CF108",
    name="key_set_twice",
    severity="medium",
    risks=("drift",),
    messages=(
        "The client library isn't known, and so neither are its names of settings.",
        "Every setting of this client is there once.",
        "A setting of this client is there under two names, of which one has no effect: keep one of them.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"queue.buffering.max.ms": "5", "linger.ms": "100"}, software="librdkafka", version="2.8.0", complete=True),
        Case(PASSED, {"linger.ms": "100"}, software="librdkafka", version="2.8.0", complete=True),
        Case(NOT_EVALUABLE, {"linger.ms": "100"}, software="in-house", version="1"),
    ),
)
