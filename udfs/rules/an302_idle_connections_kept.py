"""AN302: a client keeps connections that others have closed.

What
    ``connections.max.idle.ms`` is not below the 600000 after which brokers close idle connections (Azure's load balancer: 240000),
    or says never. For information where it is the library's default: librdkafka never closes them.

Why
    Who closes last sends into a connection that is gone. A broker says so; a load balancer drops it silently, and the request
    waits for its timeout.

Example
    ``connections.max.idle.ms=900000``

Use instead
    ``connections.max.idle.ms=540000``, the default; 180000 behind Azure's load balancer.

Source
    Apache Kafka, connections.max.idle.ms: https://kafka.apache.org/documentation/#consumerconfigs_connections.max.idle.ms
    Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, INFO, MEDIUM, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """Never is 0 in librdkafka, and negative in Java."""
    idle = batch.number("connections.max.idle.ms")
    zero_is_never = batch.software.where(lambda it: it.dialect is not None and it.dialect.name == "librdkafka")
    never = (idle < 0) | ((idle == 0) & zero_is_never)
    kept = never | (idle >= batch.limit(RULE, "maximum_ms"))
    return judged(kept, ~np.isnan(idle), np.where(batch.is_default("connections.max.idle.ms"), INFO, MEDIUM))


RULE = Rule(
    code="AN302",
    name="idle_connections_kept",
    severity="medium",
    risks=("stall",),
    messages=(
        "connections.max.idle.ms was not pushed.",
        "This client closes idle connections before others do.",
        "This client sends into connections that were closed: set connections.max.idle.ms below {maximum_ms} and a load balancer's limit.",
    ),
    evaluate=evaluate,
    needs=Needs.ALLOWED_KEYS,
    keys=("connections.max.idle.ms",),
    limits={"maximum_ms": 600000},
    cases=(
        Case(FIRED, {"connections.max.idle.ms": "900000"}),
        Case(FIRED, {"connections.max.idle.ms": "-1"}),
        Case(FIRED, {"acks": "all"}, software="librdkafka", version="2.8.0", severity="info", complete=True),
        Case(PASSED, {"acks": "all"}, complete=True),
        Case(PASSED, {"connections.max.idle.ms": "0"}),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
