"""Thresholds of a profile, and the choice of the profile for a client."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from clientscope.profiles.client_patterns import ClientPattern, PatternSubject


@dataclass(frozen=True)
class Profile:
    """Which rules are off, and by which limits the others judge.

    Attributes:
        off: codes of rules that are switched off.
        on: codes of rules that are on, though the profile that this one is based on switches them off.
        limits: code → name of the limit → value, where it differs from the rule's own.
        addresses: domains of a service's brokers.
    """

    name: str
    off: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()

    def over(self, base: Profile) -> Profile:
        """This one's choices laid over another's."""
        codes = {**base.limits, **self.limits}
        return Profile(
            self.name,
            (base.off - self.on) | self.off,
            self.on,
            {code: {**base.limits.get(code, {}), **self.limits.get(code, {})} for code in codes},
        )


APACHE = Profile("apache")
"""The rules as they are: all of them, with their own limits."""


@dataclass(frozen=True)
class ProfileChoice:
    """The first assignment that fits decides.

    Attributes:
        assignments: patterns of clients, each with the index of its profile.
        default: the index for all other clients.
    """

    assignments: tuple[tuple[ClientPattern, int], ...] = ()
    default: int = 0

    def __call__(self, principal: str | None, group: str | None, client_id: str | None) -> int:
        """The index of the profile that holds for this client."""
        client = PatternSubject(principal, group, client_id)
        return next((index for pattern, index in self.assignments if pattern.fits(client)), self.default)


@dataclass(frozen=True)
class Thresholds:
    """What all clients are judged by.

    Attributes:
        choose: principal, group.id, client.id (None where not known) → index of the profile in ``profiles``.
    """

    profiles: tuple[Profile, ...] = (APACHE,)
    choose: Callable[[str | None, str | None, str | None], int] = field(default_factory=ProfileChoice)


# Built-in profiles: TOML files beside this one, each value with its source.

_FILES = ("msk", "eventhubs", "confluent-cloud", "low-latency", "durable")


def sources(name: str) -> dict[str, str]:
    """What a built-in profile says → where that comes from: ``on AN107``, ``off AN112`` or ``AN107 delivery_timeout_ms``."""
    table = _read(name)
    return {f"{kind} {code}": source for kind in ("on", "off") for code, source in table.get(kind, {}).items()} | {
        f"{code} {limit}": stated["source"] for code, limits in table.get("limits", {}).items() for limit, stated in limits.items()
    }


def _profile(name: str) -> Profile:
    table = _read(name)
    limits = {code: {limit: float(stated["value"]) for limit, stated in limits.items()} for code, limits in table.get("limits", {}).items()}
    return Profile(name, frozenset(table.get("off", {})), frozenset(table.get("on", {})), limits, tuple(table.get("addresses", ())))


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(files("clientscope.profiles").joinpath(f"{name}.toml").read_text("utf-8"))


BUILT_IN: dict[str, Profile] = {APACHE.name: APACHE, **{name: _profile(name) for name in _FILES}}


def of_addresses(servers: str) -> Profile | None:
    """The profile of the service whose brokers are in a list of addresses; None for any other."""
    hosts = [address.strip().rpartition("//")[2].partition(":")[0].lower() for address in servers.split(",")]
    suffixes = ((f".{domain}", profile) for profile in BUILT_IN.values() for domain in profile.addresses)
    return next((profile for suffix, profile in suffixes for host in hosts if host.endswith(suffix)), None)
