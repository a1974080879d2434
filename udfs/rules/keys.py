"""Rules about keys that the library doesn't know, or knows otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clientscope.catalog.setting_names import NameState, is_plugins
from udfs.rules.engine.push import Push
from udfs.rules.engine.rule import (
    HIGH,
    INFO,
    MEDIUM,
    Judgement,
    checked_rule,
    judged,
    rule,
)

_REFUSING = ("librdkafka", "kafka-python", "aiokafka")
"""Libraries that don't start with a setting that they don't know."""


def _unknown(push: Push) -> Iterator[tuple[int, int]]:
    """The settings whose name nobody knows, each with how bad that is: in a file all but plug-ins', else those near to a known one."""
    refusing = push.software.is_of(*_REFUSING)
    for place in push.named(NameState.UNKNOWN):
        judgement = push.judgements[place]
        near = judgement is not None and bool(judgement.instead)
        # Applications share a file with a serializer's settings, and take them out before they make the client.
        if near or (push.complete and not is_plugins(push.settings[place].key)):
            yield place, HIGH if refusing else MEDIUM if near else INFO


@rule(
    "CF101",
    severity="high",
    risks=(
        "drift",
        "stall",
    ),
    messages=(
        "The client library isn't known, or too many unknown settings came at once.",
        "The library knows every setting of this client.",
        "Settings of this client are unknown to its library, which ignores them or refuses to start: correct their names.",
    ),
)
def key_unknown(push: Push) -> Judgement:
    """CF101: a setting that the client library doesn't know.

    What
        No release of the client's library has a setting of this name, under a prefix either, and no other library has it. Where the
        name is a few letters away from one of the library's settings, that one is shown. An unknown name that is near to
        none is only for information, and only in files, unless the library refuses it. Names of plug-ins' settings (a serializer's
        ``schema.registry.url``, ``use.latest.version``) aren't unknown, unless one letter makes them the library's.

    Why
        Java's clients and KafkaJS ignore it, so the setting that was meant keeps its default. librdkafka, kafka-python and aiokafka
        refuse to start.

    Example
        ``linger.msec=5``

    Use instead
        The name as the library's documentation has it. A plug-in's setting is best written with the plug-in's own prefix.

    Source
        Apache Kafka, configuration: https://kafka.apache.org/documentation/#configuration
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # A name that is near to a known one, or that the library refuses; any other in a file, for information.
    found = dict(_unknown(push))
    # A push that isn't searched to its end isn't clean: thousands of unknown names in one batch are no client's mistake.
    known = push.software_known and (push.searched or push.complete)
    return judged(bool(found), known, max(found.values(), default=None), push.noted(found, "did you mean {instead}?"))


@checked_rule(
    "CF105",
    severity="low",
    risks=("drift",),
    messages=(
        "Which release of the library it is isn't known.",
        "No setting of this client is deprecated in its release.",
        "Settings of this client are deprecated: take them out, or move to what replaces them, before an upgrade.",
    ),
    note="use {instead}",
    evaluable=lambda push: bool(push.software.release),
)
def key_deprecated(push: Push) -> Sequence[int]:
    """CF105: a setting that the client library will remove.

    What
        The library's release says of the setting that it is deprecated.

    Why
        A later release ignores it, or refuses to start.

    Example
        ``auto.include.jmx.reporter=true`` in Java 3.9

    Use instead
        What the library's documentation names instead; often nothing.

    Source
        Apache Kafka, configuration: https://kafka.apache.org/documentation/#configuration
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # By the catalogue, for the client's library, release and kind.
    return push.named(NameState.DEPRECATED)


@checked_rule(
    "CF106",
    severity="medium",
    risks=("drift",),
    messages=(
        "Which release of the library it is isn't known.",
        "The client's release has all of its settings.",
        "Settings of this client are gone from its library: take them out, or move to what replaces them.",
    ),
    note="gone since {since}",
    evaluable=lambda push: bool(push.software.release),
)
def key_removed(push: Push) -> Sequence[int]:
    """CF106: a setting that the client library had once.

    What
        An earlier release of the library had the setting, and the client's has it no longer.

    Why
        It has no effect any more; librdkafka, kafka-python and aiokafka refuse to start.

    Example
        ``auto.include.jmx.reporter=true`` in Java 4.0

    Use instead
        What the library's documentation names instead; often nothing.

    Source
        Apache Kafka, configuration: https://kafka.apache.org/documentation/#configuration
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # By the catalogue, for the client's library, release and kind.
    return push.named(NameState.REMOVED)


@checked_rule(
    "CF107",
    severity="medium",
    risks=("drift",),
    messages=(
        "Which release of the library it is isn't known.",
        "The client's release has all of its settings.",
        "Settings of this client are of a later release of its library, and have no effect: upgrade, or take them out.",
    ),
    note="since {since}",
    evaluable=lambda push: bool(push.software.release),
)
def key_not_yet(push: Push) -> Sequence[int]:
    """CF107: a setting that a later release of the client library brings.

    What
        A later release of the library has the setting, and the client's hasn't.

    Why
        It has no effect; librdkafka, kafka-python and aiokafka refuse to start.

    Example
        ``compression.gzip.level=9`` in Java 3.7

    Use instead
        A release that has it, or no such setting.

    Source
        Apache Kafka, configuration: https://kafka.apache.org/documentation/#configuration
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # By the catalogue, for the client's library, release and kind.
    return push.named(NameState.NOT_YET)


@checked_rule(
    "CF108",
    severity="medium",
    risks=("drift",),
    messages=(
        "The client library isn't known, and so neither are its names of settings.",
        "Every setting of this client is there once.",
        "A setting of this client is there under two names, of which one has no effect: keep one of them.",
    ),
)
def key_set_twice(push: Push) -> Sequence[int]:
    """CF108: one setting under two names.

    What
        The library has two names for the setting, and the client has both.

    Why
        One of the two values has no effect, and which one depends on the order or on the release.

    Example
        ``queue.buffering.max.ms=5`` and ``linger.ms=100`` in librdkafka

    Use instead
        One of the names, and the value that is meant.

    Source
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # By Kafka's name of each.
    return push.twice


@checked_rule(
    "CF109",
    severity="medium",
    risks=(
        "drift",
        "stall",
    ),
    messages=(
        "The client library isn't known, and so neither are its names of settings.",
        "Every setting of this client has its own library's name.",
        "Settings of this client have another library's names, and have no effect: use this library's names.",
    ),
    note="did you mean {instead}?",
    severity_of=lambda push: HIGH if push.complete and push.software.is_of(*_REFUSING) else None,
)
def key_of_other_library(push: Push) -> Sequence[int]:
    """CF109: another library's name of a setting.

    What
        Another client library calls a setting so, and this one has that setting, or one in its place, under another name.

    Why
        Java's clients and KafkaJS ignore it silently; librdkafka, kafka-python and aiokafka refuse to start: of a file that is high.

    Example
        ``queue.buffering.max.ms=5`` in a Java client

    Use instead
        This library's own name, which is shown.

    Source
        Apache Kafka, configuration: https://kafka.apache.org/documentation/#configuration
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # By the catalogue, for the client's library, release and kind.
    return push.named(NameState.OF_OTHER_LIBRARY)


@checked_rule(
    "CF110",
    severity="low",
    risks=("drift",),
    messages=(
        "The kind of client, or its library, isn't known.",
        "Every setting of this client is for its kind of client.",
        "Settings of this client are for another kind of client, and have no effect: move them to that client's configuration.",
    ),
    evaluable=lambda push: push.software_known and push.client_type is not None,
)
def key_of_other_client(push: Push) -> Sequence[int]:
    """CF110: a setting of another kind of client.

    What
        The library has the setting for producers, say, and this client is a consumer.

    Why
        It has no effect, and whoever set it expects one.

    Example
        ``compression.type=zstd`` of a consumer

    Use instead
        The setting in the configuration of the client that it is for.

    Source
        Apache Kafka, configuration: https://kafka.apache.org/documentation/#configuration
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # By the catalogue, for the client's library, release and kind.
    return push.named(NameState.OF_OTHER_CLIENT)
