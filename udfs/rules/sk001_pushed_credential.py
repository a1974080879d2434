"""SK001: a client pushed a setting whose key or type is that of a credential.

What
    A pushed setting is of type PASSWORD, or its key is that of a password, secret, token or key, in any dialect's spelling, or of an
    application's own.  ``reason`` says by which of KIP-1324's exclusions, or of ours, it was redacted.  A value that is empty, a
    template or a login module without a password is none (SK003).

Why
    KIP-1324 keeps such settings on the client.  One that was pushed has crossed the network and reached whoever reads the
    pushes; the gateway redacts it, but that the client sends it at all means that it will leak elsewhere.

Example
    ``sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";``

Use instead
    A client that applies KIP-1324's exclusion, and ``config.push.allowed.keys`` without such keys; then a new credential.

Source
    KIP-1324, "Excluding Sensitive Configuration": https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
    The words: docs/leaks.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udfs.rules.engine import leak_rules as leaks
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, PASSED, Case, Evidence, Judgement, Rule


def evaluate(batch: Batch) -> Judgement:
    """Fires where a credential was redacted, by the gateway or by us; a push can always be judged."""
    return leaks.judged(batch, leaks.credentials_by_key(batch.pushes))


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings, without their values."""
    return leaks.hidden(batch, rows, leaks.credentials_by_key(batch.pushes))


RULE = Rule(
    code="SK001",
    name="pushed_credential",
    severity="critical",
    risks=("secret",),
    messages=(
        "",
        "No pushed setting is a credential by its key or type.",
        "This client pushes settings that hold credentials: keep them out of what it pushes, and replace the credentials.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"sasl.jaas.config": None}),
        Case(FIRED, {"db.password": "hunter2"}),
        Case(PASSED, {"acks": "1", "security.protocol": "SASL_SSL"}),
    ),
)
