"""AN310: instances of one application differ.

What
    Instances of one client id or group push different values, a value changed since the last start, or it is rare in the fleet.
    That needs other pushes: it is judged with the fleet's state, never on a single push.

Why
    A forgotten instance with old settings behaves unlike the rest, and is found when it fails.

Example
    ``linger.ms=5 on 40 instances and 0 on one``

Use instead
    One configuration for all instances of an application, from one place.

Source
    KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
"""

from __future__ import annotations

import numpy as np

from udfs.rules.batch import Batch
from udfs.rules.rule import NOT_EVALUABLE, Case, Judgement, Needs, Rule


def evaluate(batch: Batch) -> Judgement:
    """Nothing can be said of a single push."""
    return Judgement(np.full(len(batch), NOT_EVALUABLE, np.int8))


RULE = Rule(
    code="AN310",
    name="configuration_drift",
    severity="info",
    messages=(
        "Other instances, and earlier pushes, aren't looked at yet.",
        "All instances have the same settings.",
        "Instances of this application have different settings: deploy one configuration to all of them.",
    ),
    evaluate=evaluate,
    needs=Needs.FLEET,
    cases=(Case(NOT_EVALUABLE, {"linger.ms": "0"}),),
)
