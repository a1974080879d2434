"""Rules about values that the library doesn't take."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from clientscope.catalog.config_values import parse
from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects import LIBRDKAFKA
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.placeholders import TEMPLATE
from clientscope.records.config_record import RecordedSetting
from udfs.rules.engine.push import Push, SettingOf
from udfs.rules.engine.refusals import REFUSALS, Refusal
from udfs.rules.engine.rule import (
    Judgement,
    checked_rule,
    judged,
    rule,
)
from udfs.rules.engine.vocabulary import KnownSoftware

_TYPES = {each.name.lower(): each for each in Type}
_PARSED = (Type.BOOLEAN, Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE)
_FRACTION = re.compile(r"[+-]?[0-9]{1,19}\.[0-9]{1,19}")
_SHORT = 10
"""Digits of a number that may be too large for 32 bits."""
_LONGEST = 64
"""Characters: no library writes a number or a truth value with more."""

_LONGEST_IN_FILES = 512
_FILLED_IN = re.compile(rf".*(?:{TEMPLATE}).*|(?i:null|none)")


def _with_type(push: Push) -> Iterator[tuple[RecordedSetting, str | None, int, str]]:
    """The settings with a value of a type that is parsed, as it was pushed or by its name: each with its key, that type, and the value."""
    for place, (setting, key) in enumerate(zip(push.settings, push.keys, strict=True)):
        config_type: int = _TYPES[setting.type]
        if config_type not in _PARSED:
            facts = push.facts(place) if key is None else None
            config_type = TYPES[key] if key is not None else facts.type if facts else Type.STRING
        if config_type in _PARSED and setting.value is not None and not push.has_several(setting):
            yield setting, key, config_type, setting.value


def _fits(text: str, config_type: int) -> bool:
    """As ConfigDef parses it."""
    if len(text) < _SHORT and text.isascii() and text.isdecimal() and config_type not in (Type.BOOLEAN, Type.SHORT):
        return True
    return len(text) <= _LONGEST and _parses(text, config_type)


@lru_cache(maxsize=16_384)
def _parses(text: str, config_type: int) -> bool:
    try:
        parse(text, config_type)
    except ValueError:
        return False
    return True


def _spelled(known: Dialect | None, name: str, key: str, config_type: int, text: str, written: bool) -> bool:
    """As the library writes it; of unknown software as any of them does.

    Args:
        written: in a file, which may leave a value to what fills it in.
    """
    if written and len(text) <= _LONGEST_IN_FILES and _FILLED_IN.fullmatch(text.strip()):
        return True
    if len(text) > _LONGEST:
        return False
    readers = (LIBRDKAFKA, JAVA) if known is None else (known,)
    if readers[0] is not JAVA and config_type != Type.BOOLEAN and _FRACTION.fullmatch(text.strip()):
        return True  # a floating-point number for Kafka's whole one: librdkafka's linger.ms, Python's seconds
    if config_type == Type.BOOLEAN and any(text.strip().lower() in reader.booleans for reader in readers):
        return True
    return any(_fits(reader.kafka_value(name, key, text), config_type) for reader in readers)


@rule(
    "AN311",
    severity="medium",
    risks=("drift",),
    messages=(
        "No number or truth value of this client is known.",
        "The numbers and truth values of this client are of their types.",
        "Settings of this client have values that are not of their types, and don't take effect as written: correct the values.",
    ),
)
def value_unparsable(push: Push) -> Judgement:
    """AN311: a setting whose value is not of its type.

    What
        The value of a number or a truth value is neither what Kafka's ConfigDef parses as its type nor what the client's library writes for
        it. The type is the one that was pushed; where that is a text, Kafka's type of the setting, or the library's.

    Why
        The client doesn't use the value as written: JavaScript computes with NaN, other libraries keep their default. No other
        rule can judge the setting, and tables with types can't store it.

    Example
        ``linger.ms=5ms``

    Use instead
        A whole number in the setting's own unit, ``true`` or ``false``; without a unit and without text.

    Source
        KIP-1324, "Including Configuration Data Types": https://cwiki.apache.org/confluence/display/KAFKA/KIP-1324
        Apache Kafka, ConfigDef.parseType: https://kafka.apache.org/43/javadoc/org/apache/kafka/common/config/ConfigDef.html
    """
    known, wrong = False, []
    for setting, key, config_type, value in _with_type(push):
        known = True
        if not _fits(value, config_type) and not _spelled(
            push.software.dialect, setting.key, key or setting.key, config_type, value, push.complete
        ):
            origin = "default" if setting.default else "set"
            # Under a name that isn't Kafka's there may be anything.
            wrong.append(SettingOf(setting.key, None, origin) if key is None else SettingOf(key, value, origin))
    return judged(bool(wrong), known, None, wrong)


@checked_rule(
    "CF102",
    severity="high",
    risks=("stall",),
    messages=(
        "No setting of this client is known to have a range.",
        "The numbers of this client are within their ranges.",
        "Numbers of this client are outside the range that its library takes: choose numbers within it.",
    ),
    note="allowed: {allowed}",
    evaluable=lambda push: bool(push.constrained),
)
def value_out_of_range(push: Push) -> Sequence[int]:
    """CF102: a number outside the range that the client library takes.

    What
        The number is below or above what the library takes in the client's release, in the setting's own unit.

    Why
        Java's clients and librdkafka refuse to start with it. Other libraries find out later, or use something else.

    Example
        ``acks=-2`` of librdkafka, ``retries=-1`` of Java

    Use instead
        A value that the library's documentation names for this release.

    Source
        Apache Kafka, ConfigDef: https://kafka.apache.org/43/javadoc/org/apache/kafka/common/config/ConfigDef.html
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # By the catalogue, for the client's library, release and kind.
    return push.refused_by("range")


@checked_rule(
    "CF103",
    severity="high",
    risks=("stall",),
    messages=(
        "No setting of this client is known to take some words alone.",
        "The values of this client are among those that its library takes.",
        "Values of this client are none of those that its library takes: choose one of them.",
    ),
    note="allowed: {allowed}",
    evaluable=lambda push: bool(push.constrained),
)
def value_not_allowed(push: Push) -> Sequence[int]:
    """CF103: a value that is none of those that the client library takes.

    What
        The setting takes some words, and this value is none of them; or it has to have a value, and is empty.

    Why
        Java's clients and librdkafka refuse to start with it. Other libraries find out later, or use something else.

    Example
        ``acks=2``, ``compression.type=zst``

    Use instead
        A value that the library's documentation names for this release.

    Source
        Apache Kafka, ConfigDef: https://kafka.apache.org/43/javadoc/org/apache/kafka/common/config/ConfigDef.html
        librdkafka, CONFIGURATION.md: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
    """
    # By the catalogue, for the client's library, release and kind.
    return push.refused_by("words", "any case", "list", "filled")


@rule(
    "CF111",
    severity="medium",
    risks=("stall",),
    messages=(
        "No setting of this client is known to take some words alone.",
        "The newest release of the library takes this client's values.",
        "Values of this client are refused by newer releases of its library: choose another before an upgrade.",
    ),
    since="0.2",
)
def value_outdated(push: Push) -> Judgement:
    """CF111: a value that newer releases of the client library take no longer.

    What
        The client's release takes the value, or isn't known, and the newest release doesn't.

    Why
        After an upgrade of the library the application doesn't start.

    Example
        ``processing.guarantee=exactly_once``, gone in Kafka Streams 4.0

    Use instead
        One of the values that are shown: ``exactly_once_v2``.

    Source
        Apache Kafka, notable changes in 4.0: https://kafka.apache.org/40/documentation.html#upgrade_servers_400_notable
        KIP-732: https://cwiki.apache.org/confluence/display/KAFKA/KIP-732%3A+Deprecate+eos-alpha+and+replace+eos-beta+with+eos-v2
    """
    outdated = list(push.outdated())
    return judged(bool(outdated), bool(push.constrained), None, outdated)


_SETTLED = "enable.idempotence"
"""What others of the settings change."""

_DIALECTS = frozenset(dialect for refusal in REFUSALS for dialect in refusal.dialects)


@lru_cache(maxsize=1024)
def _checks(software: KnownSoftware, candidates: frozenset[ClientType]) -> list[Refusal]:
    """What such a client checks."""
    return [each for each in REFUSALS if each.is_made_by(software, candidates)]


def _contradicting(push: Push, refusal: Refusal) -> Sequence[SettingOf]:
    """The settings of a combination that is refused, the first of them with the condition to start."""
    # As the user asked for it, not as other settings made it.
    first, *others = (
        each._replace(value=push.text(_SETTLED, settled=False)) if each.key == _SETTLED and each.origin == "set" else each
        for each in push.evidence(refusal.keys)
    )
    return [first._replace(note=refusal.because), *others]


@rule(
    "CF104",
    severity="high",
    risks=("stall",),
    messages=(
        "The kind of client, or what its library checks, isn't known.",
        "The client's library takes its settings beside each other.",
        "Settings of this client contradict each other, and its library refuses to start with them: change one of them.",
    ),
)
def combination_refused(push: Push) -> Judgement:
    """CF104: settings that contradict each other, so that the client doesn't start.

    What
        The client library checks settings against each other at the start, and refuses this combination: an idempotent producer with
        ``acks=1``, say. The checks are each library's own, by release (``udfs/rules/engine/refusals.py``).

    Why
        The application ends with an error as soon as it makes its client.

    Example
        ``enable.idempotence=true`` and ``acks=1``

    Use instead
        One of the two settings, by what is meant.

    Source
        Apache Kafka, producer configuration: https://kafka.apache.org/documentation/#producerconfigs_enable.idempotence
        librdkafka, rd_kafka_conf_finalize: https://github.com/confluentinc/librdkafka/blob/master/src/rdkafka_conf.c
    """
    # Each library's own checks; of which a client that was seen has passed all, with whatever it has.
    known = push.software.is_of(*_DIALECTS) and push.client_type is not None and not push.was_seen
    refusal = next((each for each in _checks(push.software, push.candidates) if each.holds(push)), None) if known else None
    return judged(refusal is not None, known, None, _contradicting(push, refusal) if refusal else None)
