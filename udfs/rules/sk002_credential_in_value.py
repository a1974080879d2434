"""SK002: a client sent a credential in the value of a setting, or in a name, that isn't meant for one.

What
    A value under a key that says nothing of a credential has the shape of one: a private key, a JWT, a password in a URL, in JAAS or in
    a connection string, an access key of a cloud or a service. ``client.id``, ``group.id`` and ``transactional.id`` count too, also of
    clients that push nothing: their requests show them. So do the software's name and version, and the principal.

Why
    No exclusion by key keeps it on the client. A name with a secret in it is in each request, and in brokers' logs, metrics and quotas.

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
        "No value that the client sends has the shape of a credential.",
        "This client sends a credential within a setting or a name that isn't meant for one: take it out, and replace it.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"client.id": "AKIAIOSFODNN7EXAMPLE"}),
        Case(PASSED, {"client.id": "orders", "db.password": "hunter2"}),
    ),
)
