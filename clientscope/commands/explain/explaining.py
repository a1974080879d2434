"""Implementation of ``clientscope explain``: a setting's meaning, history and rules, from the catalogue."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from clientscope.catalog import sensitive
from clientscope.catalog.configs import ClientType, Type
from clientscope.catalog.dialects import DIALECTS, dialect
from clientscope.catalog.dialects.dialect import Dialect
from clientscope.catalog.setting_names import own_name
from clientscope.catalog.settings import Facts, KnownSetting, Library, Release, libraries
from clientscope.catalog.value_states import ValueState
from clientscope.commands.explain import ExplainSettings
from clientscope.commands.sources import columns, wrapped
from clientscope.errors import SettingsError
from udfs.rules.registry import EVERY_RULE

_LONGEST = 128


Explained = dict[str, Any]
"""A setting of one library, as JSON has it."""


def run(settings: ExplainSettings) -> int:
    """Prints each library's setting.

    Raises:
        SettingsError: no library has it, or there is no such library.
    """
    wanted = [dialect(settings.software)] if settings.software else [*DIALECTS]
    found = [made for each in wanted if (made := explained(each, settings.key, settings.software_version))]
    if not found:
        raise SettingsError(f"no setting {settings.key[:_LONGEST]!r} is known", _hint(settings.key, wanted))
    if settings.output == "json":
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        lines = (line for each in found for line in ("", *text(each)))
        print("\n".join(part for line in lines for part in wrapped(line, columns()) or [""]).strip())
    return 0


def explained(of: Dialect, key: str, version: str) -> Explained | None:
    """A library's setting by any name of it; None where the library has none.

    Its ``history`` is by kind of client, those with the same history together.
    """
    library, release = libraries()[of.name], of.release_of(version)
    setting = _setting(of, library, key)
    if setting is None:
        return None
    name = _kafka_name(of, setting)
    same: dict[str, list[str]] = {}
    histories = {kind: _periods(setting, kind, release) for kind in sorted(setting.kinds)}
    history: dict[str, list[Explained]] = {}
    for kind, periods in histories.items():
        same.setdefault(json.dumps(periods), []).append(kind)
    for kinds in same.values():
        if periods := histories[kinds[0]]:
            history[", ".join(kinds)] = periods
    first = next((facts for kind in setting.kinds if (facts := setting.now(kind, ()))), None)
    reason = sensitive.reason(setting.name, "x", first.type if first else Type.STRING)
    return {
        "library": of.name,
        "name": setting.name,
        "kafka_name": name,
        "alias": setting.alias or None,
        "documentation": setting.documentation or _kafkas_documentation(name),
        "sensitive": reason not in (ValueState.PRESENT, ValueState.CUSTOM),
        "releases_read": [_version(library.releases[0]), _version(library.releases[-1])],
        "history": history,
        "rules": [f"{rule.code} {rule.name}" for rule in EVERY_RULE if name in rule.keys],
    }


def _setting(of: Dialect, library: Library, key: str) -> KnownSetting | None:
    """By the library's own name, or by Kafka's."""
    return library.setting(key) or next((library.setting(own) for kind in ClientType if (own := own_name(of, library, key, kind))), None)


def _kafka_name(of: Dialect, setting: KnownSetting) -> str:
    kinds = [client_type for client_type in ClientType if client_type.value in setting.kinds]
    return of.kafka_name(setting.name, kinds[0] if kinds else ClientType.PRODUCER)


def _kafkas_documentation(name: str) -> str | None:
    found = libraries()["java"].setting(name)
    return found.documentation if found and found.documentation else None


def _periods(setting: KnownSetting, kind: str, release: Release) -> list[Explained]:
    """The whole history; of a release what holds in it."""
    if not release:
        return [_period(each.release, each.facts) for each in setting.kinds[kind]]
    held = [each for each in setting.kinds[kind] if each.release <= release]
    return [_period(held[-1].release, held[-1].facts)] if held else []


def _period(since: Release, facts: Facts | None) -> Explained:
    """What holds since a release; ``since`` is null for the oldest release read, and before."""
    return {
        "since": _version(since) or None,
        "type": Type(facts.type).name.lower() if facts else None,
        "default": facts.default if facts else None,
        "allowed": str(facts.allowed) if facts and facts.allowed else None,
        "deprecated": bool(facts and facts.deprecated),
        "removed": facts is None,
    }


def text(each: Explained) -> Iterator[str]:
    """Its lines, of any width."""
    other = f", {each['kafka_name']} of Kafka" if each["kafka_name"] != each["name"] else ""
    alias = f", another name of {each['alias']}" if each["alias"] else ""
    yield f"{each['name']} of {each['library']}{other}{alias}"
    if each["documentation"]:
        yield f"  {each['documentation']}"
    if each["sensitive"]:
        yield "  Its value is sensitive: it is not recorded."
    for kinds, periods in each["history"].items():
        yield f"  {kinds}"
        for period in periods:
            since = period["since"] or f"{each['releases_read'][0]} or earlier"
            yield f"    since {since}: {_said(period)}"
    if not each["history"]:
        yield "  The release doesn't have it."
    if each["rules"]:
        yield f"  Rules: {', '.join(each['rules'])}"
    yield f"  Releases read: {each['releases_read'][0]} to {each['releases_read'][1]}"


def _said(period: Explained) -> str:
    if period["removed"]:
        return "gone"
    default = "no default" if period["default"] is None else f"default {period['default'] or 'empty'}"
    parts = [period["type"] or "", default, f"allowed: {period['allowed']}" if period["allowed"] else ""]
    return "; ".join(filter(None, [*parts, "deprecated" if period["deprecated"] else ""]))


def _hint(key: str, wanted: Sequence[Dialect]) -> str:
    if any(key.upper() == rule.code for rule in EVERY_RULE):
        return f"that is a rule: clientscope rules {key}"
    names = sorted({name for each in wanted for name in libraries()[each.name].names})
    near = get_close_matches(key[:_LONGEST], names, n=3, cutoff=0.7)
    return f"did you mean {' or '.join(near)}?" if near else "give a setting as the library's documentation has it, such as linger.ms"


def _version(release: Release) -> str:
    return ".".join(map(str, release))
