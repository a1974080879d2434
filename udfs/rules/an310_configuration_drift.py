"""AN310: instances of one application differ.

What
    Connected clients of one group, or of one client id without a group, push different values under the same key, with the same release of
    the same library. They are compared once none of them has started for ``minutes``, so that a rollout under way isn't reported.

Why
    A forgotten instance with old settings behaves unlike the rest, and is found when it fails.

Example
    ``linger.ms=5`` on 40 clients and ``linger.ms=0`` on one

Use instead
    One configuration for all instances of an application, from one place.

Source
    KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN310",
    name="configuration_drift",
    severity="info",
    risks=("drift",),
    messages=(
        "One push says nothing of other instances.",
        "All instances have the same settings.",
        "Instances of this application have different settings: deploy one configuration to all of them.",
    ),
    needs=Needs.FLEET,
    limits={"minutes": 10},
    cases=(Case(NOT_EVALUABLE, {"linger.ms": "0"}),),
)
