"""SK003: a client pushed a setting that KIP-1324 keeps on the client, or that would hold a credential, without a secret in it.

What
    A pushed setting is excluded by name or type (``sasl.``, ``security.``, ``ssl.``, ``.class``, CLASS) without being a credential, or its
    key is that of a credential and its value holds none: it is empty, a template, a file's name, a login module without a
    password.  A certificate counts here.

Why
    No secret has got out.  But a client that pushes these doesn't apply KIP-1324's exclusion, and would push a password as well.

Example
    ``security.protocol=SASL_SSL``

Use instead
    ``config.push.allowed.keys`` without such keys.

Source
    KIP-1324, "Excluding Sensitive Configuration": https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udfs.rules.engine import leak_rules as leaks
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, PASSED, Case, Evidence, Judgement, Rule


def evaluate(batch: Batch) -> Judgement:
    """Fires where something was redacted that is no secret."""
    return leaks.judged(batch, leaks.excluded(batch.pushes))


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings, without their values."""
    return leaks.hidden(batch, rows, leaks.excluded(batch.pushes))


RULE = Rule(
    code="SK003",
    name="excluded_setting",
    severity="info",
    risks=("secret",),
    messages=(
        "",
        "No pushed setting is one that KIP-1324 excludes.",
        "This client pushes settings that KIP-1324 keeps on the client: take them out of config.push.allowed.keys.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"security.protocol": "SASL_SSL"}),
        Case(FIRED, {"sasl.password": "${file:/etc/kafka/secrets:password}"}),
        Case(PASSED, {"acks": "1", "db.password": "hunter2"}),
    ),
)
