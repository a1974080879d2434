"""AN206: many records in a poll, and no more time for them.

What
    ``max.poll.records`` is above 1000, and ``max.poll.interval.ms`` at its default of five minutes or below.

Why
    All records of a poll must be worked on within the interval. More records make it likelier that the consumer is thrown out in
    the middle, and reads them all again.

Example
    ``max.poll.records=10000``

Use instead
    ``max.poll.records=500``, the default; or an interval that the work was measured against.

Source
    Apache Kafka, max.poll.records: https://kafka.apache.org/documentation/#consumerconfigs_max.poll.records
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FETCHING, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """By the effective numbers."""
    records, interval = batch.number("max.poll.records"), batch.number("max.poll.interval.ms")
    many = records > batch.limit(RULE, "maximum_records")
    return judged(many & (interval <= batch.limit(RULE, "interval_ms")), ~np.isnan(records) & ~np.isnan(interval))


RULE = Rule(
    code="AN206",
    name="poll_records_many",
    severity="info",
    risks=("duplicates", "stall"),
    messages=(
        "max.poll.records and max.poll.interval.ms are needed, and were not both pushed.",
        "There is time for the records of a poll.",
        "The records of one poll may take longer than max.poll.interval.ms: set max.poll.records={maximum_records} or less,"
        " or allow more than {interval_ms} ms.",
    ),
    evaluate=evaluate,
    client_types=FETCHING,
    keys=(
        "max.poll.records",
        "max.poll.interval.ms",
    ),
    limits={"maximum_records": 1000, "interval_ms": 300000},
    dialects=frozenset({"java", "kafka-python", "aiokafka"}),
    cases=(
        Case(FIRED, {"max.poll.records": "10000"}, {"max.poll.interval.ms": "300000"}),
        Case(PASSED, {"max.poll.records": "10000", "max.poll.interval.ms": "600000"}),
        Case(PASSED, {"max.poll.records": "1000"}, {"max.poll.interval.ms": "300000"}),
        Case(NOT_EVALUABLE, {"max.poll.records": "10000"}),
    ),
)
