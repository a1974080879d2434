"""AN402: a value that is rare in the fleet.

What
    Of at least ``applications`` connected applications with the same library, at least ``usual_percent`` have one value under a key, and
    this one is alone with another. Numbers, switches and choices are compared, names and addresses aren't.

Why
    A value that no other application has was often copied from somewhere, or tried once and forgotten.

Example
    ``request.timeout.ms=5000`` where all others have ``30000``

Use instead
    The fleet's value, or a comment beside the setting that says why not.

Source
    KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN402",
    name="value_rare_in_fleet",
    severity="info",
    risks=("drift",),
    messages=(
        "One push says nothing of the fleet.",
        "The values are those of others, too.",
        "This application alone has other values than nearly all of the fleet: use the fleet's, or note why not.",
    ),
    needs=Needs.FLEET,
    limits={"applications": 20, "usual_percent": 90},
    cases=(Case(NOT_EVALUABLE, {"linger.ms": "0"}),),
)
