"""Rules about what a consumer reads, and how it commits."""

from __future__ import annotations

import math

from udfs.rules.engine.push import Push
from udfs.rules.engine.rule import CONSUMERS, FETCHING, Judgement, Needs, judged, rule
from udfs.rules.engine.vocabulary import is_library


@rule(
    "AN207",
    severity="info",
    risks=("loss", "duplicates"),
    messages=(
        "enable.auto.commit was not pushed.",
        "The application commits its offsets.",
        "Offsets are committed whether records were worked on or not: set enable.auto.commit=false and commit after "
        "the work, where that matters.",
    ),
    client_types=CONSUMERS,
    keys=("enable.auto.commit",),
)
def auto_commit(push: Push) -> Judgement:
    """AN207: offsets are committed by the clock.

    What
        ``enable.auto.commit`` is true, set or by default. A Java consumer without a group has it off.

    Why
        What was polled is committed after a while, whether it was worked on or not: around a crash records are lost or read twice. For
        information, since many applications can live with it.

    Example
        ``enable.auto.commit=true``

    Use instead
        ``enable.auto.commit=false``, and a commit once the records are worked on.

    Source
        Apache Kafka, enable.auto.commit: https://kafka.apache.org/documentation/#consumerconfigs_enable.auto.commit
        Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
    """
    commits = push.text("enable.auto.commit")
    return judged(commits == "true", commits in ("true", "false"))


@rule(
    "AN208",
    severity="medium",
    risks=("cost",),
    messages=(
        "auto.commit.interval.ms was not pushed.",
        "Offsets are committed at a moderate rate.",
        "This consumer commits its offsets very often: set auto.commit.interval.ms={minimum_ms} or more.",
    ),
    client_types=CONSUMERS,
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "auto.commit.interval.ms",
        "enable.auto.commit",
    ),
    limits={"minimum_ms": 5000},
)
def auto_commit_interval_short(push: Push) -> Judgement:
    """AN208: offsets are committed very often.

    What
        ``auto.commit.interval.ms`` is below 5 s while offsets are committed automatically. Sarama's default is one second.

    Why
        Each commit is a record in ``__consumer_offsets``, replicated like any other; many consumers that commit each second make it one
        of the busiest topics.

    Example
        ``auto.commit.interval.ms=100``

    Use instead
        ``auto.commit.interval.ms=5000``, the default.

    Source
        Apache Kafka, auto.commit.interval.ms: https://kafka.apache.org/documentation/#consumerconfigs_auto.commit.interval.ms
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # Where automatic commits are off, the interval doesn't matter.
    interval = push.number("auto.commit.interval.ms")
    off = push.text("enable.auto.commit") == "false"
    return judged(interval < auto_commit_interval_short.limit(push, "minimum_ms") and not off, not math.isnan(interval) or off)


@rule(
    "AN209",
    severity="medium",
    risks=("stall",),
    messages=(
        "auto.offset.reset was not pushed.",
        "A consumer without an offset knows where to begin.",
        "A consumer without an offset gets an exception: set auto.offset.reset=earliest or latest, unless the application handles it.",
    ),
    client_types=CONSUMERS,
    keys=("auto.offset.reset",),
)
def offset_reset_none(push: Push) -> Judgement:
    """AN209: a consumer without an offset fails.

    What
        ``auto.offset.reset`` is none (librdkafka: error). That members of one group differ is judged across the fleet, once its state
        is there.

    Why
        A new group, or one whose offset has expired, gets an exception instead of records, and the application must know what to do
        with it. Where members differ, chance decides where a partition begins.

    Example
        ``auto.offset.reset=none``

    Use instead
        ``earliest`` where no record may be missed, ``latest`` where only new ones count.

    Source
        Apache Kafka, auto.offset.reset: https://kafka.apache.org/documentation/#consumerconfigs_auto.offset.reset
        Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    reset = push.text("auto.offset.reset")
    return judged(reset == "none", reset is not None)


@rule(
    "AN210",
    severity="info",
    risks=("cost",),
    messages=(
        "Whether fetch.min.bytes matters depends on the rate of fetches, of which a push says nothing.",
        "Fetches wait for more than a byte.",
        "This consumer fetches very often and gets little: raise fetch.min.bytes where some milliseconds don't matter.",
    ),
    client_types=FETCHING,
    needs=Needs.FLEET,
    keys=("fetch.min.bytes",),
    limits={"fetches_per_second": 50, "fetch_bytes": 16384},
)
def fetch_min_bytes_one(push: Push) -> Judgement:
    """AN210: many small fetches.

    What
        ``fetch.min.bytes`` is 1, the default, and in two reports within the last hour, which are a minute or more apart, and all
        between them, a connected consumer said in its own metrics that it made at least ``fetches_per_second`` fetches a second and got
        as many records, and that a fetch brought at most ``fetch_bytes`` bytes on average. More than 1 passes. How often a client
        fetches is known where the job reads clients' metrics (``--client-telemetry``).

    Why
        The broker answers as soon as there is a byte. With a slow stream of small records each is a request of its own, for every
        consumer. A fetch that waits for twice as many bytes as it brings takes twice the time, so there are half as many: at such a rate
        that is some milliseconds, and never more than ``fetch.max.wait.ms``.

    Example
        400 fetches a second of 120 bytes with ``fetch.min.bytes=1``

    Use instead
        The ``fetch.min.bytes`` that the finding names, or more, with the ``fetch.max.wait.ms`` that the application can wait.

    Source
        Apache Kafka, fetch.min.bytes: https://kafka.apache.org/documentation/#consumerconfigs_fetch.min.bytes
        KIP-714: https://cwiki.apache.org/confluence/display/KAFKA/KIP-714
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # What waits for more than a byte passes; of the rest `streaming.findings` judges, since nothing can be said of a single push.
    return judged(False, push.number("fetch.min.bytes") > 1)


@rule(
    "AN211",
    severity="medium",
    risks=("stall", "cost"),
    messages=(
        "fetch.max.wait.ms and request.timeout.ms are needed, and were not both pushed.",
        "Fetches wait for a moderate time.",
        "Fetches wait too little, or longer than their timeout: set fetch.max.wait.ms={minimum_ms} or more, below request.timeout.ms.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "Fetches wait too little, or longer than their timeout: set fetch.wait.max.ms={minimum_ms} or more, below socket.timeout.ms.",
        ),
        (is_library("franz-go"), "Fetches wait too little: set fetch.max.wait.ms={minimum_ms} or more."),
    ),
    client_types=FETCHING,
    keys=(
        "fetch.max.wait.ms",
        "request.timeout.ms",
    ),
    limits={"minimum_ms": 100},
)
def fetch_wait_unfit(push: Push) -> Judgement:
    """AN211: fetches wait too little, or too long.

    What
        ``fetch.max.wait.ms`` is below 100, or above ``request.timeout.ms``.

    Why
        Little patience is polling: an empty topic costs the broker many requests a second. A wait beyond the request's timeout makes
        idle fetches fail. franz-go's requests time out after the wait, so there it doesn't matter.

    Example
        ``fetch.max.wait.ms=10``

    Use instead
        ``fetch.max.wait.ms=500``, the default (librdkafka: ``fetch.wait.max.ms``).

    Source
        Apache Kafka, fetch.max.wait.ms: https://kafka.apache.org/documentation/#consumerconfigs_fetch.max.wait.ms
        Strimzi, developing client applications: https://strimzi.io/blog/2021/01/07/consumer-tuning/
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # A wait that is too short is judged without a timeout.
    wait, timeout = push.number("fetch.max.wait.ms"), push.number("request.timeout.ms")
    adds_up = push.software.is_of("franz-go")
    short = wait < fetch_wait_unfit.limit(push, "minimum_ms")
    return judged(short or (wait > timeout and not adds_up), short or (not math.isnan(wait) and (adds_up or not math.isnan(timeout))))


@rule(
    "AN212",
    severity="medium",
    risks=("duplicates",),
    messages=(
        "Which topics this consumer reads, and who writes to them, a push doesn't say.",
        "The consumer reads only what is committed.",
        "This consumer reads records of transactions that may still be aborted: set isolation.level=read_committed.",
    ),
    client_types=CONSUMERS,
    needs=Needs.FLEET,
    keys=("isolation.level",),
)
def isolation_level_unfit(push: Push) -> Judgement:
    """AN212: a consumer reads records of transactions that may still be aborted.

    What
        ``isolation.level`` is read_uncommitted, and within the last hour a connected consumer said in its own metrics that it read
        records of a topic, of which a connected producer with a ``transactional.id`` said that it wrote records to it. read_committed
        passes. Which topics clients use is known of Java's clients, where the job reads clients' metrics (``--client-telemetry``).

    Why
        The application gets records of transactions that are aborted later, or that never end. It does its work for them, and does it again
        when the producer repeats the transaction.

    Example
        ``isolation.level=read_uncommitted`` in a consumer of payments, which a producer with ``transactional.id=payments-1`` writes

    Use instead
        ``isolation.level=read_committed`` in consumers of topics of transactional producers. librdkafka has it by default, Java
        doesn't. Where there are no transactions it wins nothing, and with tiered storage each read looks for a transaction index.

    Source
        Apache Kafka, isolation.level: https://kafka.apache.org/documentation/#consumerconfigs_isolation.level
        KIP-98: https://cwiki.apache.org/confluence/display/KAFKA/KIP-98+-+Exactly+Once+Delivery+and+Transactional+Messaging
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # What reads only what is committed passes; of the rest `streaming.findings.comparisons` judges, which knows the topics.
    return judged(False, push.text("isolation.level") == "read_committed")


@rule(
    "AN214",
    severity="high",
    risks=("stall",),
    messages=(
        "Whether there is a group.id isn't known: it wasn't pushed, and may have been left out.",
        "There is a group to commit for, or nothing is committed.",
        "This consumer can't start: give it a group.id, or take enable.auto.commit=true away.",
    ),
    client_types=CONSUMERS,
    keys=(
        "group.id",
        "enable.auto.commit",
    ),
    dialects=frozenset({"java"}),
)
def auto_commit_without_group(push: Push) -> Judgement:
    """AN214: automatic commits without a group.

    What
        ``group.id`` has no value, and ``enable.auto.commit`` was set to true.

    Why
        Java throws an InvalidConfigurationException: without a group there is nowhere to commit to.

    Example
        ``enable.auto.commit=true without group.id``

    Use instead
        A ``group.id``; or no ``enable.auto.commit``, which is off without a group.

    Source
        Apache Kafka, ConsumerConfig.maybeOverrideEnableAutoCommit:
        https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/consumer/ConsumerConfig.java
    """
    # Without a group it is off by default, so only what was set counts.
    asked = push.is_set("enable.auto.commit") and push.text("enable.auto.commit", settled=False) == "true"
    no_group = push.is_absent("group.id")
    known = push.text("group.id") is not None or no_group or (push.text("enable.auto.commit") is not None and not asked)
    return judged(asked and no_group, known)


@rule(
    "AN215",
    severity="info",
    risks=("cost",),
    messages=(
        "Whether the brokers have racks isn't observed, or client.rack was not pushed.",
        "This consumer says where it is.",
        "This consumer reads across zones: set client.rack to its availability zone.",
    ),
    client_types=FETCHING,
    needs=Needs.FLEET,
    keys=("client.rack",),
)
def rack_unset(push: Push) -> Judgement:
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
    # A rack that is set passes; that there is none is known of observed clients alone, where brokers have racks.
    unset = push.is_seen_unset("client.rack")
    return judged(unset, unset or bool(push.text("client.rack")))


@rule(
    "AN217",
    severity="info",
    risks=("stall",),
    messages=(
        "allow.auto.create.topics was not pushed.",
        "This consumer creates no topics.",
        "A misspelled topic is created instead of reported: set allow.auto.create.topics=false.",
    ),
    client_types=CONSUMERS,
    needs=Needs.ALLOWED_KEYS,
    keys=("allow.auto.create.topics",),
)
def auto_create_topics(push: Push) -> Judgement:
    """AN217: a consumer creates the topics that it misspells.

    What
        ``allow.auto.create.topics`` is true: by default in Java, kafka-python, KafkaJS and Sarama; librdkafka's consumer and franz-go
        have it false.

    Why
        Where brokers allow it too (``auto.create.topics.enable``, on by default), subscribing to a misspelled name makes an empty topic
        with default settings, and without an error.

    Example
        ``allow.auto.create.topics=true``

    Use instead
        ``allow.auto.create.topics=false``; and ``auto.create.topics.enable=false`` at the brokers.

    Source
        Apache Kafka, allow.auto.create.topics: https://kafka.apache.org/documentation/#consumerconfigs_allow.auto.create.topics
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
        KIP-361: https://cwiki.apache.org/confluence/display/KAFKA/KIP-361%3A+Add+Consumer+Configuration+to+Disable+Auto+Topic+Creation
    """
    creates = push.text("allow.auto.create.topics")
    return judged(creates == "true", creates in ("true", "false"))
