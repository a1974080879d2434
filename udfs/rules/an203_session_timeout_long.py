"""AN203: a dead consumer keeps its partitions.

What
    ``session.timeout.ms`` is above five minutes. With ``group.protocol=consumer`` the broker decides it, so nothing is wrong.

Why
    Until the session ends, the partitions of a consumer that died are not read.

Example
    ``session.timeout.ms=600000``

Use instead
    ``session.timeout.ms=45000``; for restarts without a rebalance a ``group.instance.id`` and a few minutes.

Source
    Apache Kafka, session.timeout.ms: https://kafka.apache.org/documentation/#consumerconfigs_session.timeout.ms
    Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
    Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.group_protocol import run_by_broker
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective number."""
    session = batch.number("session.timeout.ms")
    return judged((session > batch.limit(RULE, "maximum_ms")) & ~run_by_broker(batch), ~np.isnan(session))


RULE = Rule(
    code="AN203",
    name="session_timeout_long",
    severity="info",
    risks=("stall",),
    messages=(
        "session.timeout.ms was not pushed.",
        "A dead consumer is noticed in time.",
        "A consumer that dies keeps its partitions for long: set session.timeout.ms={maximum_ms} or less.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    keys=("session.timeout.ms",),
    limits={"maximum_ms": 300000},
    cases=(
        Case(FIRED, {"session.timeout.ms": "600000"}),
        Case(PASSED, {"session.timeout.ms": "300000"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
