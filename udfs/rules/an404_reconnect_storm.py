"""AN404: a client that restarts or reconnects in a storm.

What
    An application closed at least ``closed`` connections within five minutes, and ``times_open`` times as many as it has open now.
    It is over once it closes fewer than half of that. Severity is by rate: high from ``high`` connections on, medium below. The finding
    names the brokers, addresses and releases that most of them were of.

Why
    Each new connection costs the broker a handshake, authentication and memory, and a client that comes and goes makes its group
    rebalance without end.

Example
    a job that makes a producer for each message

Use instead
    One client for the life of the process; longer ``reconnect.backoff.max.ms``; the cause of the restarts in the application's log.

Source
    Kafka's documentation of KafkaProducer: https://kafka.apache.org/documentation/#producerapi
"""

from __future__ import annotations

from udfs.rules.engine.rule import NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN404",
    name="reconnect_storm",
    severity="high",
    risks=("cost",),
    messages=(
        "One push says nothing of connections.",
        "Connections are kept.",
        "This application opens and closes connections all the time: keep one client for the life of the process, and see why it restarts.",
    ),
    needs=Needs.FLEET,
    limits={"closed": 100, "times_open": 10, "high": 1_000},
    cases=(Case(NOT_EVALUABLE, {"linger.ms": "0"}),),
)
