"""AN204: a consumer is thrown out for slow work before its session could end.

What
    ``max.poll.interval.ms`` is below ``session.timeout.ms``, in a library that watches the time between polls.

Why
    The session timeout then never matters: a consumer that works on a batch for longer leaves its group. librdkafka refuses to
    start.

Example
    ``max.poll.interval.ms=30000 with session.timeout.ms=45000``

Use instead
    ``max.poll.interval.ms=300000``, the default, or as long as a batch may take.

Source
    Apache Kafka, max.poll.interval.ms: https://kafka.apache.org/documentation/#consumerconfigs_max.poll.interval.ms
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_APPLICABLE, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective numbers."""
    interval, session = batch.number("max.poll.interval.ms"), batch.number("session.timeout.ms")
    return judged(interval < session, ~np.isnan(interval) & ~np.isnan(session))


RULE = Rule(
    code="AN204",
    name="poll_interval_below_session",
    severity="medium",
    risks=("stall",),
    messages=(
        "max.poll.interval.ms and session.timeout.ms are needed, and were not both pushed.",
        "Slow work is allowed for longer than a session.",
        "Slow work throws this consumer out of its group: set max.poll.interval.ms above session.timeout.ms, to as "
        "long as a batch may take.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    keys=(
        "max.poll.interval.ms",
        "session.timeout.ms",
    ),
    dialects=frozenset({"java", "librdkafka", "kafka-python", "aiokafka"}),
    cases=(
        Case(FIRED, {"max.poll.interval.ms": "30000", "session.timeout.ms": "45000"}),
        Case(FIRED, {"max.poll.interval.ms": "30000"}, complete=True),
        Case(PASSED, {"max.poll.interval.ms": "30000"}, version="2.8.2", complete=True),
        Case(PASSED, {"group.id": "g"}, complete=True),
        Case(NOT_EVALUABLE, {"max.poll.interval.ms": "30000"}),
        Case(NOT_APPLICABLE, {"rebalanceTimeout": "1000", "sessionTimeout": "30000"}, software="kafkajs", version="2.2.4"),
    ),
)
