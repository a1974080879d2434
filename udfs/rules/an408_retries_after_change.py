"""AN408: a producer that sends more records again since its settings changed.

What
    An application's connected producers started with other settings (as [AN401](#an401) says). In the hour after that they sent at least
    ``retries`` records again by their own metrics, and per five minutes at least ``times`` times as many as in the hour before. Both
    hours need reports in two intervals of five minutes or more. It is judged where the job reads clients' metrics
    (``--client-telemetry``), and ends two hours after the change.

Why
    What is sent again costs brokers and network twice and delays what comes after it. Without ``enable.idempotence`` it can come twice or
    out of order. Shorter timeouts and more requests in flight are often the reason.

Example
    300 records are sent again in five minutes, 2 were before; ``request.timeout.ms``: 30000 before, 2000 now

Use instead
    The value from before, if nothing else happened at that time. A broker that was started again has the same effect; then it passes.

Source
    Apache Kafka, retries: https://kafka.apache.org/documentation/#producerconfigs_retries
    KIP-714: https://cwiki.apache.org/confluence/display/KAFKA/KIP-714
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN408",
    name="retries_after_change",
    severity="medium",
    risks=("duplicates", "cost"),
    messages=(
        "One push says nothing of retries.",
        "The producer sends no more records again than before.",
        "This application sends many more records again since its settings changed: compare them with those from before.",
    ),
    needs=Needs.FLEET,
    limits={"retries": 20, "times": 5},
    cases=(Case(NOT_EVALUABLE, {"request.timeout.ms": "2000"}),),
)
