"""AN213: each rebalance stops the whole group.

What
    ``partition.assignment.strategy`` names range and round robin alone, as kafka-python, aiokafka, librdkafka and Sarama do by
    default. Names of Java's classes are redacted in pushes (KIP-1324), so they are judged in files alone. With
    ``group.protocol=consumer`` the broker assigns, so nothing is wrong. Members whose strategies have nothing in common, eager beside
    cooperative, are judged across the fleet, once its state is there.

Why
    These strategies are eager: every member gives up all its partitions before any gets one. A cooperative one moves only what must
    move.

Example
    ``partition.assignment.strategy=range,roundrobin``

Use instead
    ``cooperative-sticky``; from an eager one in two rolling restarts, the first with both in the list. Kafka 4:
    ``group.protocol=consumer``.

Source
    Apache Kafka, partition.assignment.strategy: https://kafka.apache.org/documentation/#consumerconfigs_partition.assignment.strategy
    KIP-429: https://cwiki.apache.org/confluence/display/KAFKA/KIP-429%3A+Kafka+Consumer+Incremental+Rebalance+Protocol
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.group_protocol import run_by_broker
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged

_EAGER = {"range", "roundrobin"}


def _only_eager(strategies: str) -> bool:
    names = [item.strip().rpartition(".")[2].lower() for item in strategies.split(",") if item.strip()]
    plain = {name.removesuffix("assignor").removesuffix("partition") for name in names}
    return bool(plain) and plain <= _EAGER


def evaluate(batch: Batch) -> Judgement:
    """By the last part of each class's name, which is the same in all libraries but for the word at its end."""
    strategies = batch.text("partition.assignment.strategy")
    by_broker = run_by_broker(batch)
    return judged(strategies.where(_only_eager) & ~by_broker, strategies.known | by_broker)


RULE = Rule(
    code="AN213",
    name="eager_rebalancing",
    severity="info",
    risks=("stall",),
    messages=(
        "partition.assignment.strategy was not pushed, or names classes, which are redacted.",
        "Rebalances can be cooperative.",
        "Each rebalance stops every member of this group: add cooperative-sticky to partition.assignment.strategy.",
    ),
    evaluate=evaluate,
    client_types=CONSUMERS,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "partition.assignment.strategy",
        "group.protocol",
    ),
    cases=(
        Case(FIRED, {"partition.assignment.strategy": "range,roundrobin"}),
        Case(NOT_EVALUABLE, {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"}),
        Case(FIRED, {"group.id": "g"}, software="kafka-python", version="3.0.12", complete=True),
        Case(FIRED, {"group.id": "g"}, software="librdkafka", version="2.8.0", complete=True),
        Case(FIRED, {"group.id": "g"}, version="2.8.2", complete=True),
        Case(PASSED, {"group.id": "g"}, complete=True),
        Case(PASSED, {"group.id": "g"}, software="kgo", version="v1.21.0", complete=True),
        Case(PASSED, {"group.protocol": "consumer", "session.timeout.ms": "45000"}),
        Case(NOT_EVALUABLE, {"group.id": "g"}),
    ),
)
