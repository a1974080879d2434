"""Rules about a client beside others, or beside its own past: `streaming.findings` judges by them, and no push's result lists them."""

from __future__ import annotations

from udfs.rules.engine.rule import Needs, fleet_rule


@fleet_rule(
    "AN309",
    severity="medium",
    risks=("stall",),
    messages=(
        "A push says nothing of requests.",
        "The later release serves all versions that the client requests.",
        "This application requests versions that a later release of brokers doesn't serve, and stops working there: "
        "upgrade its client library, and remove settings that pin an old protocol version.",
    ),
    needs=Needs.WIRE,
    limits={"target_major": 4, "target_minor": 0},
)
def versions_removed_later() -> None:
    """AN309: request versions that a later release of brokers doesn't serve.

    What
        A connected client requests versions of the protocol that the release ``target_major``.``target_minor`` removed, and would do so
        there: it never sends ApiVersions, or chooses an old version although newer ones are offered. It is over seven hours after the last
        record with such a version. A target that isn't known fires nothing.

    Why
        Kafka 4.0 removed old versions (KIP-896). A broker closes the connection of a client that requests one, whatever its configuration,
        so the client stops working with the upgrade of the brokers.

    Example
        a consumer with ``api_version=(0, 10)`` that sends Fetch 3, at brokers of 3.9

    Use instead
        A release of the client library that knows newer versions, without settings that pin an old one.

    Source
        KIP-896: https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0
    """


@fleet_rule(
    "AN310",
    severity="info",
    risks=("drift",),
    messages=(
        "One push says nothing of other instances.",
        "All instances have the same settings.",
        "Instances of this application have different settings: deploy one configuration to all of them.",
    ),
    needs=Needs.FLEET,
    limits={"minutes": 10},
)
def configuration_drift() -> None:
    """AN310: instances of one application differ.

    What
        Connected clients of one group, or of one client id without a group, push different values under the same key, with the same
        release of the same library. They are compared once none of them has started for ``minutes``, so that a rollout under way isn't
        reported.

    Why
        A forgotten instance with old settings behaves unlike the rest, and is found when it fails.

    Example
        ``linger.ms=5`` on 40 clients and ``linger.ms=0`` on one

    Use instead
        One configuration for all instances of an application, from one place.

    Source
        KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
    """


@fleet_rule(
    "AN401",
    severity="info",
    risks=("drift",),
    messages=(
        "One push says nothing of an earlier start.",
        "The settings are those of the last start.",
        "Settings changed between two starts: if that was not intended, restore the earlier values.",
    ),
    needs=Needs.FLEET,
    limits={"hours": 24},
)
def setting_changed() -> None:
    """AN401: a setting changed between two starts.

    What
        An application has started with another value than at its last start. It is shown for ``hours``.

    Why
        What changed last is what an incident is asked about first.

    Example
        ``acks=all`` until Tuesday, and ``acks=1`` since

    Use instead
        Nothing, if the change was meant. If it wasn't, the value from before.

    Source
        KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
    """


@fleet_rule(
    "AN402",
    severity="info",
    risks=("drift",),
    messages=(
        "One push says nothing of the fleet.",
        "The values are those of others, too.",
        "This application alone has other values than nearly all of the fleet: use the fleet's, or note why not.",
    ),
    needs=Needs.FLEET,
    limits={"applications": 20, "usual_percent": 90},
)
def value_rare_in_fleet() -> None:
    """AN402: a value that is rare in the fleet.

    What
        Of at least ``applications`` connected applications with the same library, at least ``usual_percent`` have one value under a
        key, and this one is alone with another. Numbers, switches and choices are compared, names and addresses aren't.

    Why
        A value that no other application has was often copied from somewhere, or tried once and forgotten.

    Example
        ``request.timeout.ms=5000`` where all others have ``30000``

    Use instead
        The fleet's value, or a comment beside the setting that says why not.

    Source
        KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
    """


@fleet_rule(
    "AN403",
    severity="low",
    risks=("drift",),
    messages=(
        "One push says nothing of the fleet.",
        "Others have this release or an older one.",
        "Hardly any other application uses a release as old as this: upgrade the library to the one that most of the fleet uses.",
    ),
    needs=Needs.FLEET,
    limits={"applications": 20, "rare_percent": 5},
)
def version_outside_fleet() -> None:
    """AN403: a release of the library that hardly any other application still uses.

    What
        Of at least ``applications`` connected applications with the same library, at most ``rare_percent`` have this release or an
        older one.

    Why
        The last client on an old release is what holds up an upgrade of the brokers, and lacks the fixes that others have.

    Example
        ``apache-kafka-java 2.1.0`` where all others have 3.7 or later

    Use instead
        The release that most of the fleet has.

    Source
        KIP-511: https://cwiki.apache.org/confluence/display/KAFKA/KIP-511%3A+Collect+and+Expose+Client%27s+Name+and+Version+in+the+Brokers
    """


@fleet_rule(
    "AN404",
    severity="high",
    risks=("cost",),
    messages=(
        "One push says nothing of connections.",
        "Connections are kept.",
        "This application opens and closes connections all the time: keep one client for the life of the process, and see why it restarts.",
    ),
    needs=Needs.FLEET,
    limits={"closed": 100, "times_open": 10, "high": 1_000},
)
def reconnect_storm() -> None:
    """AN404: a client that restarts or reconnects in a storm.

    What
        An application closed at least ``closed`` connections within five minutes, and ``times_open`` times as many as it has open now.
        It is over once it closes fewer than half of that. Severity is by rate: high from ``high`` connections on, medium below. The finding
        names the brokers, addresses and releases that most of them were of.

    Why
        Each new connection costs the broker a handshake, authentication and memory, and a client that comes and goes makes its group
        rebalance without end.

    Example
        a job that makes a producer for each message

    Use instead
        One client for the life of the process; longer ``reconnect.backoff.max.ms``; the cause of the restarts in the application's log.

    Source
        Kafka's documentation of KafkaProducer: https://kafka.apache.org/documentation/#producerapi
    """


@fleet_rule(
    "AN405",
    severity="medium",
    risks=("drift",),
    messages=(
        "One push says nothing of requests.",
        "Requests show what the client says.",
        "Requests show other values than the client says: find out which are used, and correct the other.",
    ),
    needs=Needs.FLEET,
)
def requests_contradict() -> None:
    """AN405: a client's requests show another value than it says.

    What
        What a gateway has seen of a connected client's requests differs from what the client pushes. Numbers, truth values and
        choices are compared, as far as requests show them exactly. Where connections of one name show several values, nothing is compared.

    Why
        The client isn't set as its owner thinks: a library ignores the setting, another instance has its name, or what was pushed was
        read from another place than what is used.

    Example
        ``acks=all`` pushed, and Produce requests with acks 1

    Use instead
        Find out which of the two is used; the requests are what the broker gets. Give each instance a client.id of its own.

    Source
        Apache Kafka, protocol: https://kafka.apache.org/protocol
        KIP-1324: https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
    """


@fleet_rule(
    "AN406",
    severity="medium",
    risks=("duplicates", "stall"),
    messages=(
        "One push says nothing of polls.",
        "The consumer polls in time.",
        "This consumer almost exceeds max.poll.interval.ms and would lose its partitions: take fewer records at once, or raise it.",
    ),
    needs=Needs.FLEET,
    limits={"headroom_percent": 20},
)
def poll_headroom_small() -> None:
    """AN406: a consumer that almost exceeds ``max.poll.interval.ms``.

    What
        In its own metrics a connected consumer said that, within the last hour, as much time passed between two of its polls as leaves less
        than ``headroom_percent`` of ``max.poll.interval.ms``. Severity is high if none was left, medium otherwise. It is judged where the
        setting is known, and where the job reads clients' metrics (``--client-telemetry``).

    Why
        A consumer that doesn't poll for ``max.poll.interval.ms`` loses its partitions: the group rebalances, and another member handles
        the same records again, which then takes as long there.

    Example
        280 s between two polls with ``max.poll.interval.ms=300000``

    Use instead
        A smaller ``max.poll.records``, or work that is handed to another thread; a longer ``max.poll.interval.ms`` where a batch may take
        so long.

    Source
        KIP-62: https://cwiki.apache.org/confluence/display/KAFKA/KIP-62
        KIP-714: https://cwiki.apache.org/confluence/display/KAFKA/KIP-714
    """


@fleet_rule(
    "AN407",
    severity="medium",
    risks=("stall", "loss"),
    messages=(
        "One push says nothing of the send queue.",
        "The producer sends batches as soon as linger.ms asks for.",
        "This producer's batches wait for far longer than linger.ms: send fewer and larger requests, or look for what holds up the broker.",
    ),
    needs=Needs.FLEET,
    limits={"times_linger": 3, "wait_ms": 500},
)
def queue_time_above_linger() -> None:
    """AN407: a producer whose batches wait for far longer than ``linger.ms`` asks for.

    What
        In two reports within the last hour, which are a minute or more apart, and all between them, a connected producer said in its own
        metrics that its batches waited in the send queue for at least ``times_linger`` times ``linger.ms`` on average, and for at least
        ``wait_ms`` milliseconds. It is judged where ``linger.ms`` was pushed, and where the job reads clients' metrics
        (``--client-telemetry``).

    Why
        A batch that is full, or older than ``linger.ms``, waits for the broker or for room among the requests in flight. The queue grows up
        to ``buffer.memory``; then ``send()`` blocks, and after ``delivery.timeout.ms`` records are given up.

    Example
        2,300 ms on average in the send queue with ``linger.ms=5``

    Use instead
        A larger ``batch.size`` and a ``compression.type``, so that fewer requests carry the same records; more partitions, if all wait for
        one broker. Compare the request latency and throttling on the client's page: where those are high, the broker is the cause.

    Source
        Apache Kafka, linger.ms: https://kafka.apache.org/documentation/#producerconfigs_linger.ms
        KIP-91: https://cwiki.apache.org/confluence/display/KAFKA/KIP-91
        KIP-714: https://cwiki.apache.org/confluence/display/KAFKA/KIP-714
    """


@fleet_rule(
    "AN408",
    severity="medium",
    risks=("duplicates", "cost"),
    messages=(
        "One push says nothing of retries.",
        "The producer sends no more records again than before.",
        "This application sends many more records again since its settings changed: compare them with those from before.",
    ),
    needs=Needs.FLEET,
    limits={"retries": 20, "times": 5},
)
def retries_after_change() -> None:
    """AN408: a producer that sends more records again since its settings changed.

    What
        An application's connected producers started with other settings (as [AN401](#an401) says). In the hour after that they sent at
        least ``retries`` records again by their own metrics, and per five minutes at least ``times`` times as many as in the hour
        before. Both hours need reports in two intervals of five minutes or more. It is judged where the job reads clients' metrics
        (``--client-telemetry``), and ends two hours after the change.

    Why
        What is sent again costs brokers and network twice and delays what comes after it. Without ``enable.idempotence`` it can come
        twice or out of order. Shorter timeouts and more requests in flight are often the reason.

    Example
        300 records are sent again in five minutes, 2 were before; ``request.timeout.ms``: 30000 before, 2000 now

    Use instead
        The value from before, if nothing else happened at that time. A broker that was started again has the same effect; then it passes.

    Source
        Apache Kafka, retries: https://kafka.apache.org/documentation/#producerconfigs_retries
        KIP-714: https://cwiki.apache.org/confluence/display/KAFKA/KIP-714
    """
