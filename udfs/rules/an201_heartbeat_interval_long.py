"""AN201: heartbeats are too rare for the session timeout.

What
    ``heartbeat.interval.ms`` is at least ``session.timeout.ms`` (high), or more than a third of it. With
    ``group.protocol=consumer`` the broker decides both, so nothing is wrong.

Why
    A session must survive two lost heartbeats. With fewer in it, a short pause throws a healthy consumer out, and its group
    rebalances.

Example
    ``heartbeat.interval.ms=10000 with session.timeout.ms=15000``

Use instead
    ``heartbeat.interval.ms=3000``, the default, with ``session.timeout.ms=45000``.

Source
    Apache Kafka, heartbeat.interval.ms: https://kafka.apache.org/documentation/#consumerconfigs_heartbeat.interval.ms
    Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
    KIP-848: https://cwiki.apache.org/confluence/display/KAFKA/KIP-848%3A+The+Next+Generation+of+the+Consumer+Rebalance+Protocol
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.group_protocol import run_by_broker
from udfs.rules.engine.rule import CONSUMERS, FIRED, HIGH, MEDIUM, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective numbers."""
    heartbeat, session = batch.number("heartbeat.interval.ms"), batch.number("session.timeout.ms")
    known = ~np.isnan(heartbeat) & ~np.isnan(session)
    rare = heartbeat > session * batch.limit(RULE, "fraction")
    return judged(rare & ~run_by_broker(batch), known, np.where(heartbeat >= session, HIGH, MEDIUM))


RULE = Rule(
    code="AN201",
    name="heartbeat_interval_long",
    severity="high",
    risks=("stall",),
    messages=(
        "heartbeat.interval.ms and session.timeout.ms are needed, and were not both pushed.",
        "A session survives lost heartbeats.",
        "A lost heartbeat ends this consumer's session: set heartbeat.interval.ms to {fraction} of session.timeout.ms or less.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "heartbeat.interval.ms",
        "session.timeout.ms",
        "group.protocol",
    ),
    limits={"fraction": 1 / 3},
    cases=(
        Case(FIRED, {"heartbeat.interval.ms": "15000", "session.timeout.ms": "15000"}),
        Case(FIRED, {"heartbeat.interval.ms": "10000", "session.timeout.ms": "15000"}, severity="medium"),
        Case(PASSED, {"heartbeat.interval.ms": "3000", "session.timeout.ms": "9000"}),
        Case(PASSED, {"group.protocol": "consumer", "heartbeat.interval.ms": "10000", "session.timeout.ms": "15000"}),
        Case(NOT_EVALUABLE, {"session.timeout.ms": "45000"}),
    ),
)
