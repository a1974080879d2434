"""AN401: a setting changed between two starts.

What
    An application has started with another value than at its last start. It is shown for ``hours``.

Why
    What changed last is what an incident is asked about first.

Example
    ``acks=all`` until Tuesday, and ``acks=1`` since

Use instead
    Nothing, if the change was meant. If it wasn't, the value from before.

Source
    KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Judgement, Needs, Rule


def evaluate(batch: Batch) -> Judgement:
    """Nothing can be said of a single push: `streaming.findings` judges by this rule."""
    return Judgement(np.full(len(batch), NOT_EVALUABLE, np.int8))


RULE = Rule(
    code="AN401",
    name="setting_changed",
    severity="info",
    risks=("drift",),
    messages=(
        "One push says nothing of an earlier start.",
        "The settings are those of the last start.",
        "Settings changed between two starts: if that was not intended, restore the earlier values.",
    ),
    evaluate=evaluate,
    needs=Needs.FLEET,
    limits={"hours": 24},
    cases=(Case(NOT_EVALUABLE, {"linger.ms": "0"}),),
)
