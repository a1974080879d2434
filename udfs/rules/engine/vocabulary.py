"""Vocabulary of a batch, made once from the catalogue: numbers for keys and words, the clients of each key, and dialects' defaults.

Only names, dialects and releases go through Python here, each distinct one once and remembered; never a push.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clientscope.catalog.configs import DEFAULT_KEYS, TYPES, ClientType, Type
from clientscope.catalog.dialects import DIALECTS, LIBRDKAFKA
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.dialects.java import JAVA

CLIENT_TYPES = tuple(ClientType)
UNKNOWN_TYPE, UNKNOWN_DIALECT = len(CLIENT_TYPES), len(DIALECTS)
"""Their places in tables, behind the known ones."""

DIALECT_OF_SOFTWARE = {software.lower(): number for number, each in enumerate(DIALECTS) for software in each.software}

_NO_NUMBERS = (Type.STRING, Type.LIST, Type.BOOLEAN)
KEYS = tuple(sorted(key for key, config_type in TYPES.items() if config_type not in (Type.CLASS, Type.PASSWORD)))
"""Every setting that a rule may ask for, by number."""
KEY_IDS = {key: number for number, key in enumerate(KEYS)}
IS_NUMBER = np.array([TYPES[key] not in _NO_NUMBERS for key in KEYS])

IDENTIFIERS = frozenset({"application.id", "client.id", "group.id", "transactional.id"})
"""Settings that have no default and name something; of KIP-1324's default keys those that a client may lack."""

Bits = npt.NDArray[np.uint8]
ALL_TYPES = (1 << len(CLIENT_TYPES)) - 1


def bit(client_type: ClientType) -> int:
    """A client type as a bit of a mask."""
    return 1 << CLIENT_TYPES.index(client_type)


def _owners() -> npt.NDArray[np.uint8]:
    """Per key, the clients that have it, by any dialect's defaults; a key without a default in any may be of every client."""
    owners = {
        "application.id": bit(ClientType.STREAMS),
        "client.rack": bit(ClientType.CONSUMER) | bit(ClientType.SHARE_CONSUMER),
        "group.id": bit(ClientType.CONSUMER) | bit(ClientType.SHARE_CONSUMER),
        "group.instance.id": bit(ClientType.CONSUMER),
        "group.remote.assignor": bit(ClientType.CONSUMER),
        "transactional.id": bit(ClientType.PRODUCER),
    }
    for dialect in DIALECTS:
        for client_type, defaults in dialect.defaults.items():
            for key in defaults:
                owners[key] = owners.get(key, 0) | bit(client_type)
    return np.array([owners.get(key, ALL_TYPES) for key in KEYS], np.uint8)


OWNERS = _owners()
IN_DEFAULT_SET = np.array([sum(bit(each) for each in ClientType if key in DEFAULT_KEYS[each]) for key in KEYS], np.uint8)
"""Per key, which clients push it by themselves (KIP-1324)."""
SHARE_KEYS = np.array([key.startswith("share.") for key in KEYS])


# Unknown software writes as Kafka's own clients do, or as librdkafka, which most bindings are made of.
_ANY_SPELLINGS = {**JAVA.spellings, **LIBRDKAFKA.spellings}
_ANY_BOOLEANS = LIBRDKAFKA.booleans
_SPELLINGS = [*(dialect.spellings for dialect in DIALECTS), _ANY_SPELLINGS]
_BOOLEANS = [*(dialect.booleans for dialect in DIALECTS), _ANY_BOOLEANS]


def _texts_of_defaults() -> set[str]:
    found = {"true", "false", ""}
    for dialect in DIALECTS:
        for defaults in dialect.defaults.values():
            for key, default in defaults.items():
                texts = [default] if isinstance(default, str) else default.values()
                found |= {dialect.kafka_value("", key, text) for text in texts if text is not None}
    return found


_WORDS = sorted({word for each in _SPELLINGS for spelled in each.values() for word in spelled} | {w for each in _BOOLEANS for w in each})
TEXTS = tuple(sorted({text for each in _SPELLINGS for spelled in each.values() for text in spelled.values()} | _texts_of_defaults()))
"""Every value that a dialect writes in its own way, in Kafka's spelling, and every default: texts with a code of their own."""
TEXT_CODES = {text: code for code, text in enumerate(TEXTS)}
WORDS = pa.array(_WORDS, pa.string())
"""Everything that some dialect spells in its own way, in lower case."""
TEXT_ARRAY = pa.array(TEXTS, pa.string())


def _spelled() -> npt.NDArray[np.int32]:
    """[dialect, key, word] → the code of Kafka's spelling; -1 where it is as it was written."""
    table = np.full((len(DIALECTS) + 1, len(KEYS), len(_WORDS)), -1, np.int32)
    for dialect, (spellings, booleans) in enumerate(zip(_SPELLINGS, _BOOLEANS, strict=True)):
        for key, key_id in KEY_IDS.items():
            for word, text in (booleans if TYPES[key] is Type.BOOLEAN else spellings.get(key, {})).items():
                if not IS_NUMBER[key_id]:
                    table[dialect, key_id, _WORDS.index(word)] = TEXT_CODES[text]
    return table


SPELLED = _spelled()
SPELLED_NUMBERS = tuple(
    (dialect, KEY_IDS[key], float(word), float(text))
    for dialect, each in enumerate(_SPELLINGS)
    for key, spelled in each.items()
    if IS_NUMBER[KEY_IDS[key]]
    for word, text in spelled.items()
)
"""Numbers that mean another one: 0 for without end."""

_NUMBER = re.compile(r"[+-]?\d{1,19}(\.\d{1,19})?", re.ASCII)
MOST_DIGITS = 19


def number(text: str) -> float:
    """A number as ConfigDef would take it, or librdkafka for its fractions; NaN for anything else."""
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else np.nan


class Name(NamedTuple):
    """What a setting's name means.

    Attributes:
        key_ids: for each client type, and where it isn't known; -1 for a name that Kafka's clients don't have.
        in_own_way: the library's name, whose values are in another unit, or mean the opposite.
    """

    key_ids: tuple[int, ...]
    in_own_way: bool


@lru_cache(maxsize=16_384)
def name(dialect: int, raw: str, written: bool) -> Name:
    """
    Args:
        dialect: its place in `DIALECTS`, or `UNKNOWN_DIALECT`.
        written: by a user in a file, so the library's names come first; clients push under Kafka's.
    """
    known = DIALECTS[dialect] if dialect < len(DIALECTS) else None
    ids = [_key_id(known, raw, client_type, written) for client_type in CLIENT_TYPES]
    in_own_way = known is not None and raw in {*known.factors, *known.durations, *known.inverted}
    certain = {found for found in ids if found >= 0}
    return Name((*ids, certain.pop() if len(certain) == 1 else -1), in_own_way)


def _key_id(dialect: Dialect | None, raw: str, client_type: ClientType, written: bool) -> int:
    if not written and raw in KEY_IDS:
        return KEY_IDS[raw]
    if dialect is not None:
        renamed = dialect.kafka_name(raw, client_type)
        if renamed in KEY_IDS or (renamed != raw and raw in KEY_IDS):
            return KEY_IDS.get(renamed, -1)
        if written:  # as the library takes it, or not at all
            return KEY_IDS.get(raw, -1) if dialect.separator == "." else -1
    plain = raw.replace("_", ".").lower()
    if plain not in KEY_IDS:
        plain = (dialect or LIBRDKAFKA).kafka_name(plain, client_type)
    return KEY_IDS.get(plain, -1)


class Defaults(NamedTuple):
    """What a client has that sets nothing, by key."""

    has: npt.NDArray[np.bool_]
    numbers: npt.NDArray[np.float64]
    texts: npt.NDArray[np.int32]


@lru_cache(maxsize=1024)
def defaults(dialect: int, client_type: int, version: str) -> Defaults:
    """The defaults of `DIALECTS`' and `CLIENT_TYPES`' entries at these places. A default that names the version is given as its pattern."""
    found = DIALECTS[dialect].defaults_of(CLIENT_TYPES[client_type], version)
    patterns = DIALECTS[dialect].defaults.get(CLIENT_TYPES[client_type], {})
    has, numbers, texts = np.zeros(len(KEYS), np.bool_), np.full(len(KEYS), np.nan), np.full(len(KEYS), -1, np.int32)
    for key, text in found.items():
        key_id = KEY_IDS[key]
        has[key_id] = True
        if IS_NUMBER[key_id]:
            numbers[key_id] = number(text)
        else:
            pattern = patterns[key]
            texts[key_id] = TEXT_CODES[pattern if isinstance(pattern, str) and "{version}" in pattern else text]
    return Defaults(has, numbers, texts)


@lru_cache(maxsize=1024)
def untouched(dialect: int, client_type: ClientType, version: str) -> dict[str, str]:
    """What a client makes of it when the user sets nothing."""
    chosen = DIALECTS[dialect]
    values = chosen.defaults_of(client_type, version)
    return {**values, **chosen.settle(client_type, values, (), chosen.release_of(version))}


SETTLED_BY: dict[ClientType, tuple[str, ...]] = {
    ClientType.PRODUCER: (
        "acks", "delivery.timeout.ms", "enable.idempotence", "max.in.flight.requests.per.connection", "retries",
        "transaction.timeout.ms", "transactional.id",
    ),
    ClientType.CONSUMER: ("enable.auto.commit", "group.id"),
    ClientType.STREAMS: ("commit.interval.ms", "processing.guarantee"),
}  # fmt: skip
"""The settings that dialects' `settle` looks at or changes; of `IDENTIFIERS` only whether they are set."""


@cache
def settled_ids(client_type: int) -> npt.NDArray[Any]:
    """`SETTLED_BY` by number."""
    return np.array([KEY_IDS[key] for key in SETTLED_BY.get(CLIENT_TYPES[client_type], ())], np.int64)
