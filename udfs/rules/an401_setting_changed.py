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

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

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
    needs=Needs.FLEET,
    limits={"hours": 24},
    cases=(Case(NOT_EVALUABLE, {"linger.ms": "0"}),),
)
