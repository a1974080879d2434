"""AN407: a producer whose batches wait for far longer than ``linger.ms`` asks for.

What
    In two reports within the last hour, which are a minute or more apart, and all between them, a connected producer said in its own
    metrics that its batches waited in the send queue for at least ``times_linger`` times ``linger.ms`` on average, and for at least
    ``wait_ms`` milliseconds. It is judged where ``linger.ms`` was pushed, and where the job reads clients' metrics
    (``--client-telemetry``).

Why
    A batch that is full, or older than ``linger.ms``, waits for the broker or for room among the requests in flight. The queue grows up
    to ``buffer.memory``; then ``send()`` blocks, and after ``delivery.timeout.ms`` records are given up.

Example
    2,300 ms on average in the send queue with ``linger.ms=5``

Use instead
    A larger ``batch.size`` and a ``compression.type``, so that fewer requests carry the same records; more partitions, if all wait for
    one broker. Compare the request latency and throttling on the client's page: where those are high, the broker is the cause.

Source
    Apache Kafka, linger.ms: https://kafka.apache.org/documentation/#producerconfigs_linger.ms
    KIP-91: https://cwiki.apache.org/confluence/display/KAFKA/KIP-91
    KIP-714: https://cwiki.apache.org/confluence/display/KAFKA/KIP-714
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN407",
    name="queue_time_above_linger",
    severity="medium",
    risks=("stall", "loss"),
    messages=(
        "One push says nothing of the send queue.",
        "The producer sends batches as soon as linger.ms asks for.",
        "This producer's batches wait for far longer than linger.ms: send fewer and larger requests, or look for what holds up the broker.",
    ),
    needs=Needs.FLEET,
    limits={"times_linger": 3, "wait_ms": 500},
    cases=(Case(NOT_EVALUABLE, {"linger.ms": "5"}),),
)
