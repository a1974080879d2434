"""AN116: a producer waits for the leader alone.

What
    ``acks`` (librdkafka also: ``request.required.acks``; Sarama: ``Producer.RequiredAcks``) is 1.

Why
    The leader answers before any follower has the record. If its broker fails then, a follower without the record becomes leader, and an
    acknowledged record is gone without notice. ``min.insync.replicas`` has no effect. Where the user asked for it this is medium; where a
    library has it by default (Sarama, aiokafka, Java before 3.0, kafka-python before 3.0) it is low: the loss is the same, and nobody
    decided it.

Example
    ``acks=1``

Use instead
    ``acks=all``, the default since Kafka 3.0, and ``min.insync.replicas=2`` on the topic.

Source
    Apache Kafka, acks: https://kafka.apache.org/documentation/#producerconfigs_acks
    KIP-679, the strongest delivery guarantee by default: https://cwiki.apache.org/confluence/display/KAFKA/KIP-679%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

import numpy as np

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FIRED, LOW, MEDIUM, NOT_APPLICABLE, NOT_EVALUABLE, PASSED, PRODUCERS, Case, Judgement, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """Not evaluable where acks wasn't pushed, was redacted, or is no number of acknowledgements that Kafka knows."""
    acks = batch.text("acks")
    return judged(acks.equals("1"), acks.isin({"0", "1", "all"}), np.where(batch.is_set("acks"), MEDIUM, LOW))


RULE = Rule(
    code="AN116",
    name="acks_one",
    severity="medium",
    risks=("loss",),
    messages=(
        "acks was not pushed, or is not 0, 1 or all.",
        "This producer doesn't stop at the leader's acknowledgement.",
        "This producer waits for the leader alone and loses acknowledged records if that broker fails: set acks=all.",
    ),
    evaluate=evaluate,
    client_types=PRODUCERS,
    keys=("acks",),
    since="0.2",
    cases=(
        Case(FIRED, {"acks": "1"}),
        Case(FIRED, {"request.required.acks": "1"}, software="librdkafka", version="2.8.0"),
        Case(FIRED, {"Producer.RequiredAcks": "WaitForLocal"}, software="Sarama", version="v1.46.0"),
        Case(FIRED, {"linger.ms": "5"}, version="2.8.2", severity="low", complete=True),
        Case(FIRED, {"linger.ms": "5"}, {"acks": "1"}, version="2.8.2", severity="low"),
        Case(PASSED, {"acks": "all"}),
        Case(PASSED, {"acks": "-1"}),
        Case(PASSED, {"acks": "0"}),
        Case(NOT_EVALUABLE, {"linger.ms": "5"}),
        Case(NOT_EVALUABLE, {"acks": "lots"}),
        Case(NOT_EVALUABLE, {"acks": None}),
        Case(NOT_APPLICABLE, {"group.id": "g"}),
    ),
)
