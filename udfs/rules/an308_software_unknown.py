"""AN308: a client that doesn't say what it is.

What
    The client names no software: it asks ApiVersions in a version below 3, or not at all, as Sarama before 1.30 and KafkaJS do.

Why
    Before an upgrade of brokers it is unknown whether this client will still be served, and its defaults aren't known, so that
    hardly a rule can judge it.

Example
    ``software name unknown``

Use instead
    A release of the library that speaks ApiVersions 3 (KIP-511), and lets it.

Source
    KIP-511: https://cwiki.apache.org/confluence/display/KAFKA/KIP-511%3A+Collect+and+Expose+Client%27s+Name+and+Version+in+the+Brokers
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, PASSED, Case, Judgement, Rule, judged
from udfs.rules.engine.software import UNKNOWN


def evaluate(batch: Batch) -> Judgement:
    """By the name alone."""
    return judged(batch.software.where(lambda it: it.name in ("", UNKNOWN)), np.ones(len(batch), np.bool_))


RULE = Rule(
    code="AN308",
    name="software_unknown",
    severity="info",
    risks=("stall",),
    messages=(
        "What software it is isn't known.",
        "This client says what software it is.",
        "This client doesn't say what software it is: move to a release of its library that sends ApiVersions version 3.",
    ),
    evaluate=evaluate,
    cases=(
        Case(FIRED, {"acks": "all"}, software="unknown", version="unknown"),
        Case(PASSED, {"acks": "all"}),
        Case(PASSED, {"acks": "all"}, software="in-house", version="1"),
    ),
)
