"""AN403: a release of the library that hardly any other application still uses.

What
    Of at least ``applications`` connected applications with the same library, at most ``rare_percent`` have this release or an older one.

Why
    The last client on an old release is what holds up an upgrade of the brokers, and lacks the fixes that others have.

Example
    ``apache-kafka-java 2.1.0`` where all others have 3.7 or later

Use instead
    The release that most of the fleet has.

Source
    KIP-511: https://cwiki.apache.org/confluence/display/KAFKA/KIP-511%3A+Collect+and+Expose+Client%27s+Name+and+Version+in+the+Brokers
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN403",
    name="version_outside_fleet",
    severity="low",
    risks=("drift",),
    messages=(
        "One push says nothing of the fleet.",
        "Others have this release or an older one.",
        "Hardly any other application uses a release as old as this: upgrade the library to the one that most of the fleet uses.",
    ),
    needs=Needs.FLEET,
    limits={"applications": 20, "rare_percent": 5},
    cases=(Case(NOT_EVALUABLE, {"linger.ms": "0"}),),
)
