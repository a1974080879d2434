"""SK004: a client pushed a value that looks random, and may be a secret.

What
    A value has a run of 23 to 128 letters and digits in which capitals, small letters and digits change as often as in random
    text.  Ids and digests that are known by length, alphabet or key aren't taken.  This is entropy alone, so it causes no alert.

Why
    Passwords and tokens of generators look so, and so do some ids.

Example
    ``client.id=billing-q7Rk2ZpX9vLm4TnB8sWc6YdH``

Use instead
    A name that a person can read.  If it is a secret: another one, and not in this setting.

Source
    Entropy as a sign of secrets, and how often it is wrong: https://github.com/Yelp/detect-secrets
    How it is measured here: docs/leaks.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from udfs.rules.engine import leak_rules as leaks
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, PASSED, Case, Evidence, Judgement, Rule


def evaluate(batch: Batch) -> Judgement:
    """Fires where a value was redacted because it looks random."""
    return leaks.judged(batch, leaks.doubtful(batch.pushes))


def evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """Those settings, without their values."""
    return leaks.hidden(batch, rows, leaks.doubtful(batch.pushes))


RULE = Rule(
    code="SK004",
    name="random_looking_value",
    severity="low",
    risks=("secret",),
    messages=(
        "",
        "No pushed value looks random.",
        "A value that this client pushes looks random: if it is a secret, take it out and replace it.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"group.id": "billing-q7Rk2ZpX9vLm4TnB8sWc6YdH"}),
        Case(PASSED, {"group.id": "billing-7d9f5b6c4-x2x7q"}),
    ),
)
