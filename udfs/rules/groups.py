"""Rules about a consumer's membership of its group."""

from __future__ import annotations

import math

from udfs.rules.engine.push import Push
from udfs.rules.engine.rule import (
    CONSUMERS,
    FETCHING,
    HIGH,
    MEDIUM,
    Judgement,
    Needs,
    judged,
    rule,
)
from udfs.rules.engine.vocabulary import is_library


@rule(
    "AN201",
    severity="high",
    risks=("stall",),
    messages=(
        "heartbeat.interval.ms and session.timeout.ms are needed, and were not both pushed.",
        "A session survives lost heartbeats.",
        "A lost heartbeat ends this consumer's session: set heartbeat.interval.ms to {fraction} of session.timeout.ms or less.",
    ),
    client_types=CONSUMERS,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "heartbeat.interval.ms",
        "session.timeout.ms",
        "group.protocol",
    ),
    limits={"fraction": 1 / 3},
)
def heartbeat_interval_long(push: Push) -> Judgement:
    """AN201: heartbeats are too rare for the session timeout.

    What
        ``heartbeat.interval.ms`` is at least ``session.timeout.ms`` (high), or more than a third of it. With
        ``group.protocol=consumer`` the broker decides both, so nothing is wrong.

    Why
        A session must survive two lost heartbeats. With fewer in it, a short pause throws a healthy consumer out, and its group
        rebalances.

    Example
        ``heartbeat.interval.ms=10000 with session.timeout.ms=15000``

    Use instead
        ``heartbeat.interval.ms=3000``, the default, with ``session.timeout.ms=45000``.

    Source
        Apache Kafka, heartbeat.interval.ms: https://kafka.apache.org/documentation/#consumerconfigs_heartbeat.interval.ms
        Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
        KIP-848: https://cwiki.apache.org/confluence/display/KAFKA/KIP-848%3A+The+Next+Generation+of+the+Consumer+Rebalance+Protocol
    """
    heartbeat, session = push.number("heartbeat.interval.ms"), push.number("session.timeout.ms")
    known = not math.isnan(heartbeat) and not math.isnan(session)
    rare = heartbeat > session * heartbeat_interval_long.limit(push, "fraction")
    return judged(rare and not _run_by_broker(push), known, HIGH if heartbeat >= session else MEDIUM)


@rule(
    "AN202",
    severity="medium",
    risks=("stall",),
    messages=(
        "session.timeout.ms was not pushed.",
        "Short pauses don't end this consumer's session.",
        "A short pause throws this consumer out of its group: set session.timeout.ms={minimum_ms} or more.",
    ),
    client_types=CONSUMERS,
    keys=("session.timeout.ms",),
    limits={"minimum_ms": 10000},
)
def session_timeout_short(push: Push) -> Judgement:
    """AN202: a short pause ends a consumer's session.

    What
        ``session.timeout.ms`` is below 10 s. With ``group.protocol=consumer`` the broker decides it, so nothing is wrong.

    Why
        A garbage collection or a network hiccup then throws a healthy consumer out of its group, and all its members stop for a
        rebalance.

    Example
        ``session.timeout.ms=6000``

    Use instead
        ``session.timeout.ms=45000``, the default since Kafka 3.0.

    Source
        Apache Kafka, session.timeout.ms: https://kafka.apache.org/documentation/#consumerconfigs_session.timeout.ms
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
        Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
        Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
    """
    session = push.number("session.timeout.ms")
    return judged(session < session_timeout_short.limit(push, "minimum_ms") and not _run_by_broker(push), not math.isnan(session))


@rule(
    "AN203",
    severity="info",
    risks=("stall",),
    messages=(
        "session.timeout.ms was not pushed.",
        "A dead consumer is noticed in time.",
        "A consumer that dies keeps its partitions for long: set session.timeout.ms={maximum_ms} or less.",
    ),
    client_types=CONSUMERS,
    keys=("session.timeout.ms",),
    limits={"maximum_ms": 300000},
)
def session_timeout_long(push: Push) -> Judgement:
    """AN203: a dead consumer keeps its partitions.

    What
        ``session.timeout.ms`` is above five minutes. With ``group.protocol=consumer`` the broker decides it, so nothing is wrong.

    Why
        Until the session ends, the partitions of a consumer that died are not read.

    Example
        ``session.timeout.ms=600000``

    Use instead
        ``session.timeout.ms=45000``; for restarts without a rebalance a ``group.instance.id`` and a few minutes.

    Source
        Apache Kafka, session.timeout.ms: https://kafka.apache.org/documentation/#consumerconfigs_session.timeout.ms
        Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
        Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
    """
    session = push.number("session.timeout.ms")
    return judged(session > session_timeout_long.limit(push, "maximum_ms") and not _run_by_broker(push), not math.isnan(session))


@rule(
    "AN204",
    severity="medium",
    risks=("stall",),
    messages=(
        "max.poll.interval.ms and session.timeout.ms are needed, and were not both pushed.",
        "Slow work is allowed for longer than a session.",
        "Slow work throws this consumer out of its group: set max.poll.interval.ms above session.timeout.ms, to as "
        "long as a batch may take.",
    ),
    client_types=CONSUMERS,
    keys=(
        "max.poll.interval.ms",
        "session.timeout.ms",
    ),
    dialects=frozenset({"java", "librdkafka", "kafka-python", "aiokafka"}),
)
def poll_interval_below_session(push: Push) -> Judgement:
    """AN204: a consumer is thrown out for slow work before its session could end.

    What
        ``max.poll.interval.ms`` is below ``session.timeout.ms``, in a library that watches the time between polls.

    Why
        The session timeout then never matters: a consumer that works on a batch for longer leaves its group. librdkafka refuses to
        start.

    Example
        ``max.poll.interval.ms=30000 with session.timeout.ms=45000``

    Use instead
        ``max.poll.interval.ms=300000``, the default, or as long as a batch may take.

    Source
        Apache Kafka, max.poll.interval.ms: https://kafka.apache.org/documentation/#consumerconfigs_max.poll.interval.ms
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    interval, session = push.number("max.poll.interval.ms"), push.number("session.timeout.ms")
    return judged(interval < session, not math.isnan(interval) and not math.isnan(session))


@rule(
    "AN205",
    severity="info",
    risks=("stall",),
    messages=(
        "max.poll.interval.ms was not pushed.",
        "A stuck consumer is noticed in time.",
        "A stuck consumer keeps its partitions for very long: poll fewer records, and set max.poll.interval.ms={maximum_ms} or less.",
    ),
    client_types=FETCHING,
    keys=("max.poll.interval.ms",),
    limits={"maximum_ms": 1800000},
    dialects=frozenset({"java", "librdkafka", "kafka-python", "aiokafka"}),
)
def poll_interval_long(push: Push) -> Judgement:
    """AN205: a stuck consumer isn't noticed.

    What
        ``max.poll.interval.ms`` is above half an hour, in a library that watches the time between polls.

    Why
        It is the only thing that notices a consumer whose thread hangs while its heartbeats continue. A rebalance, too, waits for members
        for as long.

    Example
        ``max.poll.interval.ms=86400000``

    Use instead
        Less work in a poll (``max.poll.records``), or work in another thread with the partitions paused.

    Source
        Apache Kafka, max.poll.interval.ms: https://kafka.apache.org/documentation/#consumerconfigs_max.poll.interval.ms
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    interval = push.number("max.poll.interval.ms")
    return judged(interval > poll_interval_long.limit(push, "maximum_ms"), not math.isnan(interval))


@rule(
    "AN206",
    severity="info",
    risks=("duplicates", "stall"),
    messages=(
        "max.poll.records and max.poll.interval.ms are needed, and were not both pushed.",
        "There is time for the records of a poll.",
        "The records of one poll may take longer than max.poll.interval.ms: set max.poll.records={maximum_records} or less,"
        " or allow more than {interval_ms} ms.",
    ),
    client_types=FETCHING,
    keys=(
        "max.poll.records",
        "max.poll.interval.ms",
    ),
    limits={"maximum_records": 1000, "interval_ms": 300000},
    dialects=frozenset({"java", "kafka-python", "aiokafka"}),
)
def poll_records_many(push: Push) -> Judgement:
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
    records, interval = push.number("max.poll.records"), push.number("max.poll.interval.ms")
    many = records > poll_records_many.limit(push, "maximum_records")
    return judged(many and interval <= poll_records_many.limit(push, "interval_ms"), not math.isnan(records) and not math.isnan(interval))


def _run_by_broker(push: Push) -> bool:
    """Whether sessions, heartbeats and assignments are the broker's to set (KIP-848)."""
    return push.text("group.protocol") == "consumer"


_EAGER = {"range", "roundrobin"}
_STOPS = "Each rebalance stops every member of this group"
_JAVAS = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


def _only_eager(strategies: str) -> bool:
    names = [item.strip().rpartition(".")[2].lower() for item in strategies.split(",") if item.strip()]
    plain = {name.removesuffix("assignor").removesuffix("partition") for name in names}
    return bool(plain) and plain <= _EAGER


@rule(
    "AN213",
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
    client_types=CONSUMERS,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "partition.assignment.strategy",
        "group.protocol",
    ),
)
def eager_rebalancing(push: Push) -> Judgement:
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
        librdkafka since 1.6 and Sarama since 1.61, ``CooperativeStickyPartitionAssignor`` of kafka-python since 3.0; aiokafka and
        KafkaJS have none. Java's consumers move to it in two rolling restarts, the first with both in the list; librdkafka refuses such
        a list, so all members stop once. With brokers of 4.0, Java since 4.0 and librdkafka since 2.12: ``group.protocol=consumer``.

    Source
        Apache Kafka, partition.assignment.strategy: https://kafka.apache.org/documentation/#consumerconfigs_partition.assignment.strategy
        KIP-429: https://cwiki.apache.org/confluence/display/KAFKA/KIP-429%3A+Kafka+Consumer+Incremental+Rebalance+Protocol
        librdkafka, rd_kafka_assignors_init: https://github.com/confluentinc/librdkafka/blob/master/src/rdkafka_assignor.c
        kafka-python 3.0.0: https://github.com/dpkp/kafka-python/blob/master/CHANGES.md
        Sarama 1.61.0: https://github.com/IBM/sarama/pull/3671
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # By the last part of each class's name, which is the same in all libraries but for the word at its end.
    strategies = push.text("partition.assignment.strategy")
    by_broker = _run_by_broker(push)
    return judged(_only_eager(strategies or "") and not by_broker, strategies is not None or by_broker)


@rule(
    "AN216",
    severity="medium",
    risks=("stall",),
    messages=(
        "One push says nothing of the group's other members.",
        "This consumer isn't a static member.",
        "Static membership doesn't hold: give each instance a group.instance.id of its own, and a session.timeout.ms above its restart.",
    ),
    client_types=CONSUMERS,
    needs=Needs.FLEET,
    keys=(
        "group.instance.id",
        "session.timeout.ms",
    ),
    limits={"minutes": 2},
)
def static_member_unfit(push: Push) -> Judgement:
    """AN216: static membership that doesn't hold.

    What
        Connected clients of one application and group have had one ``group.instance.id`` for ``minutes``, by what they push or by what
        their requests show. Whether ``session.timeout.ms`` is shorter than a restart takes isn't known.

    Why
        A member is fenced by the other with its name. A session that ends before the restart has, causes the very rebalance that static
        membership is for.

    Example
        ``group.instance.id=orders-1 on two pods``

    Use instead
        A name for each instance (a StatefulSet's pod), and ``session.timeout.ms`` above the time of a restart.

    Source
        Apache Kafka, group.instance.id: https://kafka.apache.org/documentation/#consumerconfigs_group.instance.id
        KIP-345: https://cwiki.apache.org/confluence/display/KAFKA/KIP-345%3A+Introduce+static+membership+protocol+to+reduce+consumer+rebalances
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # A dynamic member passes; of the rest `streaming.findings` judges, since nothing can be said of a single push.
    return judged(False, push.is_absent("group.instance.id"))
