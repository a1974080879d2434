"""AN301: metadata is fetched too often, or too rarely.

What
    ``metadata.max.age.ms`` is below 10 s, or above an hour (on Event Hubs: above 240000).

Why
    Each refresh asks for all topics of the client; thousands of clients that refresh every second keep brokers busy with that
    alone. Very old metadata means that new partitions and moved leaders are found by errors only; franz-go takes no more than an
    hour.

Example
    ``metadata.max.age.ms=1000``

Use instead
    ``metadata.max.age.ms=300000``, the default; 180000 behind Azure.

Source
    Apache Kafka, metadata.max.age.ms: https://kafka.apache.org/documentation/#consumerconfigs_metadata.max.age.ms
    Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective number."""
    age = batch.number("metadata.max.age.ms")
    return judged((age < batch.limit(RULE, "minimum_ms")) | (age > batch.limit(RULE, "maximum_ms")), ~np.isnan(age))


RULE = Rule(
    code="AN301",
    name="metadata_age_unfit",
    severity="medium",
    risks=("stall", "cost"),
    messages=(
        "metadata.max.age.ms was not pushed.",
        "Metadata is refreshed at a moderate rate.",
        "Metadata is refreshed too often or too rarely: set metadata.max.age.ms from {minimum_ms} to {maximum_ms}.",
    ),
    evaluate=evaluate,
    needs=Needs.ALLOWED_KEYS,
    keys=("metadata.max.age.ms",),
    limits={"minimum_ms": 10000, "maximum_ms": 3600000},
    cases=(
        Case(FIRED, {"metadata.max.age.ms": "1000"}),
        Case(FIRED, {"metadata.max.age.ms": "86400000"}),
        Case(PASSED, {"metadata.max.age.ms": "300000"}),
        Case(PASSED, {"acks": "all"}, software="librdkafka", version="2.8.0", complete=True),
        Case(NOT_EVALUABLE, {"acks": "all"}),
    ),
)
