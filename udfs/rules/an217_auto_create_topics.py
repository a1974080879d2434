"""AN217: a consumer creates the topics that it misspells.

What
    ``allow.auto.create.topics`` is true: by default in Java, kafka-python, KafkaJS and Sarama; librdkafka's consumer and franz-go
    have it false.

Why
    Where brokers allow it too (``auto.create.topics.enable``, on by default), subscribing to a misspelled name makes an empty topic
    with default settings, and without an error.

Example
    ``allow.auto.create.topics=true``

Use instead
    ``allow.auto.create.topics=false``; and ``auto.create.topics.enable=false`` at the brokers.

Source
    Apache Kafka, allow.auto.create.topics: https://kafka.apache.org/documentation/#consumerconfigs_allow.auto.create.topics
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    KIP-361: https://cwiki.apache.org/confluence/display/KAFKA/KIP-361%3A+Add+Consumer+Configuration+to+Disable+Auto+Topic+Creation
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective value."""
    creates = batch.text("allow.auto.create.topics")
    return judged(creates.equals("true"), creates.isin({"true", "false"}))


RULE = Rule(
    code="AN217",
    name="auto_create_topics",
    severity="info",
    risks=("stall",),
    messages=(
        "allow.auto.create.topics was not pushed.",
        "This consumer creates no topics.",
        "A misspelled topic is created instead of reported: set allow.auto.create.topics=false.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    needs=Needs.ALLOWED_KEYS,
    keys=("allow.auto.create.topics",),
    cases=(
        Case(FIRED, {"allow.auto.create.topics": "true", "group.id": "g"}),
        Case(FIRED, {"group.id": "g"}, complete=True),
        Case(PASSED, {"group.id": "g"}, software="librdkafka", version="2.8.0", complete=True),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
