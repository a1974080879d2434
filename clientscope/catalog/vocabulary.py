"""Names and values of settings, from the catalogue: which key a name means, whose it is, and what a client has that sets nothing.

What is asked of names, values and releases comes again and again, so each is worked out once and remembered; never a push.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from clientscope.catalog.configs import DEFAULT_KEYS, TYPES, ClientType, Type
from clientscope.catalog.dialects import DIALECTS, LIBRDKAFKA, dialect_of
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.sensitive_names import LONGEST_REMEMBERED
from clientscope.catalog.setting_names import own_name
from clientscope.catalog.settings import Release, libraries

UNKNOWN = "unknown"

KEYS = frozenset(key for key, config_type in TYPES.items() if config_type not in (Type.CLASS, Type.PASSWORD))
"""Every setting that a rule may ask for."""
NUMBERS = frozenset(key for key in KEYS if TYPES[key] not in (Type.STRING, Type.LIST, Type.BOOLEAN))

IDENTIFIERS = frozenset({"application.id", "client.id", "group.id", "transactional.id"})
"""Settings that have no default and name something; of KIP-1324's default keys those that a client may lack."""

ALL_TYPES = frozenset(ClientType)
LISTED = {client_type: KEYS.intersection(DEFAULT_KEYS[client_type]) for client_type in ClientType}
"""What each client pushes by itself (KIP-1324)."""

SETTLED_BY: dict[ClientType, tuple[str, ...]] = {
    ClientType.PRODUCER: (
        "acks", "delivery.timeout.ms", "enable.idempotence", "max.in.flight.requests.per.connection", "retries",
        "transaction.timeout.ms", "transactional.id",
    ),
    ClientType.CONSUMER: ("enable.auto.commit", "group.id"),
    ClientType.STREAMS: ("commit.interval.ms", "processing.guarantee"),
}  # fmt: skip
"""The settings that dialects' `settle` looks at or changes; of `IDENTIFIERS` only whether they are set."""

_LONGEST_PLAIN = 20
_NUMBER = re.compile(r"[+-]?\d{1,19}(\.\d{1,19})?", re.ASCII)
_REMEMBERED = 16_384


def _owners() -> dict[str, frozenset[ClientType]]:  # pragma: no mutate block  # made when it is imported, before a mutant is chosen
    """Per key, the clients that have it, by any dialect's defaults; a key without a default in any may be of every client."""
    fetching = {ClientType.CONSUMER, ClientType.SHARE_CONSUMER}
    owners: dict[str, set[ClientType]] = {
        "application.id": {ClientType.STREAMS},
        "client.rack": set(fetching),
        "group.id": set(fetching),
        "group.instance.id": {ClientType.CONSUMER},
        "group.remote.assignor": {ClientType.CONSUMER},
        "transactional.id": {ClientType.PRODUCER},
    }
    for dialect in DIALECTS:
        for client_type, defaults in dialect.defaults.items():
            for key in defaults:
                owners.setdefault(key, set()).add(client_type)
    return {key: frozenset(owners.get(key, ALL_TYPES)) for key in KEYS}


OWNERS = _owners()


class KnownSoftware(NamedTuple):
    """One software as it called itself.

    Attributes:
        release: of its library; empty where it is unknown.
    """

    name: str
    version: str
    dialect: Dialect | None
    release: Release

    def is_of(self, *names: str) -> bool:
        """Whether it is one of these libraries."""
        return self.dialect is not None and self.dialect.name in names

    def is_within(self, since: Release, before: Release) -> bool:
        """Whether its release is known to be within these bounds; where there are none, any is."""
        return not (since or before) or (bool(self.release) and since <= self.release and (not before or self.release < before))

    def lacks(self, key: str) -> bool:
        """Whether the library has no setting that Kafka calls ``key`` in this release, for any kind of client."""
        if self.dialect is None:
            return False
        library = libraries()[self.dialect.name]
        settings = (library.setting(own_name(self.dialect, library, key, client_type)) for client_type in ClientType)
        return not any(each.now(kind, self.release) for each in settings if each for kind in each.kinds)


@lru_cache(maxsize=1024)
def software(name: str | None, version: str | None) -> KnownSoftware:
    """The software of KIP-511's name and version."""
    name, version = UNKNOWN if name is None else name, UNKNOWN if version is None else version
    dialect = dialect_of(name)
    return KnownSoftware(name, version, dialect, dialect.release_of(version) if dialect else ())


class Name(NamedTuple):
    """What a setting's name means.

    Attributes:
        raw: the name as it was pushed.
        keys: Kafka's key by the type of client; by None where all types agree. None for a name that Kafka's clients don't have.
        in_own_way: the library's name, whose values are in another unit, or mean the opposite.
    """

    raw: str
    keys: Mapping[ClientType | None, str | None]
    in_own_way: bool


def name(dialect: Dialect | None, raw: str, written: bool) -> Name:
    """
    Args:
        dialect: None for an unknown library.
        written: by a user in a file, so the library's names come first; clients push under Kafka's.
    """
    return _name(dialect, raw, written) if len(raw) <= LONGEST_REMEMBERED else _name.__wrapped__(dialect, raw, written)


@lru_cache(maxsize=_REMEMBERED)
def _name(dialect: Dialect | None, raw: str, written: bool) -> Name:
    keys: dict[ClientType | None, str | None] = {each: _key(dialect, raw, each, written) for each in ClientType}
    certain = set(keys.values()) - {None}
    keys[None] = certain.pop() if len(certain) == 1 else None
    return Name(raw, keys, dialect is not None and raw in {*dialect.factors, *dialect.durations, *dialect.inverted})


def _key(dialect: Dialect | None, raw: str, client_type: ClientType, written: bool) -> str | None:
    if not written and raw in KEYS:
        return raw
    if dialect is not None:
        renamed = dialect.kafka_name(raw, client_type)
        if renamed in KEYS or (renamed != raw and raw in KEYS):
            return _known(renamed)
        if written:  # as the library takes it, or not at all
            return _known(raw) if dialect.separator == "." else None
    plain = raw.replace("_", ".").lower()
    return _known(plain if plain in KEYS else (dialect or LIBRDKAFKA).kafka_name(plain, client_type))


def _known(key: str) -> str | None:
    return key if key in KEYS else None


# Unknown software writes as Kafka's own clients do, or as librdkafka, which most bindings are made of.
_ANY_SPELLINGS = {**JAVA.spellings, **LIBRDKAFKA.spellings}


def value(dialect: Dialect | None, name: Name, key: str, text: str) -> tuple[str | None, float]:
    """A value as Kafka has it: its text, and NaN; for a key of `NUMBERS` None and the number, NaN for what is none.

    Args:
        dialect: None for an unknown library.
        name: of the setting as it was pushed.
    """
    if name.in_own_way:
        assert dialect is not None
        text = dialect.kafka_value(name.raw, key, text)
    spellings = _spellings(dialect, key)
    if key not in NUMBERS:
        text = text.strip()
        return spellings.get(text.lower(), text), math.nan
    found = number(text)
    # A number may mean another one, as 0 for without end.
    return None, found if not spellings else next((float(meant) for word, meant in spellings.items() if float(word) == found), found)


@lru_cache(maxsize=_REMEMBERED)
def _spellings(dialect: Dialect | None, key: str) -> Mapping[str, str]:
    """Values in lower case that mean another one of a key → as Kafka writes that."""
    if TYPES[key] is Type.BOOLEAN:
        return (dialect or LIBRDKAFKA).booleans
    return (_ANY_SPELLINGS if dialect is None else dialect.spellings).get(key, {})


def number(text: str) -> float:
    """A number as ConfigDef would take it, or librdkafka for its fractions; NaN for anything else."""
    if text.isdecimal() and text.isascii() and len(text) < _LONGEST_PLAIN:  # nearly every one
        return float(text)
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def number_text(value: float) -> str | None:
    """A number as Kafka writes it; None for NaN."""
    if math.isnan(value):
        return None
    return str(int(value)) if value.is_integer() else str(value)


@lru_cache(maxsize=1024)
def defaults(dialect: Dialect, client_type: ClientType, version: str) -> Mapping[str, str]:
    """What a client has that sets nothing, of `KEYS`."""
    found = dialect.defaults_of(client_type, version)
    return {key: text for key, text in found.items() if key in KEYS}


@lru_cache(maxsize=1024)
def untouched(dialect: Dialect, client_type: ClientType, version: str) -> Mapping[str, str]:
    """What a client makes of it when the user sets nothing."""
    values = dialect.defaults_of(client_type, version)
    return {**values, **dialect.settle(client_type, values, (), dialect.release_of(version))}
