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
    A cooperative assignor, where the library has one: ``CooperativeStickyAssignor`` of Java since 2.4, ``cooperative-sticky`` of
    librdkafka since 1.6 and Sarama since 1.61, ``CooperativeStickyPartitionAssignor`` of kafka-python since 3.0; aiokafka and KafkaJS have
    none. Java's consumers move to it in two rolling restarts, the first with both in the list; librdkafka refuses such a list, so all
    members stop once. With brokers of 4.0, Java since 4.0 and librdkafka since 2.12: ``group.protocol=consumer``.

Source
    Apache Kafka, partition.assignment.strategy: https://kafka.apache.org/documentation/#consumerconfigs_partition.assignment.strategy
    KIP-429: https://cwiki.apache.org/confluence/display/KAFKA/KIP-429%3A+Kafka+Consumer+Incremental+Rebalance+Protocol
    librdkafka, rd_kafka_assignors_init: https://github.com/confluentinc/librdkafka/blob/master/src/rdkafka_assignor.c
    kafka-python 3.0.0: https://github.com/dpkp/kafka-python/blob/master/CHANGES.md
    Sarama 1.61.0: https://github.com/IBM/sarama/pull/3671
    AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
"""

from __future__ import annotations

from udfs.rules.engine.batch import Batch
from udfs.rules.engine.group_protocol import run_by_broker
from udfs.rules.engine.rule import CONSUMERS, FIRED, NOT_EVALUABLE, PASSED, Case, Judgement, Needs, Rule, judged
from udfs.rules.engine.software import is_library

_EAGER = {"range", "roundrobin"}
_STOPS = "Each rebalance stops every member of this group"
_JAVAS = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


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
        f"{_STOPS}: use a cooperative assignor, where the client's library has one.",
    ),
    instead=(
        (is_library("java", before=(2, 4)), f"{_STOPS}: this release has no cooperative assignor, so upgrade to 2.4 or later."),
        (is_library("java", since=(4, 0)), f"{_STOPS}: add {_JAVAS} to partition.assignment.strategy, or set group.protocol=consumer."),
        (is_library("java", since=(2, 4)), f"{_STOPS}: add {_JAVAS} to partition.assignment.strategy."),
        (is_library("librdkafka", before=(1, 6)), f"{_STOPS}: this release has no cooperative assignor, so upgrade to 1.6 or later."),
        (
            is_library("librdkafka", since=(2, 12)),
            f"{_STOPS}: set partition.assignment.strategy=cooperative-sticky while no member runs, or group.protocol=consumer.",
        ),
        (
            is_library("librdkafka", since=(1, 6)),
            f"{_STOPS}: set partition.assignment.strategy=cooperative-sticky while no member runs.",
        ),
        (is_library("kafka-python", before=(3,)), f"{_STOPS}: this release has no cooperative assignor, so upgrade to 3.0 or later."),
        (is_library("kafka-python", since=(3,)), f"{_STOPS}: add CooperativeStickyPartitionAssignor to partition_assignment_strategy."),
        (is_library("sarama", before=(1, 61)), f"{_STOPS}: this release has no cooperative assignor, so upgrade to 1.61 or later."),
        (
            is_library("sarama", since=(1, 61)),
            f"{_STOPS}: put the cooperative-sticky strategy into Consumer.Group.Rebalance.GroupStrategies.",
        ),
        (
            is_library("aiokafka", since=(0, 10)),
            f"{_STOPS}: this library has no cooperative assignor, so set group_instance_id, with which a restart causes no rebalance.",
        ),
        *(
            (is_library(name), f"{_STOPS}: this library has no cooperative assignor, so restart few members at a time.")
            for name in ("aiokafka", "kafkajs")
        ),
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
