"""Rules about any client's connections: metadata, idle time, backoff and buffers."""

from __future__ import annotations

import math
import re

from udfs.rules.engine.push import Push, SettingOf
from udfs.rules.engine.rule import HIGH, INFO, LOW, MEDIUM, Judgement, Needs, judged, rule
from udfs.rules.engine.vocabulary import is_library, lacks


@rule(
    "AN301",
    severity="medium",
    risks=("stall", "cost"),
    messages=(
        "metadata.max.age.ms was not pushed.",
        "Metadata is refreshed at a moderate rate.",
        "Metadata is refreshed too often or too rarely: set metadata.max.age.ms from {minimum_ms} to {maximum_ms}.",
    ),
    needs=Needs.ALLOWED_KEYS,
    keys=("metadata.max.age.ms",),
    limits={"minimum_ms": 10000, "maximum_ms": 3600000},
)
def metadata_age_unfit(push: Push) -> Judgement:
    """AN301: metadata is fetched too often, or too rarely.

    What
        ``metadata.max.age.ms`` is below 10 s, or above an hour (on Event Hubs: above 240000).

    Why
        Each refresh asks for all topics of the client; thousands of clients that refresh every second keep brokers busy with that
        alone. Very old metadata means that new partitions and moved leaders are found by errors only; franz-go takes no more than an
        hour.

    Example
        ``metadata.max.age.ms=1000``

    Use instead
        ``metadata.max.age.ms=300000``, the default; 180000 behind Azure.

    Source
        Apache Kafka, metadata.max.age.ms: https://kafka.apache.org/documentation/#consumerconfigs_metadata.max.age.ms
        Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    age = push.number("metadata.max.age.ms")
    least, most = metadata_age_unfit.limit(push, "minimum_ms"), metadata_age_unfit.limit(push, "maximum_ms")
    return judged(age < least or age > most, not math.isnan(age))


@rule(
    "AN302",
    severity="medium",
    risks=("stall",),
    messages=(
        "connections.max.idle.ms was not pushed.",
        "This client closes idle connections before others do.",
        "This client sends into connections that were closed: set connections.max.idle.ms below {maximum_ms} and a load balancer's limit.",
    ),
    needs=Needs.ALLOWED_KEYS,
    keys=("connections.max.idle.ms",),
    limits={"maximum_ms": 600000},
)
def idle_connections_kept(push: Push) -> Judgement:
    """AN302: a client keeps connections that others have closed.

    What
        ``connections.max.idle.ms`` is not below the 600000 after which brokers close idle connections (Azure's load balancer: 240000),
        or says never. For information where it is the library's default: librdkafka never closes them.

    Why
        Who closes last sends into a connection that is gone. A broker says so; a load balancer drops it silently, and the request
        waits for its timeout.

    Example
        ``connections.max.idle.ms=900000``

    Use instead
        ``connections.max.idle.ms=540000``, the default; 180000 behind Azure's load balancer.

    Source
        Apache Kafka, connections.max.idle.ms: https://kafka.apache.org/documentation/#consumerconfigs_connections.max.idle.ms
        Azure Event Hubs, recommended configurations: https://learn.microsoft.com/azure/event-hubs/apache-kafka-configurations
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # Never is 0 in librdkafka, and negative in Java.
    idle = push.number("connections.max.idle.ms")
    never = idle < 0 or (idle == 0 and push.software.is_of("librdkafka"))
    kept = never or idle >= idle_connections_kept.limit(push, "maximum_ms")
    return judged(kept, not math.isnan(idle), INFO if push.is_default("connections.max.idle.ms") else MEDIUM)


@rule(
    "AN303",
    severity="medium",
    risks=("cost",),
    messages=(
        "reconnect.backoff.ms and reconnect.backoff.max.ms are needed, and were not both pushed.",
        "Reconnecting slows down.",
        "This client reconnects at a steady, fast rate: set reconnect.backoff.max.ms={minimum_ms} or more.",
    ),
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "reconnect.backoff.ms",
        "reconnect.backoff.max.ms",
    ),
    limits={"minimum_ms": 1000},
)
def reconnect_backoff_flat(push: Push) -> Judgement:
    """AN303: a client reconnects at a steady, fast rate.

    What
        ``reconnect.backoff.ms`` is below 1000 and doesn't grow: ``reconnect.backoff.max.ms`` is the same or less, or, in Java, was left
        out.

    Why
        While a broker is down all its clients knock at that rate; when it comes back, all at once. Java turns growth off when only the
        first of the two is set.

    Example
        ``reconnect.backoff.ms=50 with reconnect.backoff.max.ms=50``

    Use instead
        ``reconnect.backoff.max.ms=10000`` beside it.

    Source
        Apache Kafka, CommonClientConfigs.postProcessReconnectBackoffConfigs:
        https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/CommonClientConfigs.java
        KIP-144: https://cwiki.apache.org/confluence/display/KAFKA/KIP-144%3A+Exponential+backoff+for+broker+reconnect+attempts
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # What Java makes of a first value alone, it makes before it pushes; in a file it is seen here.
    first, most = push.number("reconnect.backoff.ms"), push.number("reconnect.backoff.max.ms")
    alone = push.software.is_of("java") and push.is_set("reconnect.backoff.ms") and push.is_default("reconnect.backoff.max.ms")
    flat = first >= most or (alone and push.complete)
    return judged(flat and first < reconnect_backoff_flat.limit(push, "minimum_ms"), not math.isnan(first) and not math.isnan(most))


@rule(
    "AN304",
    severity="medium",
    risks=("cost",),
    messages=(
        "retry.backoff.ms was not pushed.",
        "Retries give a broker time.",
        "Retries come too fast, or never slow down: set retry.backoff.ms={minimum_ms} or more, and retry.backoff.max.ms above it.",
    ),
    instead=((lacks("retry.backoff.max.ms"), "Retries come too fast: set retry.backoff.ms={minimum_ms} or more."),),
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "retry.backoff.ms",
        "retry.backoff.max.ms",
    ),
    limits={"minimum_ms": 100},
)
def retry_backoff_unfit(push: Push) -> Judgement:
    """AN304: retries come too fast, or never slow down.

    What
        ``retry.backoff.ms`` is below 100 (medium), or above ``retry.backoff.max.ms`` (low).

    Why
        Fast retries multiply the load of a broker that is in trouble. Above the maximum, Java waits the maximum each time, with a
        warning: the backoff doesn't grow.

    Example
        ``retry.backoff.ms=10``

    Use instead
        ``retry.backoff.ms=100``, the default, or more (on MSK 200), and ``retry.backoff.max.ms=1000`` where the library has it.

    Source
        Apache Kafka, CommonClientConfigs.warnDisablingExponentialBackoff:
        https://github.com/apache/kafka/blob/trunk/clients/src/main/java/org/apache/kafka/clients/CommonClientConfigs.java
        KIP-580: https://cwiki.apache.org/confluence/display/KAFKA/KIP-580%3A+Exponential+Backoff+for+Kafka+Clients
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
    """
    # A library without a maximum, or one that wasn't pushed, leaves the first half.
    first, most = push.number("retry.backoff.ms"), push.number("retry.backoff.max.ms")
    fast = first < retry_backoff_unfit.limit(push, "minimum_ms")
    return judged(fast or first > most, not math.isnan(first), MEDIUM if fast else LOW)


@rule(
    "AN305",
    severity="info",
    risks=("cost",),
    messages=(
        "Neither send.buffer.bytes nor receive.buffer.bytes was pushed.",
        "Socket buffers weren't fixed at a small size.",
        "Small socket buffers limit throughput over distance: set send.buffer.bytes and receive.buffer.bytes to {minimum_bytes}, or -1.",
    ),
    instead=(
        (
            is_library("librdkafka"),
            "Small socket buffers limit throughput over distance: set socket.send.buffer.bytes and socket.receive.buffer.bytes to "
            "{minimum_bytes}, or to 0 for the operating system's.",
        ),
    ),
    needs=Needs.ALLOWED_KEYS,
    keys=(
        "send.buffer.bytes",
        "receive.buffer.bytes",
    ),
    limits={"minimum_bytes": 65536},
)
def socket_buffer_small(push: Push) -> Judgement:
    """AN305: a fixed, small socket buffer.

    What
        ``send.buffer.bytes`` or ``receive.buffer.bytes`` was set below 64 KiB. -1 (librdkafka: 0) leaves it to the operating system,
        and passes.

    Why
        A connection moves at most one buffer in a round trip: 32 KiB at 50 ms are 640 kB/s. What the operating system would grow by
        itself, a fixed size forbids.

    Example
        ``receive.buffer.bytes=16384``

    Use instead
        ``send.buffer.bytes=-1`` and ``receive.buffer.bytes=-1``; librdkafka: ``socket.send.buffer.bytes=0`` and
        ``socket.receive.buffer.bytes=0``.

    Source
        Apache Kafka, receive.buffer.bytes: https://kafka.apache.org/documentation/#consumerconfigs_receive.buffer.bytes
        AWS, MSK best practices for Kafka clients: https://docs.aws.amazon.com/msk/latest/developerguide/bestpractices-kafka-client.html
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # Java's own defaults are small too; only what was set counts.
    least = socket_buffer_small.limit(push, "minimum_bytes")
    fired = any(push.is_set(key) and 0 < push.number(key) < least for key in socket_buffer_small.keys)
    return judged(fired, any(not math.isnan(push.number(key)) or push.is_absent(key) for key in socket_buffer_small.keys))


@rule(
    "AN312",
    severity="high",
    risks=("secret",),
    messages=(
        "The settings about certificates were not pushed, or not shown.",
        "This client checks the broker's certificate.",
        "This client talks to whoever shows any certificate, and sends its credentials there: leave the checks of TLS on.",
    ),
    needs=Needs.ALLOWED_KEYS,
    keys=("ssl.endpoint.identification.algorithm",),
    since="0.2",
)
def certificate_unchecked(push: Push) -> Judgement:
    """AN312: a client doesn't check the broker's certificate.

    What
        ``ssl.endpoint.identification.algorithm`` is empty (librdkafka: none), ``enable.ssl.certificate.verification=false``,
        kafka-python's ``ssl_check_hostname=False``, or Sarama's ``InsecureSkipVerify`` is true, and ``security.protocol`` isn't
        one without TLS. A push doesn't show these, so the rule is about files.

    Why
        Whoever can answer for the broker's address gets what the client sends, its password among it: without a look at the name, any
        certificate of a known authority will do; without verification, any at all.

    Example
        ``ssl.endpoint.identification.algorithm=``

    Use instead
        The default; certificates with the names that clients connect to, and ``ssl.truststore.location`` (librdkafka:
        ``ssl.ca.location``) with the authority of the cluster.

    Source
        Apache Kafka, ssl.endpoint.identification.algorithm:
        https://kafka.apache.org/documentation/#producerconfigs_ssl.endpoint.identification.algorithm
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
        kafka-python, KafkaClient: https://kafka-python.readthedocs.io/en/master/apidoc/KafkaClient.html
    """
    name = push.text("ssl.endpoint.identification.algorithm")
    off = [SettingOf(each.key, each.value, "set") for each in push.settings if _OFF.fullmatch(f"{each.key}={(each.value or '').strip()}")]
    if name is not None and name.strip().lower() in ("", "none"):
        off += push.evidence(certificate_unchecked.keys)
    plain = (push.text("security.protocol") or "").upper() in ("PLAINTEXT", "SASL_PLAINTEXT")
    return judged(bool(off) and not plain, bool(off) or name is not None, settings=off or None)


_OFF = re.compile(r"(?:enable\.ssl\.certificate\.verification|ssl_check_hostname)=false|(?:.*\.)?insecure_?skip_?verify=true", re.I)


@rule(
    "AN313",
    severity="high",
    risks=("secret",),
    messages=(
        "security.protocol and sasl.mechanism were not pushed, or not shown.",
        "This client's credentials don't cross the network in the clear.",
        "This client's credentials cross the network in the clear: set security.protocol=SASL_SSL.",
    ),
    needs=Needs.ALLOWED_KEYS,
    keys=("security.protocol", "sasl.mechanism"),
    since="0.2",
)
def credentials_in_clear(push: Push) -> Judgement:
    """AN313: credentials are sent without TLS.

    What
        ``security.protocol`` is SASL_PLAINTEXT, with ``sasl.mechanism`` PLAIN or OAUTHBEARER (high), or SCRAM (medium). A push doesn't
        show these, so the rule is about files.

    Why
        PLAIN sends the password itself and OAUTHBEARER the token: whoever sees the packets can use them. SCRAM sends what a password can
        be guessed by, and the records behind it are in the clear.

    Example
        ``security.protocol=SASL_PLAINTEXT with sasl.mechanism=PLAIN``

    Use instead
        ``security.protocol=SASL_SSL``, at a listener with TLS.

    Source
        Apache Kafka, Authentication using SASL/PLAIN: https://kafka.apache.org/documentation/#security_sasl_plain
        Apache Kafka, Security Considerations for SASL/SCRAM: https://kafka.apache.org/documentation/#security_sasl_scram_security
    """
    protocol, mechanism = push.text("security.protocol"), push.text("sasl.mechanism")
    fired = (protocol or "").upper() == "SASL_PLAINTEXT" and (mechanism or "").upper().startswith(("PLAIN", "OAUTHBEARER", "SCRAM-"))
    return judged(fired, protocol is not None, MEDIUM if (mechanism or "").upper().startswith("SCRAM-") else HIGH)
