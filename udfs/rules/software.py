"""Rules about what a client is: its client.id, its software, and the brokers that it is made for."""

from __future__ import annotations

import re

from clientscope.catalog.configs import ClientType
from clientscope.catalog.settings import numbers
from clientscope.readiness.served import known_releases, served
from udfs.rules.engine.push import Push, SettingOf
from udfs.rules.engine.rule import HIGH, MEDIUM, Judgement, Needs, judged, rule
from udfs.rules.engine.vocabulary import UNKNOWN, KnownSoftware

_MADE_UP = re.compile(
    r"|rdkafka|kgo|sarama|kafkajs|(?:producer|consumer|adminclient)-\d+|consumer-null-\d+"
    r"|kafka-python-(?:[\d.]+|producer-\d+|consumer-\d+|admin-\d+)|aiokafka-(?:[\d.]+|producer-\d+|consumer-\d+)",
    re.ASCII,
)


@rule(
    "AN306",
    severity="medium",
    risks=("cost",),
    messages=(
        "What client.id is isn't known.",
        "This client says which application it is.",
        "This client can't be distinguished from others: set client.id to the application's name.",
    ),
    keys=("client.id",),
)
def client_id_anonymous(push: Push) -> Judgement:
    """AN306: a client that can't be distinguished from others.

    What
        ``client.id`` is empty, or what the library makes up: rdkafka, kgo, sarama, kafkajs, producer-1, kafka-python-3.0.12. That many
        principals or addresses share one is judged across the fleet, once its state is there. Kafka Streams names its clients by
        ``application.id``.

    Why
        Logs, metrics and this very page can't say which application it is, and brokers' quotas by client.id are shared with strangers.

    Example
        ``client.id=rdkafka``

    Use instead
        ``client.id`` with the application's name, and the instance's behind it.

    Source
        Apache Kafka, client.id: https://kafka.apache.org/documentation/#consumerconfigs_client.id
        KAFKA-14098: https://issues.apache.org/jira/browse/KAFKA-14098
        KIP-190: https://cwiki.apache.org/confluence/display/KAFKA/KIP-190%3A+Handle+client-ids+consistently+between+clients+and+brokers
    """
    # By the setting, or else by the request header; a name that a library makes up is recognised by its shape.
    pushed = push.text("client.id")
    if pushed is None:
        made_up = not push.is_set("client.id") and _MADE_UP.fullmatch(push.record.client_id or "") is not None
    else:
        made_up = push.is_default("client.id") or _MADE_UP.fullmatch(pushed) is not None
    return judged(made_up and not push.text("application.id"), True)


_FIXED_IN = {(3, 9): 2, (4, 0): 2, (4, 1): 2}
"""Release → the patch that has KAFKA-19012's fix; later releases have it from the start."""

_MOVE = "move to a newest patch (3.9.2, 4.0.2, 4.1.2, 4.2.0 or later)."


def _java(it: KnownSoftware) -> bool:
    return it.is_of("java") and bool(it.release)


def _confluents(it: KnownSoftware) -> bool:
    return it.version.endswith(("-ccs", "-ce"))


def _in_range(it: KnownSoftware) -> bool:
    patch = it.release[2] if len(it.release) > 2 else 0
    return (
        _java(it)
        and len(it.release) > 1
        and (2, 8) <= it.release < (4, 2)
        and patch < _FIXED_IN.get((it.release[0], it.release[1]), patch + 1)
    )


def _misdirects(it: KnownSoftware) -> bool:
    return _in_range(it) and not _confluents(it)


def _maybe_fixed(it: KnownSoftware) -> bool:
    return _in_range(it) and _confluents(it)


def _idempotence_not_applied(it: KnownSoftware) -> bool:
    return _java(it) and it.release[:3] in {(3, 0, 0), (3, 1, 0)}


def _unsupported(it: KnownSoftware) -> bool:
    return _java(it) and it.release < (2, 1)


def _refused(it: KnownSoftware) -> bool:
    # A release here is at least 2.0.0.
    return _java(it) and it.dialect is not None and it.dialect.numbers_of(it.version) < (0, 11)


@rule(
    "AN307",
    severity="high",
    risks=("loss", "duplicates"),
    messages=(
        "The client's software, its release, or whether it is a producer isn't known.",
        "No bug of this version is listed here.",
        "This version of the client library has a bug that loses guarantees or records, or is too old for brokers of 4.0 and later: "
        "move to a newest patch (3.9.2, 4.0.2, 4.1.2, 4.2.0 or later).",
    ),
    instead=(
        (_unsupported, f"This version of the client library is too old for brokers of 4.0 and later: {_MOVE}"),
        (_java, f"This version of the client library has a bug that loses guarantees or records: {_MOVE}"),
    ),
    keys=("enable.idempotence",),
)
def software_known_bad(push: Push) -> Judgement:
    """AN307: a version of a client library with a known bug, or too old for today's brokers.

    What
        A Java producer of 2.8.0 to 3.9.1, 4.0.0, 4.0.1, 4.1.0 or 4.1.1 (KAFKA-19012); of 3.0.0 or 3.1.0, unless ``enable.idempotence``
        was set (KAFKA-13598); or any Java client before 2.1, which Kafka doesn't support with brokers of 4.0 and later (KIP-896). Builds of
        Confluent's may have the first fix in versions of their own, so they aren't judged by it.

    Why
        KAFKA-19012 (CVE-2026-35554, CVSS 8.7): a batch expires, or its broker leaves, while it is being sent; its buffer is used again,
        and records arrive in a wrong topic, or damaged, without an error. That is rare, and nearly every release of five years has it:
        medium. KAFKA-13598: idempotence is said to be on by default, and is off: high. Brokers of 4.0 and later refuse requests of Java
        clients before 0.11: high. Those of 0.11 to 2.0 were seen to produce and consume there (docs/readiness.md); their admin clients
        weren't tried, and Kafka doesn't support them: medium.

    Example
        ``apache-kafka-java 3.1.0``

    Use instead
        The newest patch: 3.9.2, 4.0.2, 4.1.2, 4.2.0 or later; 2.8 to 3.8 have none of their own. A short ``delivery.timeout.ms`` makes
        KAFKA-19012 likelier.

    Source
        KAFKA-19012, and since which release: https://github.com/apache/kafka/pull/21065
        CVE-2026-35554, releases 2.8.0 to 3.9.1, 4.0.0 to 4.0.1, 4.1.0 to 4.1.1: https://github.com/advisories/GHSA-5qcv-4rpc-jp93
        Apache Kafka, list of CVEs: https://kafka.apache.org/community/cve-list
        KAFKA-13598: https://issues.apache.org/jira/browse/KAFKA-13598
        KIP-896: https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0
    """
    # By the software's name and version, and whether the client produces.
    it = push.software
    misdirects = _misdirects(it)
    # Where acks turns idempotence off by itself, it makes no difference that it is off.
    not_applied = _idempotence_not_applied(it) and push.text("acks") not in ("0", "1")
    produces = push.may_be(ClientType.PRODUCER) or push.may_be(ClientType.STREAMS)
    surely = produces and (push.client_type is not None or push.shared)
    always = _refused(it) or (surely and not_applied and not push.is_set("enable.idempotence"))
    fired = always or _unsupported(it) or (surely and misdirects)
    known = it.dialect is not None and (it.dialect.name != "java" or bool(it.release))
    undecided = produces and ((not surely and (misdirects or not_applied)) or _maybe_fixed(it))
    return judged(fired, fired or (known and not undecided), HIGH if always else MEDIUM)


@rule(
    "AN308",
    severity="info",
    risks=("stall",),
    messages=(
        "What software it is isn't known.",
        "This client says what software it is.",
        "This client doesn't say what software it is: move to a release of its library that sends ApiVersions version 3.",
    ),
)
def software_unknown(push: Push) -> Judgement:
    """AN308: a client that doesn't say what it is.

    What
        The client names no software: it asks ApiVersions in a version below 3, or not at all, as Sarama before 1.30 and KafkaJS do.

    Why
        Before an upgrade of brokers it is unknown whether this client will still be served, and its defaults aren't known, so that
        hardly a rule can judge it.

    Example
        ``software name unknown``

    Use instead
        A release of the library that speaks ApiVersions 3 (KIP-511), and lets it.

    Source
        KIP-511: https://cwiki.apache.org/confluence/display/KAFKA/KIP-511%3A+Collect+and+Expose+Client%27s+Name+and+Version+in+the+Brokers
    """
    # By the name alone.
    return judged(push.software.name in ("", UNKNOWN), True)


_PINS = {"librdkafka": "broker.version.fallback", "kafka-python": "api_version", "aiokafka": "api_version", "sarama": "Version"}
"""Library → its setting of the release of brokers for which it sends requests."""
_PRODUCE, _PRODUCE_OF = 0, ((0, 8), (0, 9), (0, 10), (0, 11))
"""Produce's key, and the releases of brokers that brought its versions 0 to 3."""
_BASELINE = (2, 1)
"""The oldest release of brokers whose requests Kafka's developers test with those of 4.0 and later."""


@rule(
    "AN314",
    severity="high",
    risks=("stall",),
    messages=(
        "The release of brokers that this client is made for was not pushed.",
        "This client isn't held to requests of brokers that are gone.",
        "This client is held to requests that brokers of 4.0 and later don't serve: take the old release of brokers out of its settings.",
    ),
    needs=Needs.ALLOWED_KEYS,
    dialects=frozenset({"librdkafka", "kafka-python", "aiokafka", "sarama"}),
    since="0.2",
)
def version_pinned(push: Push) -> Judgement:
    """AN314: a client is held to requests of an old release of brokers.

    What
        kafka-python's and aiokafka's ``api_version``, Sarama's ``Version`` (also that of Telegraf and Beats), or librdkafka's
        ``broker.version.fallback`` with ``api.version.request=false`` names a release before 0.11 (high), or before 2.1 (medium).

    Why
        The client sends the requests of that release and asks for no others. Kafka 4.0 removed those that are older than 2.1 (KIP-896):
        it closes the connection. Those of 0.11 to 2.0 mostly work, and nobody promises it.

    Example
        ``api_version=0.10.1``

    Use instead
        No such setting, so that the library asks the broker (kafka-python, aiokafka, librdkafka); Sarama: ``Version`` 2.1.0 or later.

    Source
        KIP-896: https://cwiki.apache.org/confluence/display/KAFKA/KIP-896%3A+Remove+old+client+protocol+API+versions+in+Kafka+4.0
        Sarama with Kafka 4: https://github.com/IBM/sarama/discussions/2617
        librdkafka, broker version compatibility:
        https://github.com/confluentinc/librdkafka/blob/master/INTRODUCTION.md#broker-version-compatibility
    """
    said = {each.key: each.value for each in push.settings if each.value is not None}
    key = _PINS.get(push.software.dialect.name, "") if push.software.dialect else ""
    pinned = numbers(said.get(key, "").strip("([ ").replace(", ", ".").replace(",", "."))
    asks = key == "broker.version.fallback" and said.get("api.version.request", "true").strip().lower() not in ("false", "f", "0")
    oldest = served(known_releases()[-1])[_PRODUCE][0]
    severity = HIGH if pinned < _PRODUCE_OF[min(oldest, len(_PRODUCE_OF) - 1)] else MEDIUM
    fired = bool(pinned) and pinned < _BASELINE and not asks
    return judged(fired, bool(pinned) or push.complete, severity, [SettingOf(key, said.get(key), "set")])
