"""AN215: reads cross availability zones.

What
    ``client.rack`` has no value where brokers have racks. Whether they have is not seen in a push, so of pushes only a rack that is set
    passes. A gateway whose broker has a rack records whether a consumer's Fetch requests name none.

Why
    A consumer that says where it is may read from a replica nearby (KIP-392); one that doesn't reads from the leader, wherever that
    is, and pays for it.

Example
    ``no client.rack``

Use instead
    ``client.rack`` with the availability zone's id, and a rack-aware ``replica.selector.class`` at the brokers.

Source
    Apache Kafka, client.rack: https://kafka.apache.org/documentation/#consumerconfigs_client.rack
    KIP-392: https://cwiki.apache.org/confluence/display/KAFKA/KIP-392%3A+Allow+consumers+to+fetch+from+closest+replica
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.rule import FETCHING, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged


def evaluate(batch: Batch) -> Judgement:
    """A rack that is set passes; that there is none is known of observed clients alone, where brokers have racks."""
    rack = batch.text("client.rack")
    unset = batch.is_seen_unset("client.rack")
    return judged(unset, unset | (rack.known & ~rack.equals("")))


RULE = Rule(
    code="AN215",
    name="rack_unset",
    severity="info",
    risks=("cost",),
    messages=(
        "Whether the brokers have racks isn't observed, or client.rack was not pushed.",
        "This consumer says where it is.",
        "This consumer reads across zones: set client.rack to its availability zone.",
    ),
    evaluate=evaluate,
    client_types=FETCHING,
    needs=Needs.FLEET,
    keys=("client.rack",),
    cases=(
        Case(PASSED, {"client.rack": "use1-az1", "group.id": "g"}),
        Case(NOT_EVALUABLE, {"client.rack": "", "group.id": "g"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
