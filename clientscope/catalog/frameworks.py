"""Settings of Kafka clients in the files of frameworks, by the table in frameworks.toml: which names are of which client.

Connect, Spring Boot, Flink and the like create the clients. Their settings in a file are only a part of a client's: the framework has
defaults of its own, and adds settings from elsewhere.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects import dialect
from clientscope.catalog.settings import libraries

SHARED, TOPICS = "shared", "topics"
_DOCUMENT = r"(?:\[\d+\]\.)?"
"""Before a name of a later document of YAML."""
_CONTAINER = r"(?:[\w\[\]-]+\.)*"
"""Before a variable of a container, as of Compose or of a Helm chart."""
_MOST_CLUSTERS = 100
_PROPERTIES = re.compile(r"properties[._]$", re.I)
"""What distinguishes spellings of names, but not clients."""
_KINDS = (ClientType.PRODUCER, ClientType.CONSUMER, ClientType.ADMIN)

_UNITS = {"b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_WITH_UNIT = re.compile(r"(?:PT)?(\d{1,12})(B|KB|MB|GB|ms|s|m|h|d)", re.I)


@dataclass(frozen=True, eq=False)
class Framework:
    """One of the table, at whose head the attributes are explained.

    Attributes:
        prefixes: spelling → role → regular expressions.
    """

    name: str
    source: str
    prefixes: Mapping[str, Mapping[str, tuple[str, ...]]]
    applications: bool = False
    needs: Sequence[str] = ()
    unless: Sequence[str] = ()
    library: str = "java"
    clusters: str = ""
    beside: Sequence[str] = ()
    brings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def value(self, name: str, key: str, text: str) -> str:
        """A value as the library takes it: beside names of its own (``batch-size``) a framework has ``16KB``, ``3s`` and its words."""
        if name.endswith(key):
            return text
        if TYPES.get(key) in (Type.INT, Type.LONG) and (match := _WITH_UNIT.fullmatch(text)):
            return str(int(match[1]) * _UNITS[match[2].lower()])
        return self.values.get(key, {}).get(text.lower(), text)


@dataclass(frozen=True)
class FrameworkClient:
    """The settings of one client in a file.

    Attributes:
        client_type: an admin client's where it isn't known: what all clients have; None for topics of the framework's own.
        names: the library's name → the name in the file.
    """

    framework: Framework
    client_type: ClientType | None
    names: Mapping[str, str]

    @property
    def brought(self) -> Mapping[str, str]:
        """What it has by its framework beside the settings in the file; of an empty text what the library has by default."""
        of = self.framework.brings.get(self.client_type.value, {}) if self.client_type else {}
        return {key: text for key, text in of.items() if key not in self.names}


@cache
def frameworks() -> tuple[Framework, ...]:
    """All of the table, in the order in which they are asked."""
    table = tomllib.loads(files("clientscope.catalog").joinpath("frameworks.toml").read_text("utf-8"))
    return tuple(_framework(table["brought"].get(row.pop("brings", ""), {}), **row) for row in table["framework"])


def _framework(brings: Mapping[str, Any], **row: Any) -> Framework:
    prefixes: Mapping[str, Any] = {spelling: row.pop(spelling) for spelling in ("exact", "variable", "relaxed") if spelling in row}
    return Framework(prefixes=prefixes, brings=brings, **row)


def clients(values: Mapping[str, str]) -> list[FrameworkClient]:
    """Every client of a framework that some of a file's settings are of; each has those that its framework's clients share."""
    said = {each: _is_beside(each, values) for each in frameworks()}
    patterns = [each for each in (*_patterns(), *_of_clusters(values)) if said[each[0]]]
    # A framework in a document or a container → prefix and role of settings of one client, or of shared ones → their names.
    found: dict[tuple[Framework, str], dict[tuple[str, str], dict[str, str]]] = defaultdict(lambda: defaultdict(dict))
    for name in values:
        for framework, spelling, role, pattern in patterns:
            if (match := pattern.fullmatch(name)) is None:
                continue
            if key := _key(framework, spelling, match["key"]):
                names = found[framework, match["within"]][_PROPERTIES.sub("", match["prefix"]), role]
                if spelling != "relaxed" or key not in names:  # what is given as the library's own setting comes last, and counts
                    names[key] = name
            break
    made: list[FrameworkClient] = []
    for (framework, _), places in found.items():
        shared = [names for (_, role), names in places.items() if role == SHARED]
        own = [(role, names) for (_, role), names in places.items() if role != SHARED and _known(framework, names)]
        for role, names in own:
            kind = ClientType(role) if role != TOPICS else None
            common: dict[str, str] = {}
            for others in shared:
                common |= _of_kind(framework, _known(framework, others), kind)
            made.append(FrameworkClient(framework, kind, {**common, **names}))
        for names in () if own else shared:
            is_others = any(re.fullmatch(other, key) for other in framework.unless for key in names)
            if not is_others and (not framework.needs or not names.keys().isdisjoint(framework.needs)):
                made += _by_kind(framework, _known(framework, names))
    return made


def _by_kind(framework: Framework, names: Mapping[str, str]) -> list[FrameworkClient]:
    """The clients that settings of nobody's in particular are of: those that alone have one of them, or an admin client."""
    kinds = types_shown(framework.library, names) or [ClientType.ADMIN]
    theirs = [(kind, _of_kind(framework, names, kind)) for kind in kinds]
    return [FrameworkClient(framework, kind, own) for kind, own in theirs if own]


def types_shown(library: str, names: Iterable[str]) -> list[ClientType]:
    """Of producers and consumers those of which settings are that the other one hasn't."""
    of = [_kinds(library, name) & {*_KINDS[:2]} for name in names]
    return [kind for kind in _KINDS[:2] if {kind} in of]


def _of_kind(framework: Framework, names: Mapping[str, str], kind: ClientType | None) -> dict[str, str]:
    """Without what only other kinds of clients have: where settings are for all, those of one kind are no mistake.

    Kafka Streams hands settings on to clients of each kind, and topics aren't clients.
    """
    if kind not in _KINDS:
        return dict(names)
    return {key: name for key, name in names.items() if not (kinds := _kinds(framework.library, key)) or kind in kinds}


@cache
def _kinds(library: str, key: str) -> frozenset[ClientType]:
    """The types of clients that have the setting, of the library or of Java; empty for an unknown one."""
    setting = libraries()[library].setting(key) or libraries()["java"].setting(key)
    return frozenset(kind for kind in ClientType if setting and kind.value in setting.kinds)


def _is_beside(framework: Framework, values: Mapping[str, str]) -> bool:
    """Whether the file has what shows the framework."""
    shown = [re.compile(each) for each in framework.beside]
    return not shown or any(each.fullmatch(f"{name}={value}") for name, value in values.items() for each in shown)


def _known(framework: Framework, names: Mapping[str, str]) -> dict[str, str]:
    """Without applications' own names beside them."""
    known = _clients_names(framework.library)
    return {key: name for key, name in names.items() if not framework.applications or key in known}


def _key(framework: Framework, spelling: str, written: str) -> str | None:
    """The library's name of a setting; None for one that isn't the library's."""
    alias = framework.aliases.get(written)
    written = written if alias is None else alias
    if spelling == "relaxed":
        return _by_squeezed(framework.library).get(_squeezed(written), alias)
    if spelling == "variable":
        return written.lower().replace("_", ".")
    return written[1:-1] if written.startswith("[") and written.endswith("]") else written  # Spring's ``[linger.ms]`` is one name of a map


@cache
def _clients_names(library: str) -> frozenset[str]:
    """Without those that only Connect and the like have."""
    all_of = libraries()[library]
    types = {each.value for each in ClientType}
    return frozenset(name for name in all_of.names if (setting := all_of.setting(name)) and not types.isdisjoint(setting.kinds))


def _squeezed(name: str) -> str:
    return re.sub(r"[-_.]", "", name).lower()


@cache
def _by_squeezed(library: str) -> Mapping[str, str]:
    """Names without what distinguishes spellings, also without a unit at their end, → the library's."""
    names = _clients_names(library)
    whole = {_squeezed(name): name for name in [*dialect(library).aliases, *names]}
    return {_squeezed(name.removesuffix(".ms")): name for name in names} | whole


_Pattern = tuple[Framework, str, str, re.Pattern[str]]


@cache
def _patterns() -> tuple[_Pattern, ...]:
    return tuple(pattern for framework in frameworks() if not framework.clusters for pattern in _of(framework))


def _of_clusters(values: Mapping[str, str]) -> Iterator[_Pattern]:
    """Of the frameworks whose prefixes begin with names that the file itself lists: ``A.producer.acks``, ``A->B.consumer.group.id``."""
    for framework in frameworks():
        if framework.clusters and (listed := values.get(framework.clusters)):
            names = [re.escape(name.strip()) for name in listed.split(",")[:_MOST_CLUSTERS]]
            if one := "|".join(filter(None, names)):
                yield from _of(framework, rf"(?:{one})(?:->(?:{one}))?\.")


def _of(framework: Framework, within: str = "") -> Iterator[_Pattern]:
    for spelling, roles in framework.prefixes.items():
        for role in sorted(roles, key=SHARED.__eq__):  # last, for others begin so, too
            prefix = "|".join(roles[role])
            place = within or (_CONTAINER if prefix.isupper() else _DOCUMENT)  # variables are in capitals
            yield framework, spelling, role, re.compile(rf"(?P<within>{place})(?P<prefix>{prefix})(?P<key>.+)")
