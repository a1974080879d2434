"""AN212: a consumer reads records of transactions that may still be aborted.

What
    ``isolation.level`` is read_uncommitted, and within the last hour a connected consumer said in its own metrics that it read records of a
    topic, of which a connected producer with a ``transactional.id`` said that it wrote records to it. read_committed passes. Which topics
    clients use is known of Java's clients, where the job reads clients' metrics (``--client-telemetry``).

Why
    The application gets records of transactions that are aborted later, or that never end. It does its work for them, and does it again
    when the producer repeats the transaction.

Example
    ``isolation.level=read_uncommitted`` in a consumer of payments, which a producer with ``transactional.id=payments-1`` writes

Use instead
    ``isolation.level=read_committed`` in consumers of topics of transactional producers. librdkafka has it by default, Java doesn't. Where
    there are no transactions it wins nothing, and with tiered storage each read looks for a transaction index.

Source
    Apache Kafka, isolation.level: https://kafka.apache.org/documentation/#consumerconfigs_isolation.level
    KIP-98: https://cwiki.apache.org/confluence/display/KAFKA/KIP-98+-+Exactly+Once+Delivery+and+Transactional+Messaging
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import CONSUMERS, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """What reads only what is committed passes; of the rest `streaming.findings.isolation` judges, which knows the topics."""
    committed = batch.text("isolation.level").equals("read_committed")
    return judged(np.zeros(len(batch), np.bool_), committed)


RULE = Rule(
    code="AN212",
    name="isolation_level_unfit",
    severity="medium",
    risks=("duplicates",),
    messages=(
        "Which topics this consumer reads, and who writes to them, a push doesn't say.",
        "The consumer reads only what is committed.",
        "This consumer reads records of transactions that may still be aborted: set isolation.level=read_committed.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    needs=Needs.FLEET,
    keys=("isolation.level",),
    cases=(
        Case(PASSED, {"isolation.level": "read_committed"}),
        Case(NOT_EVALUABLE, {"isolation.level": "read_uncommitted"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
