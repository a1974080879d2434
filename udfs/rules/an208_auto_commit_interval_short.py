"""AN208: offsets are committed very often.

What
    ``auto.commit.interval.ms`` is below 5 s while offsets are committed automatically. Sarama's default is one second.

Why
    Each commit is a record in ``__consumer_offsets``, replicated like any other; many consumers that commit each second make it one
    of the busiest topics.

Example
    ``auto.commit.interval.ms=100``

Use instead
    ``auto.commit.interval.ms=5000``, the default.

Source
    Apache Kafka, auto.commit.interval.ms: https://kafka.apache.org/documentation/#consumerconfigs_auto.commit.interval.ms
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """Where automatic commits are off, the interval doesn't matter."""
    interval = batch.number("auto.commit.interval.ms")
    off = batch.text("enable.auto.commit").equals("false")
    return judged((interval < batch.limit(RULE, "minimum_ms")) & ~off, ~np.isnan(interval) | off)


RULE = Rule(
    code="AN208",
    name="auto_commit_interval_short",
    severity="medium",
    risks=("cost",),
    messages=(
        "auto.commit.interval.ms was not pushed.",
        "Offsets are committed at a moderate rate.",
        "This consumer commits its offsets very often: set auto.commit.interval.ms={minimum_ms} or more.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "auto.commit.interval.ms",
        "enable.auto.commit",
    ),
    limits={"minimum_ms": 5000},
    cases=(
        Case(FIRED, {"auto.commit.interval.ms": "100"}),
        Case(FIRED, {"group.id": "g"}, software="sarama", version="v1.43.0", complete=True),
        Case(PASSED, {"auto.commit.interval.ms": "100", "enable.auto.commit": "false"}),
        Case(PASSED, {"enable.auto.commit": "false"}),
        Case(PASSED, {"auto.commit.interval.ms": "5000"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
