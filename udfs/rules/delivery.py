"""Rules about a producer's guarantees: acknowledgements, retries, order and timeouts."""

from __future__ import annotations

import math

from clientscope.catalog.configs import ClientType
from udfs.rules.engine.push import Push
from udfs.rules.engine.rule import (
    FETCHING,
    HIGH,
    INFO,
    LOW,
    MEDIUM,
    PRODUCERS,
    Judgement,
    Needs,
    judged,
    rule,
)
from udfs.rules.engine.vocabulary import is_library, lacks


@rule(
    "AN101",
    severity="high",
    risks=("loss",),
    messages=(
        "acks was not pushed, or is not 0, 1 or all.",
        "This producer waits for acknowledgements.",
        "This producer waits for no acknowledgement and loses records without notice: set acks=all.",
    ),
    client_types=PRODUCERS,
    keys=("acks",),
)
def acks_zero(push: Push) -> Judgement:
    """AN101: a producer doesn't wait for any acknowledgement.

    What
        ``acks`` (librdkafka also: ``request.required.acks``) is 0.

    Why
        The broker doesn't answer, so a record that never arrived, or that the broker refused, is lost without notice: no callback and no
        delivery report can tell. Retries and idempotence are without effect.

    Example
        ``acks=0``

    Use instead
        ``acks=all``, the default since Kafka 3.0.

    Source
        Apache Kafka, acks: https://kafka.apache.org/documentation/#producerconfigs_acks
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
        confluentinc/librdkafka#1467, "recommended to not use acks=0": https://github.com/confluentinc/librdkafka/issues/1467
    """
    # Not evaluable where acks wasn't pushed, was redacted, or is no number of acknowledgements that Kafka knows.
    acks = push.text("acks")
    few = push.is_set("retries") and push.number("retries") < retries_few.limit(push, "minimum")
    # Few tries make no difference then, so no rule of their own says it.
    return judged(acks == "0", acks in ("0", "1", "all"), settings=push.evidence(("acks", "retries") if few else ("acks",)))


@rule(
    "AN102",
    severity="high",
    risks=("duplicates",),
    messages=(
        "What would be needed isn't known: acks, whether enable.idempotence was set, and the client library.",
        "acks doesn't turn idempotence off.",
        "acks silently disables idempotence, so retries may write records twice: set acks=all.",
    ),
    client_types=PRODUCERS,
    of_answers=True,
    keys=(
        "acks",
        "enable.idempotence",
    ),
)
def idempotence_lost_to_acks(push: Push) -> Judgement:
    """AN102: idempotence, on by default, is turned off by acks.

    What
        The user set ``acks`` to 1 and said nothing about ``enable.idempotence``, in a client that would be idempotent by default:
        Java since 3.0.1 but for 3.1.0, kafka-python since 3.0, franz-go.

    Why
        Java and kafka-python then turn idempotence off, with a line at INFO and no more: a retry can write a record twice and out of
        order. franz-go refuses to start. Nobody who set acks=1 for speed chose that. With ``acks=0`` nothing is tried again (AN101).

    Example
        ``acks=1``

    Use instead
        ``acks=all``.

    Source
        Apache Kafka, ProducerConfig.postProcessAndValidateIdempotenceConfigs:
        https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/producer/ProducerConfig.java
        KIP-679, the strongest delivery guarantee by default: https://cwiki.apache.org/confluence/display/KAFKA/KIP-679%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default
    """
    # Only where idempotence would be on by default, so not for librdkafka and Java before 3.0.
    acks = push.text("acks")
    would_be_on = push.untouched("enable.idempotence", ClientType.PRODUCER, "true")
    asked = push.is_set("enable.idempotence")
    chosen = push.is_set("acks") and acks == "1"
    said = asked or (push.is_default("enable.idempotence") and push.software_known)
    harmless = acks == "all" or push.is_default("acks") or (push.software_known and not would_be_on)
    return judged(chosen and not asked and would_be_on, acks is not None and (harmless or said))


@rule(
    "AN103",
    severity="high",
    risks=("loss", "duplicates"),
    messages=(
        "retries was not pushed.",
        "This producer tries often enough.",
        "This producer gives up after too few tries and loses records when a leader moves: leave retries at its "
        "maximum, and limit delivery.timeout.ms instead.",
    ),
    instead=(
        (
            lacks("delivery.timeout.ms"),
            "This producer gives up after too few tries and loses records when a leader moves: set retries={minimum} or more.",
        ),
    ),
    client_types=PRODUCERS,
    of_answers=True,
    keys=("retries",),
    limits={"minimum": 3},
)
def retries_few(push: Push) -> Judgement:
    """AN103: a producer gives up after few tries.

    What
        ``retries`` (librdkafka also: ``message.send.max.retries``) is below 3, set or by default as in Java before 2.1. Medium: the user
        set more, in a library that would try without end, and all of them with the longest backoff between them take less than 60 s.

    Why
        When a leader moves, the first tries fail; a producer that gives up then loses what it had. With 0, Java turns idempotence off
        as well. How long to try is what ``delivery.timeout.ms`` is for.

    Example
        ``retries=0``

    Use instead
        Leave ``retries`` alone, and set ``delivery.timeout.ms``. Libraries without the latter, such as Java before 2.1: ``retries=3``
        or more.

    Source
        Apache Kafka, retries: https://kafka.apache.org/documentation/#producerconfigs_retries
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
        KIP-679, the strongest delivery guarantee by default: https://cwiki.apache.org/confluence/display/KAFKA/KIP-679%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default
    """
    retries, backoff = push.number("retries"), push.number("retry.backoff.ms")
    few = retries < retries_few.limit(push, "minimum")
    # Beside delivery.timeout.ms a number of tries is a limit of its own.
    longest = retries * max(backoff, push.number("retry.backoff.max.ms"))
    soon = push.is_set("retries") and longest < delivery_timeout_short.limit(push, "minimum_ms")
    return judged(few or (soon and not lacks("delivery.timeout.ms")(push.software)), not math.isnan(retries), HIGH if few else MEDIUM)


_REMEMBERED = 5
"""Batches of one producer and partition (ProducerStateEntry.NUM_BATCHES_TO_RETAIN); no profile can change it."""


@rule(
    "AN104",
    severity="high",
    risks=("duplicates", "stall"),
    messages=(
        "max.in.flight.requests.per.connection was not pushed, or whether idempotence is meant isn't known.",
        "Requests in flight and idempotence go together.",
        "More than five requests in flight turn idempotence off, or stop the producer from starting: set "
        "max.in.flight.requests.per.connection=5.",
    ),
    client_types=PRODUCERS,
    of_answers=True,
    keys=(
        "max.in.flight.requests.per.connection",
        "enable.idempotence",
    ),
)
def in_flight_above_idempotence(push: Push) -> Judgement:
    """AN104: more requests in flight than idempotence allows.

    What
        ``max.in.flight.requests.per.connection`` is above 5 while ``enable.idempotence`` is true, or would be by default.

    Why
        A broker remembers five batches of an idempotent producer. Set explicitly, Java and librdkafka refuse to start; by default, Java
        turns idempotence off with one warning, and announces an error for later.

    Example
        ``max.in.flight.requests.per.connection=10``

    Use instead
        ``max.in.flight.requests.per.connection=5``; or ``enable.idempotence=false`` beside it, where order and duplicates don't matter.

    Source
        Apache Kafka, max.in.flight.requests.per.connection: https://kafka.apache.org/documentation/#producerconfigs_max.in.flight.requests.per.connection
        Apache Kafka, ProducerConfig.postProcessAndValidateIdempotenceConfigs:
        https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/producer/ProducerConfig.java
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # What counts is what the user wanted of idempotence, not what became of it.
    in_flight = push.number("max.in.flight.requests.per.connection")
    asked = push.is_set("enable.idempotence")
    if asked:
        wanted = push.text("enable.idempotence", settled=False) == "true"
    else:
        wanted = push.untouched("enable.idempotence", ClientType.PRODUCER, "true")
    said = asked or (push.is_default("enable.idempotence") and push.software_known)
    return judged(in_flight > _REMEMBERED and wanted, in_flight <= _REMEMBERED or (not math.isnan(in_flight) and said))


@rule(
    "AN105",
    severity="medium",
    risks=("duplicates",),
    messages=(
        "enable.idempotence, max.in.flight.requests.per.connection and retries are needed, and were not all pushed.",
        "The order of records holds, or nothing is tried again.",
        "A retry can change the order of records: set enable.idempotence=true, or max.in.flight.requests.per.connection=1.",
    ),
    instead=(
        (lacks("max.in.flight.requests.per.connection"), "A retry can change the order of records: set enable.idempotence=true."),
        (lacks("enable.idempotence"), "A retry can change the order of records: set max.in.flight.requests.per.connection=1."),
    ),
    client_types=PRODUCERS,
    of_answers=True,
    keys=(
        "enable.idempotence",
        "max.in.flight.requests.per.connection",
        "retries",
    ),
)
def reordering_possible(push: Push) -> Judgement:
    """AN105: records may change their order.

    What
        A producer that isn't idempotent retries, with more than one request in flight.

    Why
        When the first of two requests fails and is tried again, its records come behind those of the second. Where the user asked for
        it this is medium; where a library has it by default (librdkafka, Java before 3.0, Sarama) it is for information.

    Example
        ``enable.idempotence=false``

    Use instead
        ``enable.idempotence=true``; where brokers don't allow that or the library has none, ``max.in.flight.requests.per.connection=1``.

    Source
        Apache Kafka, max.in.flight.requests.per.connection: https://kafka.apache.org/documentation/#producerconfigs_max.in.flight.requests.per.connection
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # One of the three that keeps the order is enough to pass.
    in_flight, retries = push.number("max.in.flight.requests.per.connection"), push.number("retries")
    idempotence = push.text("enable.idempotence")
    keeps = idempotence == "true" or in_flight <= 1 or retries <= 0
    known = idempotence is not None and not math.isnan(in_flight) and not math.isnan(retries)
    asked = push.is_set("enable.idempotence") or push.is_set("max.in.flight.requests.per.connection")
    return judged(not keeps, keeps or known, MEDIUM if asked else INFO)


@rule(
    "AN106",
    severity="high",
    risks=("loss", "stall"),
    messages=(
        "delivery.timeout.ms, linger.ms and request.timeout.ms are needed, and were not all pushed.",
        "There is time for at least one try.",
        "delivery.timeout.ms is shorter than one try (linger.ms + request.timeout.ms): raise it, or lower request.timeout.ms.",
    ),
    client_types=PRODUCERS,
    of_answers=True,
    keys=(
        "delivery.timeout.ms",
        "linger.ms",
        "request.timeout.ms",
    ),
)
def delivery_timeout_below_one_try(push: Push) -> Judgement:
    """AN106: no time for a single try.

    What
        ``delivery.timeout.ms`` (librdkafka: ``message.timeout.ms``), set by the user, is below ``linger.ms`` plus
        ``request.timeout.ms``.

    Why
        Java throws a ConfigException: the producer never starts. Other libraries start, and fail records while their first request is
        still waited for; the record may have been written all the same.

    Example
        ``delivery.timeout.ms=10000 with request.timeout.ms=30000``

    Use instead
        A ``delivery.timeout.ms`` of several times ``request.timeout.ms``; the default is 120000.

    Source
        Apache Kafka, KafkaProducer.configureDeliveryTimeout:
        https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/producer/KafkaProducer.java
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # A default that is too short is raised by Java itself, so only one that was set counts.
    delivery = push.number("delivery.timeout.ms")
    one_try = push.number("linger.ms") + push.number("request.timeout.ms")
    short = delivery < one_try and not push.is_default("delivery.timeout.ms")
    severity = HIGH if push.software.is_of("java") else MEDIUM
    return judged(short, not math.isnan(delivery) and not math.isnan(one_try), severity)


@rule(
    "AN107",
    severity="medium",
    risks=("loss",),
    messages=(
        "delivery.timeout.ms was not pushed.",
        "This producer waits long enough for a new leader.",
        "This producer gives up before a new leader can be elected: set delivery.timeout.ms={minimum_ms} or more.",
    ),
    client_types=PRODUCERS,
    of_answers=True,
    keys=("delivery.timeout.ms",),
    limits={"minimum_ms": 60000},
)
def delivery_timeout_short(push: Push) -> Judgement:
    """AN107: a producer gives up before a leader can move.

    What
        ``delivery.timeout.ms`` (librdkafka: ``message.timeout.ms``) is below a minute.

    Why
        A broker that fails is replaced as leader within tens of seconds; a producer that gives up before loses what it had.

    Example
        ``delivery.timeout.ms=30000``

    Use instead
        ``delivery.timeout.ms=120000``, the default.

    Source
        Apache Kafka, delivery.timeout.ms: https://kafka.apache.org/documentation/#producerconfigs_delivery.timeout.ms
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # By the effective number; 0 is without end where a library has it so.
    timeout = push.number("delivery.timeout.ms")
    return judged(timeout < delivery_timeout_short.limit(push, "minimum_ms"), not math.isnan(timeout))


@rule(
    "AN108",
    severity="medium",
    risks=("cost",),
    messages=(
        "request.timeout.ms was not pushed.",
        "This client waits for slow brokers.",
        "This client repeats its requests when brokers are slow, and makes them slower: set request.timeout.ms={minimum_ms} or more.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "This client repeats its requests when brokers are slow, and makes them slower: set a producer's request.timeout.ms, or a "
            "consumer's socket.timeout.ms, to {minimum_ms} or more.",
        ),
    ),
    client_types=frozenset({*PRODUCERS, *FETCHING}),
    of_answers=True,
    keys=("request.timeout.ms",),
    limits={"minimum_ms": 10000},
)
def request_timeout_short(push: Push) -> Judgement:
    """AN108: a client doesn't wait for a slow broker.

    What
        ``request.timeout.ms`` (librdkafka's consumer: ``socket.timeout.ms``) is below 10 s. Consumers are judged too: they push it as
        well.

    Why
        When brokers are slow, a client that doesn't wait sends the same again, and makes them slower.

    Example
        ``request.timeout.ms=2000``

    Use instead
        ``request.timeout.ms=30000``, the default (librdkafka's consumers: ``socket.timeout.ms``); on Event Hubs 60000.

    Source
        Apache Kafka, request.timeout.ms: https://kafka.apache.org/documentation/#producerconfigs_request.timeout.ms
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
        Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
        Confluent, common pitfalls: https://www.confluent.io/blog/5-common-pitfalls-when-using-apache-kafka/
    """
    timeout = push.number("request.timeout.ms")
    return judged(timeout < request_timeout_short.limit(push, "minimum_ms"), not math.isnan(timeout))


@rule(
    "AN114",
    severity="high",
    risks=("stall",),
    messages=(
        "transactional.id was not pushed.",
        "There are no transactions, or they are idempotent.",
        "A transactional producer must be idempotent and won't start: take enable.idempotence=false away, or transactional.id.",
    ),
    client_types=PRODUCERS,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "transactional.id",
        "enable.idempotence",
    ),
    dialects=frozenset({"java", "librdkafka", "franz-go", "sarama"}),
)
def transactional_not_idempotent(push: Push) -> Judgement:
    """AN114: transactions without idempotence.

    What
        ``transactional.id`` is set, and ``enable.idempotence`` is false by the user's own word.

    Why
        Transactions are built on idempotence: Java throws a ConfigException, librdkafka, franz-go and Sarama refuse as well. Sarama's
        default is false, so there it must be said.

    Example
        ``transactional.id=orders-1 with enable.idempotence=false``

    Use instead
        ``enable.idempotence=true``, or no word of it where it is the default.

    Source
        Apache Kafka, transactional.id: https://kafka.apache.org/documentation/#producerconfigs_transactional.id
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
        Sarama, Config.Validate: https://github.com/IBM/sarama/blob/main/config.go
    """
    # By what was set; a client that starts nevertheless got another value elsewhere.
    transactional = push.text("transactional.id")
    idempotence = push.text("enable.idempotence", settled=False)
    off = idempotence == "false" and (push.is_set("enable.idempotence") or push.software.is_of("sarama"))
    known = (idempotence is not None and not off) or push.is_absent("transactional.id")
    return judged(bool(transactional) and off, known or (transactional is not None and idempotence is not None))


@rule(
    "AN116",
    severity="medium",
    risks=("loss",),
    messages=(
        "acks was not pushed, or is not 0, 1 or all.",
        "This producer doesn't stop at the leader's acknowledgement.",
        "This producer waits for the leader alone and loses acknowledged records if that broker fails: set acks=all.",
    ),
    client_types=PRODUCERS,
    keys=("acks",),
    since="0.2",
)
def acks_one(push: Push) -> Judgement:
    """AN116: a producer waits for the leader alone.

    What
        ``acks`` (librdkafka also: ``request.required.acks``; Sarama: ``Producer.RequiredAcks``) is 1.

    Why
        The leader answers before any follower has the record. If its broker fails then, a follower without the record becomes leader,
        and an acknowledged record is gone without notice. ``min.insync.replicas`` has no effect. Where the user asked for it this is
        medium; where a library has it by default (Sarama, aiokafka, Java before 3.0, kafka-python before 3.0) it is low: the loss is
        the same, and nobody decided it.

    Example
        ``acks=1``

    Use instead
        ``acks=all``, the default since Kafka 3.0, and ``min.insync.replicas=2`` on the topic.

    Source
        Apache Kafka, acks: https://kafka.apache.org/documentation/#producerconfigs_acks
        KIP-679, the strongest delivery guarantee by default: https://cwiki.apache.org/confluence/display/KAFKA/KIP-679%3A+Producer+will+enable+the+strongest+delivery+guarantee+by+default
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # Not evaluable where acks wasn't pushed, was redacted, or is no number of acknowledgements that Kafka knows.
    acks = push.text("acks")
    return judged(acks == "1", acks in ("0", "1", "all"), MEDIUM if push.is_set("acks") else LOW)


@rule(
    "AN117",
    severity="high",
    risks=("stall",),
    messages=(
        "transaction.timeout.ms was not pushed.",
        "A broker takes this producer's transactions.",
        "Brokers refuse transactions that may take so long: set transaction.timeout.ms={maximum_ms} or less, or raise their "
        "transaction.max.timeout.ms.",
    ),
    client_types=PRODUCERS,
    needs=Needs.ALLOWED_KEYS,
    keys=("transaction.timeout.ms",),
    limits={"maximum_ms": 900000},
    since="0.2",
)
def transaction_too_long(push: Push) -> Judgement:
    """AN117: transactions may take longer than brokers allow.

    What
        ``transaction.timeout.ms`` is above 900000, brokers' ``transaction.max.timeout.ms``, and the producer isn't known to have no
        ``transactional.id``.

    Why
        The broker answers InitProducerId with INVALID_TRANSACTION_TIMEOUT, and the producer never starts. Flink's exactly-once sink sets
        an hour by default.

    Example
        ``transaction.timeout.ms=3600000``

    Use instead
        ``transaction.timeout.ms=900000``, longer than any interval between checkpoints; or a higher ``transaction.max.timeout.ms`` of all
        brokers.

    Source
        Apache Kafka, transaction.max.timeout.ms: https://kafka.apache.org/documentation/#brokerconfigs_transaction.max.timeout.ms
        Apache Flink, Kafka producers and fault tolerance:
        https://nightlies.apache.org/flink/flink-docs-stable/docs/connectors/datastream/kafka/#kafka-producers-and-fault-tolerance
    """
    timeout = push.number("transaction.timeout.ms")
    fired = timeout > transaction_too_long.limit(push, "maximum_ms") and not push.is_absent("transactional.id")
    return judged(fired, not math.isnan(timeout))


@rule(
    "AN118",
    severity="medium",
    risks=("loss", "stall"),
    messages=(
        "replication.factor was not pushed.",
        "Topics of the framework's own have more than one copy.",
        "Topics that this framework makes for its own state have one copy, and are lost with one broker: set replication.factor=3, or "
        "-1 for the broker's default.",
    ),
    client_types=frozenset({ClientType.STREAMS}),
    keys=("replication.factor",),
    since="0.2",
)
def internal_topics_single_copy(push: Push) -> Judgement:
    """AN118: topics of a framework's own have one copy.

    What
        ``replication.factor`` of Kafka Streams, for its changelogs and repartitioned topics, or ``offset.storage.replication.factor``,
        ``config.storage.replication.factor`` or ``status.storage.replication.factor`` of a Connect worker is 1. Low where it is the
        default, as in Kafka Streams before 3.0.

    Why
        While the one broker with a partition is down, the application stands still; if its disk is lost, so is the state, the offsets or
        the connectors' configuration.

    Example
        ``replication.factor=1``

    Use instead
        ``replication.factor=3``; or -1, the broker's ``default.replication.factor``, with brokers of 2.4 and later.

    Source
        Apache Kafka, Kafka Streams' replication.factor: https://kafka.apache.org/documentation/#streamsconfigs_replication.factor
        Apache Kafka, offset.storage.replication.factor: https://kafka.apache.org/documentation/#connectconfigs_offset.storage.replication.factor
    """
    copies = push.number("replication.factor")
    return judged(copies == 1, not math.isnan(copies), MEDIUM if push.is_set("replication.factor") else LOW)
