"""CF109: another library's name of a setting.

What
    Another client library calls a setting so, and this one has that setting under another name.

Why
    Java's clients and KafkaJS ignore it silently; librdkafka, kafka-python and aiokafka refuse to start.

Example
    ``queue.buffering.max.ms=5`` in a Java client

Use instead
    This library's own name, which is shown.

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
    return batch.checked.verdict(batch.checked.named(NameState.OF_OTHER_LIBRARY))


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings."""
    return batch.checked.evidence(batch.checked.named(NameState.OF_OTHER_LIBRARY), rows, "did you mean {instead}?")


RULE = Rule(
    code="CF109",
    name="key_of_other_library",
    severity="medium",
    risks=(
        "drift",
        "stall",
    ),
    messages=(
        "The client library isn't known, and so neither are its names of settings.",
        "Every setting of this client has its own library's name.",
        "Settings of this client have another library's names, and have no effect: use this library's names.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"queue.buffering.max.ms": "5", "acks": "all"}, complete=True),
        Case(FIRED, {"fetch.max.wait.ms": "5", "group.id": "a"}, software="librdkafka", version="2.8.0", complete=True),
        Case(PASSED, {"linger.ms": "5", "acks": "all"}, complete=True),
        Case(NOT_EVALUABLE, {"queue.buffering.max.ms": "5", "acks": "all"}, software="in-house", version="1"),
    ),
)
