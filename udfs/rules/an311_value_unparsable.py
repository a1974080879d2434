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

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clientscope.catalog.config_values import parse
from clientscope.catalog.configs import TYPES, Type
from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.dialects.librdkafka import LIBRDKAFKA
from clientscope.catalog.placeholders import TEMPLATE
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.batch import Batch
from udfs.rules.engine.parsing import several_values
from udfs.rules.engine.rule import FIRED, NOT_EVALUABLE, PASSED, Case, Evidence, Judgement, Rule, SettingOf, judged

_PARSED = (Type.BOOLEAN, Type.INT, Type.SHORT, Type.LONG, Type.DOUBLE)
_KEY_TYPES = np.array([TYPES[key] for key in v.KEYS] + [Type.STRING], np.int8)  # the last is for -1
_FRACTION = re.compile(r"[+-]?[0-9]{1,19}\.[0-9]{1,19}")
_LONGEST = 64
"""Characters: no library writes a number or a truth value with more."""
_LONGEST_IN_FILES = 512
_FILLED_IN = re.compile(rf".*(?:{TEMPLATE}).*|(?i:null|none)")

Positions = npt.NDArray[np.int64]


def evaluate(batch: Batch) -> Judgement:
    """Each distinct (library, name, type, value) is parsed once."""
    known, wrong = _looked_at(batch)
    fired, evaluable = np.zeros(len(batch), np.bool_), np.zeros(len(batch), np.bool_)
    fired[batch.pushes.parents[wrong]] = True
    evaluable[batch.pushes.parents[known]] = True
    return judged(fired, evaluable)


def evidence(batch: Batch, rows: Positions) -> Evidence:
    """Those settings; values only of Kafka's own, since another key's may be anything."""
    _, wrong = _looked_at(batch)
    pushes = batch.pushes
    chosen = wrong[np.isin(pushes.parents[wrong], rows)]
    found: dict[int, list[SettingOf]] = {row: [] for row in rows.tolist()}
    columns = [pushes.settings[name].take(pa.array(chosen)).to_pylist() for name in ("config_key", "config_value", "is_default")]
    for row, key_id, raw, value, is_default in zip(pushes.parents[chosen].tolist(), batch.key_ids[chosen].tolist(), *columns, strict=True):
        key, shown = (v.KEYS[key_id], value) if key_id >= 0 else (raw, None)
        found[row].append(SettingOf(key, shown, "default" if is_default else "set"))
    distinct: dict[tuple[SettingOf, ...], int] = {}
    indices = [distinct.setdefault(tuple(settings), len(distinct)) for settings in found.values()]
    return Evidence(np.array(indices, np.int64), list(distinct))


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


RULE = Rule(
    code="AN311",
    name="value_unparsable",
    severity="medium",
    risks=("drift",),
    messages=(
        "No number or truth value of this client is known.",
        "The numbers and truth values of this client are of their types.",
        "Settings of this client have values that are not of their types, and don't take effect as written: correct the values.",
    ),
    evaluate=evaluate,
    evidence=evidence,
    cases=(
        Case(FIRED, {"linger.ms": "5ms"}),
        Case(FIRED, {"enable.idempotence": "hi!"}),
        Case(FIRED, {"session.timeout.ms": "30s"}, software="kafkajs", version="2.2.4"),
        Case(FIRED, {"batch.size": "3000000000"}),
        Case(FIRED, {"linger.ms": "0.5"}),
        Case(PASSED, {"linger.ms": "0.5"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"enable.auto.commit": "1"}, software="librdkafka", version="2.8.0"),
        Case(PASSED, {"enable.auto.commit": "True", "acks": "all"}, software="kafka-python", version="3.0.12"),
        Case(PASSED, {"linger.ms": "${LINGER_MS}"}, complete=True),
        Case(NOT_EVALUABLE, {"acks": "all"}),
        Case(NOT_EVALUABLE, {"linger.ms": None}),
    ),
)
