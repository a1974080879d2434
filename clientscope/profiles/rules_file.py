"""Reader of a user's rules file: own profiles, their assignment to clients, and suppressions.

```toml
default = "msk"                      # the profile of everybody who isn't assigned another; apache without it

[profiles.payments]
base = "durable"                     # apache without it
on = ["AN107"]
off = ["AN112"]
[profiles.payments.limits.AN107]     # names as `clientscope rules AN107` lists them
delivery_timeout_ms = 90000

[[assign]]                           # the first one that fits decides
profile = "payments"
group = "payments-*"

[[suppress]]
code = "AN112"
client_id = "legacy-*"
reason = "its brokers are too old for zstd"
until = 2027-01-31
```
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from clientscope.errors import SettingsError
from clientscope.model.fields import sentence
from clientscope.profiles.client_patterns import ClientPattern, FilePattern
from clientscope.profiles.suppressions import Suppression
from clientscope.profiles.thresholds import APACHE, BUILT_IN, Profile, ProfileChoice, Thresholds
from clientscope.profiles.toml_tables import Place, TomlFile, named

Known = Mapping[str, Iterable[str]]
"""Every rule's code → the names of its limits."""

_HINT = "docs/lint.md describes the rules file"


@dataclass(frozen=True)
class RulesFile:
    """What a rules file says; empty for none."""

    thresholds: Thresholds = field(default_factory=Thresholds)
    suppressions: tuple[Suppression, ...] = ()


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Profile(_Table):
    base: str = APACHE.name
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    limits: dict[str, dict[str, float]] = Field(default_factory=dict)


class _Assignment(ClientPattern):
    profile: str


class _Suppression(FilePattern):
    code: str
    reason: Annotated[str, Field(min_length=1), AfterValidator(sentence)]
    until: date


class _File(_Table):
    default: str = APACHE.name
    profiles: dict[str, _Profile] = Field(default_factory=dict)
    assign: tuple[_Assignment, ...] = ()
    suppress: tuple[_Suppression, ...] = ()


def read(path: Path, known: Known) -> RulesFile:
    """What a file says, checked against the rules that there are.

    Raises:
        SettingsError: it can't be read, or something in it is wrong; says the line and the key.
    """
    file = TomlFile(path, _HINT)
    return _Checked(file, file.model(_File), known).result()


def by_name(rules: RulesFile, name: str) -> Thresholds:
    """One profile for every client, whatever is assigned.

    Raises:
        SettingsError: no profile, built in or of the file, has this name.
    """
    every = {**BUILT_IN, **{profile.name: profile for profile in rules.thresholds.profiles}}
    if name not in every:
        raise SettingsError(f"unknown profile {name!r}", f"known: {', '.join(every)}")
    return Thresholds((every[name],))


def unknown(profile: Profile, known: Known) -> Iterable[tuple[Place, str]]:
    """What a profile names that no rule has: where in the profile, and what is wrong."""
    for kind, codes in (("on", profile.on), ("off", profile.off)):
        for code in sorted(codes - set(known)):
            yield (kind,), f"no rule has the code {code}"
    for code, limits in profile.limits.items():
        if code not in known:
            yield ("limits", code), f"no rule has the code {code}"
            continue
        names = sorted(known[code])
        for name in limits:
            if name not in names:
                yield ("limits", code, name), f"{code} has no limit {name}, but: {', '.join(names) or 'none'}"


class _Checked:
    def __init__(self, file: TomlFile, model: _File, known: Known) -> None:
        self._file = file
        self._model = model
        self._known = known
        self._profiles = dict(BUILT_IN)

    def result(self) -> RulesFile:
        for name in self._model.profiles:
            self._profile(name, ())
        names = list(self._profiles)
        self._exists(self._model.default, ("default",))
        assignments = []
        for index, entry in enumerate(self._model.assign):
            self._exists(entry.profile, ("assign", index, "profile"))
            entry.require_some(self._file, ("assign", index), "give it principal, group or client_id; default is for everybody")
            assignments.append((entry, names.index(entry.profile)))
        thresholds = Thresholds(tuple(self._profiles.values()), ProfileChoice(tuple(assignments), names.index(self._model.default)))
        return RulesFile(thresholds, tuple(map(self._suppression, range(len(self._model.suppress)))))

    def _profile(self, name: str, under_way: tuple[str, ...]) -> Profile:
        """A profile laid over what it is based on."""
        if name not in self._model.profiles or (name in self._profiles and name not in BUILT_IN):
            return self._profiles[name]
        place = ("profiles", name)
        if name in BUILT_IN:
            raise self._file.error(place, f"profiles.{name}: this name is taken by a built-in profile", "give it a name of its own")
        if name in under_way:
            raise self._file.error((*place, "base"), f"profiles.{name}.base: it is based on itself")
        table = self._model.profiles[name]
        for code in sorted(set(table.on) & set(table.off)):
            raise self._file.error((*place, "off"), f"profiles.{name}: {code} is both on and off")
        if table.base not in self._model.profiles:
            self._exists(table.base, (*place, "base"))
        made = Profile(name, frozenset(table.off), frozenset(table.on), table.limits)
        for where, wrong in unknown(made, self._known):
            raise self._file.error((*place, *where), f"profiles.{name}.{'.'.join(map(str, where))}: {wrong}", "see: clientscope rules")
        self._profiles[name] = made.over(self._profile(table.base, (*under_way, name)))
        return self._profiles[name]

    def _exists(self, name: str, place: Place) -> None:
        every = {**self._profiles, **self._model.profiles}
        if name not in every:
            raise self._file.error(place, f"{place[-1]}: unknown profile {name!r}", f"known: {', '.join(every)}")

    def _suppression(self, index: int) -> Suppression:
        entry = self._model.suppress[index]
        place: Place = ("suppress", index)
        if entry.code not in self._known:
            code = (*place, "code")
            raise self._file.error(code, f"{named(code)}: no rule has the code {entry.code}", "see: clientscope rules")
        entry.require_some(self._file, place, "set principal, group, client_id or path; for all clients, switch the rule off in a profile")
        return Suppression(entry.code, entry, entry.reason, entry.until, f"{self._file.path}:{self._file.line(place)}")
