"""SK002: a client pushed a credential in the value of a setting that isn't meant for one.

What
    A value under a key that says nothing of a credential has the shape of one: a private key, a JWT, a password in a URL, in JAAS or in
    a connection string, an access key of a cloud or a service.  ``client.id`` and ``group.id`` count too.

Why
    No exclusion by key keeps it on the client.  A client id with a secret in it is also in the broker's logs, metrics and quotas.

Example
    ``client.id=AKIAIOSFODNN7EXAMPLE``

Use instead
    A value without it, and a new credential: the old one has been in every place that shows this setting.

Source
    The published formats of these credentials, as in GitHub's secret scanning:
    https://docs.github.com/code-security/secret-scanning/introduction/supported-secret-scanning-patterns
    The shapes: docs/leaks.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udfs.rules.engine import leak_rules as leaks
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, PASSED, Case, Evidence, Judgement, Rule


def evaluate(batch: Batch) -> Judgement:
    """Fires where a value was redacted for its shape."""
    return leaks.judged(batch, leaks.credentials_by_value(batch.pushes))


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings, without their values."""
    return leaks.hidden(batch, rows, leaks.credentials_by_value(batch.pushes))


RULE = Rule(
    code="SK002",
    name="credential_in_value",
    severity="critical",
    risks=("secret",),
    messages=(
        "",
        "No pushed value has the shape of a credential.",
        "This client pushes a credential within a setting that isn't meant for one: take it out of the value, and replace it.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"client.id": "AKIAIOSFODNN7EXAMPLE"}),
        Case(PASSED, {"client.id": "orders", "db.password": "hunter2"}),
    ),
)
