"""AN406: a consumer that almost exceeds ``max.poll.interval.ms``.

What
    In its own metrics a connected consumer said that, within the last hour, as much time passed between two of its polls as leaves less
    than ``headroom_percent`` of ``max.poll.interval.ms``. Severity is high if none was left, medium otherwise. It is judged where the
    setting is known, and where the job reads clients' metrics (``--client-telemetry``).

Why
    A consumer that doesn't poll for ``max.poll.interval.ms`` loses its partitions: the group rebalances, and another member handles
    the same records again, which then takes as long there.

Example
    280 s between two polls with ``max.poll.interval.ms=300000``

Use instead
    A smaller ``max.poll.records``, or work that is handed to another thread; a longer ``max.poll.interval.ms`` where a batch may take
    so long.

Source
    KIP-62: https://cwiki.apache.org/confluence/display/KAFKA/KIP-62
    KIP-714: https://cwiki.apache.org/confluence/display/KAFKA/KIP-714
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN406",
    name="poll_headroom_small",
    severity="medium",
    risks=("duplicates", "stall"),
    messages=(
        "One push says nothing of polls.",
        "The consumer polls in time.",
        "This consumer almost exceeds max.poll.interval.ms and would lose its partitions: take fewer records at once, or raise it.",
    ),
    needs=Needs.FLEET,
    limits={"headroom_percent": 20},
    cases=(Case(NOT_EVALUABLE, {"max.poll.interval.ms": "300000"}),),
)
