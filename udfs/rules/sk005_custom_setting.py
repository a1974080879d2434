"""SK005: a client pushed a setting that no client library knows.

What
    A pushed key is no setting of Kafka's Java clients, Kafka Streams, Connect, librdkafka, kafka-python, aiokafka, KafkaJS, franz-go or
    Sarama, under any of its names.  Its value was redacted.  One that is a credential by its key or value is SK001 or SK002.

Why
    KIP-1324 calls custom configuration sensitive: only its author knows what it holds, and cookies, addresses of mail, account
    numbers and tenants' hosts have no shape that could be looked for.

Example
    ``app.support.contact=+49 30 1234567``

Use instead
    ``config.push.allowed.keys`` without such keys.

Source
    KIP-1324, "Excluding Sensitive Configuration": https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
    Which keys are known: docs/leaks.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udfs.rules.engine import leak_rules as leaks
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, PASSED, Case, Evidence, Judgement, Rule


def evaluate(batch: Batch) -> Judgement:
    """Fires where a value was redacted because its key is custom."""
    return leaks.judged(batch, leaks.custom(batch.pushes))


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings, without their values."""
    return leaks.hidden(batch, rows, leaks.custom(batch.pushes))


RULE = Rule(
    code="SK005",
    name="custom_setting",
    severity="low",
    risks=("secret",),
    messages=(
        "",
        "Each pushed setting is one that a client library knows.",
        "This client pushes settings of its own application: take them out of config.push.allowed.keys.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"app.support.contact": "+49 30 1234567"}),
        Case(FIRED, {"acks": "1", "tenant": "acme"}),
        Case(PASSED, {"acks": "1", "db.password": "hunter2", "security.protocol": "SASL_SSL"}),
    ),
)
