"""Contradictions (AN405): clients whose requests show other values than they push or log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from clientscope.catalog.configs import TYPES, ClientType, Type
from clientscope.catalog.dialects import dialect_of
from clientscope.catalog.dialects.java import JAVA
from clientscope.catalog.request_settings import BETWEEN
from clientscope.findings.fingerprints import fingerprint
from streaming.findings import fleet
from streaming.findings.inputs import JudgedPush

_COMPARED = (Type.BOOLEAN, Type.INT, Type.SHORT, Type.LONG)
_CHOICES = frozenset({"acks", "compression.type", "group.protocol", "isolation.level", "share.acquire.mode"})
_CLIENT_TYPES = tuple(ClientType)

_SEEN_AGAIN_MS = 30_000
"""By then a gateway has recorded what a client's requests show since it started, if that is anything else: it takes some five seconds."""

Pair = tuple[JudgedPush, JudgedPush]
"""What a client says, and what was seen of its requests."""


def contradictions(
    pairs: Iterable[Pair], live: fleet.Live, judges: fleet.Judges, under_way: Iterable[str], now_ms: int
) -> dict[str, fleet.Found]:
    """One finding for each application that has such a client.

    A client that has just started with other settings contradicts nothing yet: what was seen is of its start before.

    Args:
        under_way: fingerprints of those that are already reported; a start doesn't end them.
    """
    reported = set(under_way)
    differ: dict[str, dict[str, tuple[str, list[str]]]] = defaultdict(dict)
    at_ms: dict[str, int] = {}
    for said, seen in pairs:
        if judges.limits(fleet.CONTRADICTION, said.application) is None:
            continue
        older = seen.appended_ms < said.appended_ms and now_ms - said.appended_ms < _SEEN_AGAIN_MS
        if older and fingerprint(fleet.CONTRADICTION.code, said.application, "") not in reported:
            continue
        for key, (value, shown) in differences(said, seen).items():
            line = f"{key}: {fleet.shown(value)} by the client, {fleet.shown(shown)} in its requests"
            differ[said.application].setdefault(key, (value, [line]))
            at_ms[said.application] = max(at_ms.get(said.application, 0), seen.appended_ms, said.appended_ms)
    found: dict[str, fleet.Found] = {}
    for application, keys in differ.items():
        in_order = {key: keys[key] for key in sorted(keys)}
        found |= fleet.one(fleet.CONTRADICTION, application, in_order, fleet.of_application(live, application), at_ms[application])
    return found


def differences(said: JudgedPush, seen: JudgedPush) -> dict[str, tuple[str, str]]:
    """Kafka's name → the value that the client says, and the one that its requests show, as far as they can be compared."""
    if said.client_type < 0:
        return {}
    known = {key: value for key, value in said.settings.items() if isinstance(value, str)}
    values = _kafkas(said.software_name, said.software_version, said.client_type, tuple(known.items()))
    found = {}
    for key, shown in seen.settings.items():
        if key in values and isinstance(shown, str) and BETWEEN not in shown and _is_compared(key) and _differ(values[key], shown):
            found[key] = values[key], shown
    return found


@lru_cache(maxsize=4_096)
def _kafkas(software_name: str, version: str, client_type: int, settings: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Under Kafka's names and in its spelling, with what settings make of each other."""
    dialect, of = dialect_of(software_name) or JAVA, _CLIENT_TYPES[client_type]
    values: dict[str, str | None] = {}
    for name, text in settings:
        key = dialect.kafka_name(name, of)
        values[key] = dialect.kafka_value(name, key, text)
    values |= dialect.settle(of, values, list(values), dialect.release_of(version))
    return {key: text for key, text in values.items() if text is not None}


def _is_compared(key: str) -> bool:
    return key in _CHOICES or TYPES.get(key) in _COMPARED


def _differ(said: str, shown: str) -> bool:
    try:
        return int(said) != int(shown)
    except ValueError:
        return said.strip().lower() != shown
