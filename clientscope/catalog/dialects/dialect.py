"""Model of a dialect: a client library's names for Kafka's settings, its spelling of values, and its defaults.

Data, and a few pure functions over it; each dialect but Java's, whose defaults are the catalogue's, is a TOML file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.settings import Release, numbers

Default = str | Mapping[str, str | None]
"""A default in Kafka's text; or, where releases differ, release → the default since then, in their order, None for none.

``{version}`` in it is the software's version, and the default is left out where that isn't known.
"""

Settle = Callable[[ClientType, Mapping[str, str | None], Collection[str], Release], Mapping[str, str]]
"""What the library makes of settings that bear on each other: from all values, and the keys that the user gave, to those that differ."""


_OPPOSITE = {"true": "false", "false": "true"}

_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DURATION_PART = r"(\d{1,18}(?:\.\d{1,9})?)(ns|us|µs|μs|ms|s|m|h)"


def _milliseconds(text: str) -> str:
    """A duration as Go's time.ParseDuration reads it, or its number of nanoseconds, in milliseconds; else as it was."""
    if re.fullmatch(r"\d{1,19}", text):
        nanoseconds = int(text)
    elif re.fullmatch(f"(?:{_DURATION_PART})+", text):
        nanoseconds = round(sum(float(number) * _NANOSECONDS[unit] for number, unit in re.findall(_DURATION_PART, text)))
    else:
        return text
    whole, rest = divmod(nanoseconds, 10**6)
    return str(whole) if not rest else str(nanoseconds / 10**6)


def settle_nothing(
    client_type: ClientType, values: Mapping[str, str | None], given: Collection[str], software: Release
) -> Mapping[str, str]:
    """Each setting is what it says."""
    return {}


@dataclass(frozen=True, eq=False)
class Dialect:
    """A client library's settings, beside Kafka's.

    Attributes:
        name: as ``--dialect`` takes it.
        software: the names that it sends in ApiVersions (KIP-511), the usual one first; for clients that send none, the library's name.
        defaults: under Kafka's names and in Kafka's text; what isn't here has none, or is no setting of this library's.
        aliases: its names → Kafka's, for all its clients.
        aliases_of: the same for one client, and before the others.
        separator: the character of its names in place of Kafka's dots.
        spellings: Kafka's name → the value in lower case → as Kafka writes it.
        booleans: a truth value in lower case → as Kafka writes it.
        factors: its name → what a value is multiplied by, for another unit than Kafka's.
        durations: its names whose values are Go's durations (``500ms``, ``1m30s``), or their nanoseconds as a number.
        inverted: its names for truth values that mean the opposite of Kafka's.
        settle: see `Settle`.
        numbers_of: its versions' leading numbers, as its `defaults` name them.
        pushes_defaults: whether its own KIP-1324 push includes defaults, so that a push without any was restricted to other keys.
        oldest: how far back the data reaches; what is older counts as this.
        instead: names of other libraries → what this one has for it, where it isn't the same setting under another name.
    """

    name: str
    software: tuple[str, ...]
    defaults: Mapping[ClientType, Mapping[str, Default]]
    aliases: Mapping[str, str] = field(default_factory=dict)
    aliases_of: Mapping[ClientType, Mapping[str, str]] = field(default_factory=dict)
    separator: str = "."
    spellings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    booleans: Mapping[str, str] = field(default_factory=lambda: {"true": "true", "false": "false"})
    factors: Mapping[str, int] = field(default_factory=dict)
    durations: frozenset[str] = frozenset()
    inverted: frozenset[str] = frozenset()
    settle: Settle = settle_nothing
    numbers_of: Callable[[str], Release] = numbers
    pushes_defaults: bool = False
    oldest: Release = ()
    instead: Mapping[str, str] = field(default_factory=dict)

    def release_of(self, version: str) -> Release:
        """Which release of the library a version of its software is."""
        found = self.numbers_of(version)
        return max(found, self.oldest) if found else ()

    def kafka_name(self, name: str, client_type: ClientType) -> str:
        """Kafka's name of a setting; one that Kafka doesn't know comes back in Kafka's manner, or as it was."""
        own = self.aliases_of.get(client_type, {})
        return own.get(name) or self.aliases.get(name) or name.replace(self.separator, ".")

    def kafka_value(self, name: str, key: str, text: str) -> str:
        """A value of setting ``name`` as Kafka writes it for ``key``."""
        text = text.strip()
        if name in self.factors and re.fullmatch(r"-?\d{1,18}", text):
            text = str(int(text) * self.factors[name])
        if name in self.durations:
            text = _milliseconds(text)
        spellings = self.spellings.get(key, {})
        if TYPES.get(key) is Type.BOOLEAN:
            spellings = self.booleans
        text = spellings.get(text.lower(), text)
        return _OPPOSITE.get(text, text) if name in self.inverted else text

    def defaults_of(self, client_type: ClientType, version: str) -> dict[str, str]:
        """What a client has that sets nothing; a version that begins with no number is the newest."""
        software = self.release_of(version)
        found = {}
        for key, default in self.defaults.get(client_type, {}).items():
            text = default if isinstance(default, str) else _since(default, software)
            if text is not None and (software or "{version}" not in text):
                found[key] = self.kafka_value("", key, text.replace("{version}", version))
        return found


def _since(history: Mapping[str, str | None], software: Release) -> str | None:
    text = None
    for first, default in history.items():
        if not software or numbers(first) <= software:
            text = default
    return text


def settle_idempotence(
    client_type: ClientType, values: Mapping[str, str | None], given: Collection[str], software: Release
) -> Mapping[str, str]:
    """A producer that is idempotent by default turns it off where other settings contradict it, and on for transactions (KIP-679)."""
    if client_type is not ClientType.PRODUCER or "enable.idempotence" not in values:
        return {}
    if values.get("transactional.id"):
        return {"enable.idempotence": "true"}
    in_flight = values.get("max.in.flight.requests.per.connection") or ""
    contradicted = (
        values.get("acks") not in ("all", None) or values.get("retries") == "0" or (in_flight.isdecimal() and int(in_flight[:18]) > 5)
    )
    return {"enable.idempotence": "false"} if contradicted else {}


def read(name: str, settle: Settle = settle_nothing, numbers_of: Callable[[str], Release] = numbers) -> Dialect:
    """The dialect in the file of this name, whose keys are the attributes of `Dialect`.

    A table below ``defaults`` and ``aliases_of`` is of all the types of clients in its name. A default of no text is none. ``within`` has
    the names of objects in which the aliases of a type (or ``all``) may stand, too.
    """
    found = tomllib.loads(files("clientscope.catalog.dialects").joinpath(f"{name}.toml").read_text("utf-8"))
    within = found.pop("within", {})
    found["defaults"] = {of: {key: _default(each) for key, each in table.items()} for of, table in _by_type(found["defaults"]).items()}
    found["aliases"] = _nested(found.get("aliases", {}), within.get("all", ()))
    aliases_of = _by_type(found.get("aliases_of", {}))
    found["aliases_of"] = {of: _nested(names, within.get(of.value, ())) for of, names in aliases_of.items()}
    for key, made in (("software", tuple), ("oldest", tuple), ("durations", frozenset), ("inverted", frozenset)):
        found[key] = made(found.get(key, ()))
    return Dialect(name, **found, settle=settle, numbers_of=numbers_of)


def _default(written: str | Mapping[str, str]) -> Default:
    return written if isinstance(written, str) else {since: text or None for since, text in written.items()}


def _by_type(tables: Mapping[str, Mapping[str, Any]]) -> dict[ClientType, dict[str, Any]]:
    made: dict[ClientType, dict[str, Any]] = {}
    for types, table in tables.items():
        for of in types.split():
            made.setdefault(ClientType(of), {}).update(table)
    return made


def _nested(names: Mapping[str, str], objects: Collection[str]) -> dict[str, str]:
    return {**names, **{f"{within}.{name}": key for within in objects for name, key in names.items()}}
