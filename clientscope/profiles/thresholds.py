"""Thresholds of a profile, and the choice of the profile for a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from clientscope.profiles.client_patterns import ClientPattern, PatternSubject


@dataclass(frozen=True)
class Profile:
    """Which rules are on, and by which limits they judge.

    Attributes:
        off: codes of rules that are switched off.
        on: codes of rules that are switched on, though the rule itself says otherwise.
        limits: code → name of the limit → value, where it differs from the rule's own.
    """

    name: str
    off: frozenset[str] = frozenset()
    on: frozenset[str] = frozenset()
    limits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def over(self, base: Profile) -> Profile:
        """This one's choices laid over another's."""
        codes = {**base.limits, **self.limits}
        return Profile(
            self.name,
            (base.off - self.on) | self.off,
            (base.on - self.off) | self.on,
            {code: {**base.limits.get(code, {}), **self.limits.get(code, {})} for code in codes},
        )


APACHE = Profile("apache")
"""The rules as they are: their own limits, and those on that say so of themselves."""


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
