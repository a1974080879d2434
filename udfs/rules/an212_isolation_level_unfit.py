"""AN212: a consumer's isolation doesn't fit its topics.

What
    ``isolation.level`` is read_uncommitted on a topic that transactional producers write to; or read_committed where there are no
    transactions and storage is tiered. Which topics a client reads, and who writes to them, needs the fleet; until then it isn't
    judged.

Why
    The first shows an application records of transactions that were aborted. The second costs reads of the transaction index, and
    stalls at the last stable offset.

Example
    ``isolation.level=read_uncommitted``

Use instead
    ``isolation.level=read_committed`` for topics of transactional producers. librdkafka has it by default, Java doesn't.

Source
    Apache Kafka, isolation.level: https://kafka.apache.org/documentation/#consumerconfigs_isolation.level
    librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

from udfs.rules.engine.rule import CONSUMERS, NOT_EVALUABLE, Case, Needs, Rule

RULE = Rule(
    code="AN212",
    name="isolation_level_unfit",
    severity="medium",
    risks=("duplicates", "stall"),
    messages=(
        "Which topics this consumer reads, and who writes to them, isn't observed.",
        "The isolation fits the topics.",
        "This consumer's isolation doesn't fit its topics: set isolation.level=read_committed where producers are "
        "transactional, and only there.",
    ),
    client_types=CONSUMERS,
    needs=Needs.FLEET,
    keys=("isolation.level",),
    cases=(
        Case(NOT_EVALUABLE, {"isolation.level": "read_uncommitted"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
