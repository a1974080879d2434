"""Rules about values that the library doesn't take."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clientscope.catalog.config_values import parse
from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.dialects import DIALECTS, LIBRDKAFKA
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.placeholders import TEMPLATE
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.parsing import several_values, were_seen
from udfs.rules.engine.refusals import REFUSALS, Refusal
from udfs.rules.engine.rule import (
    Evidence,
    Judgement,
    Mask,
    Positions,
    SettingOf,
    checked_rule,
    distinct_evidence,
    judged,
    rule,
)

_PARSED = (Type.BOOLEAN, Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE)
_KEY_TYPES = np.array([TYPES[key] for key in v.KEYS] + [Type.STRING], np.int8)  # the last is for -1
_FRACTION = re.compile(r"[+-]?[0-9]{1,19}\.[0-9]{1,19}")
_LONGEST = 64
"""Characters: no library writes a number or a truth value with more."""

_LONGEST_IN_FILES = 512
_FILLED_IN = re.compile(rf".*(?:{TEMPLATE}).*|(?i:null|none)")


def _value_unparsable_evidence(batch: Batch, rows: Positions) -> Evidence:
    """Those settings; values only of Kafka's own, since another key's may be anything."""
    _, wrong = _looked_at(batch)
    pushes = batch.pushes
    chosen = wrong[np.isin(pushes.parents[wrong], rows)]
    columns = [pushes.settings[name].take(pa.array(chosen)).to_pylist() for name in ("config_key", "config_value", "is_default")]
    settings = (
        SettingOf(raw if key_id < 0 else v.KEYS[key_id], None if key_id < 0 else value, "default" if is_default else "set")
        for key_id, raw, value, is_default in zip(batch.key_ids[chosen].tolist(), *columns, strict=True)
    )
    return distinct_evidence(rows, pushes.parents[chosen], settings)


def _looked_at(batch: Batch) -> tuple[Positions, Positions]:
    """Positions of settings that have a value and a type to be parsed as, and of those that don't parse."""
    settings = batch.pushes.settings
    pushed = settings["config_type"].to_numpy(zero_copy_only=False)
    by_name = np.where(batch.key_ids < 0, batch.checked.types, _KEY_TYPES[batch.key_ids])
    types = np.where(np.isin(pushed, _PARSED), pushed, by_name)
    given = settings["config_value"].is_valid().to_numpy(zero_copy_only=False) & ~several_values(batch.pushes)
    known = np.flatnonzero(np.isin(types, _PARSED) & given)
    if not known.size:
        return known, known
    values = settings["config_value"].take(pa.array(known)).dictionary_encode()
    codes = values.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    texts = values.dictionary.to_pylist()
    pairs = types[known].astype(np.int64) * len(texts) + codes
    fits = np.zeros(len(Type) * len(texts), np.bool_)
    fits[pairs] = True
    used = np.flatnonzero(fits)
    fits[used] = [_fits(texts[pair % len(texts)], pair // len(texts)) for pair in used.tolist()]
    doubtful = np.flatnonzero(~fits[pairs])
    if not doubtful.size:
        return known, known[:0]
    at = known[doubtful]
    who = np.stack(
        [batch.software.dialects[batch.pushes.parents[at]], batch.names.codes[at], batch.key_ids[at], types[at], codes[doubtful]]
    )
    distinct, which = np.unique(who, axis=1, return_inverse=True)
    wrong = [
        not _spelled(dialect, batch.names.raw[name], key_id, config_type, texts[code], batch.complete)
        for dialect, name, key_id, config_type, code in distinct.T.tolist()
    ]
    return known, at[np.array(wrong, np.bool_)[which.ravel()]]


def _fits(text: str, config_type: int) -> bool:
    """As ConfigDef parses it."""
    return len(text) <= _LONGEST and _parses(text, config_type)


@lru_cache(maxsize=16_384)
def _parses(text: str, config_type: int) -> bool:
    try:
        parse(text, config_type)
    except ValueError:
        return False
    return True


def _spelled(dialect: int, name: str, key_id: int, config_type: int, text: str, written: bool) -> bool:
    """As the library writes it; of unknown software as any of them does.

    Args:
        written: in a file, which may leave a value to what fills it in.
    """
    if written and len(text) <= _LONGEST_IN_FILES and _FILLED_IN.fullmatch(text.strip()):
        return True
    if len(text) > _LONGEST:
        return False
    readers = (LIBRDKAFKA, JAVA) if dialect >= len(DIALECTS) else (DIALECTS[dialect],)
    key = v.KEYS[key_id] if key_id >= 0 else name
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
    evidence=_value_unparsable_evidence,
)
def value_unparsable(batch: Batch) -> Judgement:
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
    # Each distinct (library, name, type, value) is parsed once.
    known, wrong = _looked_at(batch)
    fired, evaluable = np.zeros(len(batch), np.bool_), np.zeros(len(batch), np.bool_)
    fired[batch.pushes.parents[wrong]] = True
    evaluable[batch.pushes.parents[known]] = True
    return judged(fired, evaluable)


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
    evaluable=lambda batch: batch.checked.has_constrained,
)
def value_out_of_range(batch: Batch) -> Positions:
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
    return batch.checked.refused_by("range")


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
    evaluable=lambda batch: batch.checked.has_constrained,
)
def value_not_allowed(batch: Batch) -> Positions:
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
    return batch.checked.refused_by("words", "any case", "list", "filled")


_KEYS = frozenset(key for refusal in REFUSALS for key in refusal.keys)
_SETTLED = "enable.idempotence"
"""What others of the settings change."""

_DIALECTS = frozenset(dialect for refusal in REFUSALS for dialect in refusal.dialects)


def _combination_refused_evidence(batch: Batch, rows: npt.NDArray[np.int64]) -> Evidence:
    """The settings of the first check that fails, as they were set."""
    asked = batch.text(_SETTLED, settled=False).strings()
    settings: dict[int, tuple[SettingOf, ...]] = {}
    for refusal, where in _combination_refused_found(batch):
        at = rows[where[rows]]
        shown = batch.evidence(refusal.keys, at)
        for row, which in zip(at.tolist(), shown.indices.tolist(), strict=True):
            first, *others = (
                each._replace(value=asked[row].as_py()) if each.key == _SETTLED and each.origin == "set" else each
                for each in shown.distinct[which]
            )
            settings.setdefault(row, (first._replace(note=refusal.because), *others))
    distinct: dict[tuple[SettingOf, ...], int] = {}
    indices = [distinct.setdefault(settings.get(row, ()), len(distinct)) for row in rows.tolist()]
    return Evidence(np.array(indices, np.int64), list(distinct))


def _combination_refused_found(batch: Batch) -> list[tuple[Refusal, Mask]]:
    made = []
    asked = {key for key in _KEYS if batch.is_set(key).any()}
    for refusal in REFUSALS:
        if asked.isdisjoint(refusal.keys):
            continue  # nothing that the user didn't set is refused
        applies = refusal.applies(batch)
        if applies.any():
            # A client of unknown kind may be this one: its settings say so, since others don't have them.
            where = applies & batch.may_be(refusal.client_type) & refusal.holds(batch)
            if where.any():
                made.append((refusal, where))
    return made


@rule(
    "CF104",
    severity="high",
    risks=("stall",),
    messages=(
        "The kind of client, or what its library checks, isn't known.",
        "The client's library takes its settings beside each other.",
        "Settings of this client contradict each other, and its library refuses to start with them: change one of them.",
    ),
    evidence=_combination_refused_evidence,
)
def combination_refused(batch: Batch) -> Judgement:
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
    # Each library's own checks.
    fired = np.zeros(len(batch), np.bool_)
    for _, where in _combination_refused_found(batch):
        fired |= where
    known = batch.software.where(lambda it: it.dialect is not None and it.dialect.name in _DIALECTS) & (batch.client_types >= 0)
    started = were_seen(batch.pushes)  # with whatever was seen of it
    return judged(fired & ~started, known & ~started)
