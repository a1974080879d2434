"""CF110: a setting of another kind of client.

What
    The library has the setting for producers, say, and this client is a consumer.

Why
    It has no effect, and whoever set it expects one.

Example
    ``compression.type=zstd`` of a consumer

Use instead
    The setting in the configuration of the client that it is for.

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
    return batch.checked.verdict(batch.checked.named(NameState.OF_OTHER_CLIENT), evaluable=batch.software_known & (batch.client_types >= 0))


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings."""
    return batch.checked.evidence(batch.checked.named(NameState.OF_OTHER_CLIENT), rows, "")


RULE = Rule(
    code="CF110",
    name="key_of_other_client",
    severity="low",
    risks=("drift",),
    messages=(
        "The kind of client, or its library, isn't known.",
        "Every setting of this client is for its kind of client.",
        "Settings of this client are for another kind of client, and have no effect: move them to that client's configuration.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"enable.auto.commit": "true", "group.id": "a", "key.serializer": "com.example.Own"}, complete=True),
        Case(PASSED, {"linger.ms": "5", "acks": "all"}),
        Case(NOT_EVALUABLE, {"client.id": "a"}),
        Case(NOT_EVALUABLE, {"linger.ms": "5"}, software="in-house", version="1"),
    ),
)
