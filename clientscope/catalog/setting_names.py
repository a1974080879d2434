"""Judgement of a setting's name: whether a client of this library, release and kind has it, and which name may be meant instead.

The data are those of `clientscope.catalog.settings`; whose settings correspond, the dialects say.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

import clientscope.catalog.settings as catalogue
from clientscope.catalog.configs import ClientType
from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.known_keys import EMBEDDED
from clientscope.catalog.settings import Facts, KnownSetting, Library, Release


class NameState(StrEnum):
    """What a name is to a client."""

    KNOWN = "known"
    DEPRECATED = "deprecated"
    REMOVED = "removed"
    NOT_YET = "not yet"
    OF_OTHER_CLIENT = "another client's"
    OF_OTHER_LIBRARY = "another library's"
    UNKNOWN = "unknown"


class NameJudgement(NamedTuple):
    """
    Attributes:
        instead: the name that is probably meant; empty for none.
        since: the release that removed the setting, or that brings it; empty for any other state.
        facts: what the library takes under this name; None where it doesn't know it, or several kinds of client differ.
    """

    state: NameState
    instead: str = ""
    since: Release = ()
    facts: Facts | None = None


EVERY_KIND = tuple(client_type.value for client_type in ClientType)
LONGEST = 128
"""Characters of a name that is compared with others."""
_EMBEDDING = {"streams": ("streams", "producer", "consumer", "admin")}
"""Kafka Streams takes its clients' settings without a prefix, too."""
_PLUGINS = re.compile(
    r"(?:schema\.registry|apicurio|confluent|aws|azure|gcp|google|spring|specific\.avro|avro|protobuf|json|value|key|auto\.register"
    r"|use\.(?:latest|schema)|normalize\.schemas?|latest\.(?:cache|compatibility)|id\.compatibility|(?:subject|reference)\.name|rule\.\w+"
    r"|interceptor|partitioner|serializer|deserializer|serde|rocksdb|metrics|go|bearer\.auth|basic\.auth|proxy)(?:\.|$)"
)
"""How settings of serializers, interceptors and other plug-ins begin: only what is one letter away is meant to be the client's."""
_ONE_TABLE = ("librdkafka",)
"""Libraries that read a setting before they know for what kind of client it is."""
_FAR = 2
"""Edits between a name and the one that is meant, at most."""


def judge(
    dialect: Dialect, release: Release, client_type: ClientType | None, name: str, written: bool = True, search: bool = True
) -> NameJudgement:
    """What a name is to a client.

    Args:
        release: of the library; empty where it is unknown, and then nothing counts as removed, deprecated or not there yet.
        client_type: None where it is unknown, and then no setting is another client's.
        written: by a user, in the library's own names; else pushed or logged, under Kafka's names too.
        search: for the name that is meant instead of an unknown one, which takes a tenth of a millisecond.
    """
    if len(name) > LONGEST:
        return NameJudgement(NameState.UNKNOWN)
    return _judge(dialect, release, client_type, name, written, search)


def kinds_of(client_type: ClientType | None) -> tuple[str, ...]:
    """The catalogue's kinds whose settings a client takes; every one where its type is unknown."""
    return EVERY_KIND if client_type is None else _EMBEDDING.get(client_type.value, (client_type.value,))


def is_plugins(name: str) -> bool:
    """Whether a name begins as settings of serializers, interceptors and other plug-ins do."""
    return _PLUGINS.match(name) is not None


def apart(one: str, other: str) -> int:
    """Edits between two names, but for what separates their words; more than 2 count as 3."""
    return _edits(_folded(one), _folded(other), _FAR)


@lru_cache(maxsize=16_384)
def _judge(dialect: Dialect, release: Release, client_type: ClientType | None, name: str, written: bool, search: bool) -> NameJudgement:
    library = catalogue.libraries()[dialect.name]
    kinds = kinds_of(client_type)
    own = library.setting(name)
    if own is not None:
        return _of_own(library, own, kinds, release, client_type is None)
    if _embedded(library, name):
        return NameJudgement(NameState.KNOWN)
    if not written and catalogue.libraries()["java"].setting(name) is not None:
        return NameJudgement(NameState.KNOWN)
    plain = (dialect.instead.get(name) if written else "") or _own_name(dialect, library, client_type, name)
    if plain:
        return NameJudgement(NameState.OF_OTHER_LIBRARY, plain)
    near = _nearest(library, kinds, release, name) if search else ""
    return NameJudgement(NameState.UNKNOWN, near if near and (not is_plugins(name) or apart(name, near) == 1) else "")


def _of_own(library: Library, setting: KnownSetting, kinds: tuple[str, ...], release: Release, any_kind: bool) -> NameJudgement:
    found = [facts if release else setting.ever(kind) for kind in kinds if (facts := setting.now(kind, release))]
    if found:
        same = found[0] if all(each == found[0] for each in found) else None
        deprecated = all(each.deprecated for each in found) and bool(release)
        return NameJudgement(NameState.DEPRECATED if deprecated else NameState.KNOWN, setting.alias if deprecated else "", (), same)
    histories = [setting.kinds[kind] for kind in kinds if kind in setting.kinds]
    if not histories:
        if any_kind:
            return NameJudgement(NameState.KNOWN)
        elsewhere = (facts for kind in setting.kinds if (facts := setting.now(kind, release)))
        return NameJudgement(NameState.OF_OTHER_CLIENT, facts=next(elsewhere, None) if library.name in _ONE_TABLE else None)
    if not release:
        return NameJudgement(NameState.KNOWN)
    coming = min((history[0].release for history in histories if history[0].release > release), default=())
    if coming:
        # Between two releases that were read it isn't known which brought it.
        certain = release <= library.read_before(coming)
        return NameJudgement(NameState.NOT_YET, "", coming) if certain else NameJudgement(NameState.KNOWN)
    gone = max(each.release for history in histories for each in history if each.facts is None)
    return NameJudgement(NameState.REMOVED, "", gone)


def _embedded(library: Library, name: str) -> bool:
    return any(name.startswith(prefix) and library.setting(name[len(prefix) :]) for prefix in EMBEDDED)


def _own_name(dialect: Dialect, library: Library, client_type: ClientType | None, name: str) -> str:
    """The library's own name of a setting under which another library, or Kafka, knows it; empty for none."""
    kind = client_type or ClientType.PRODUCER
    for other in DIALECTS:
        if other is dialect or catalogue.libraries()[other.name].setting(name) is None:
            continue
        if own := own_name(dialect, library, other.kafka_name(name, kind), kind):
            return own
    return ""


def own_name(dialect: Dialect, library: Library, key: str, kind: ClientType) -> str:
    """A library's own name of a setting that Kafka calls ``key``, for a kind of client; empty for none."""
    if library.setting(plain := key.replace(".", dialect.separator)):
        return plain
    aliases = {**dialect.aliases, **dialect.aliases_of.get(kind, {})}
    return next((own for own, meant in aliases.items() if meant == key and library.setting(own)), "")


def _nearest(library: Library, kinds: tuple[str, ...], release: Release, name: str) -> str:
    """The library's name that is a few edits away; empty for none, or for several as near."""
    folded = _folded(name)
    best, found = _FAR + 1, [""]
    # By the releases that were read: of those that clients name there is no end.
    for known, plain, letters in _of_kinds(library.name, kinds, library.read_up_to(release)):
        if abs(len(plain) - len(folded)) > _FAR or (letters ^ _letters(folded)).bit_count() > 2 * _FAR:
            continue
        apart = _edits(folded, plain, min(best, _FAR))
        if apart < best:
            best, found = apart, [known]
        elif apart == best:
            found.append(known)
    # Short names are near to many others.
    return found[0] if len(found) == 1 and best * 4 <= len(folded) else ""


@cache
def _of_kinds(library_name: str, kinds: tuple[str, ...], release: Release) -> list[tuple[str, str, int]]:
    """Each name of these kinds in a release, as it is compared, and its letters as bits."""
    library = catalogue.libraries()[library_name]
    settings = [library.setting(name) for name in sorted(library.names)]
    there = [each.name for each in settings if each and any(each.now(kind, release) for kind in kinds)]
    return [(name, _folded(name), _letters(_folded(name))) for name in there]


def _folded(name: str) -> str:
    """Without what separates words: ``lingerMs``, ``linger_ms`` and ``LINGER-MS`` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _letters(text: str) -> int:
    bits = 0
    for character in text:
        bits |= 1 << (ord(character) & 31)
    return bits


def _edits(one: str, other: str, most: int) -> int:
    """Letters to insert, delete, replace or swap with the next one; more than ``most`` counts as one more than it."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, above, row = row, before, [at]
        for to, its in enumerate(other, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != its))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == its:
                cost = min(cost, above[to - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row[-1], most + 1)
