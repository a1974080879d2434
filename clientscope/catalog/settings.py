"""Every setting of the client libraries, release by release: type, default, what is allowed, deprecation, and one sentence about it.

The data are in ``settings.json``, read from the libraries themselves by ``tools/catalogue.py``; tests compare it with the
libraries that are installed. Which settings are sensitive, `clientscope.catalog.sensitive` says, by name and type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

DATA = resources.files("clientscope.catalog").joinpath("settings.json")

Release = tuple[int, ...]
"""A version's leading numbers, such as (3, 9, 2); empty for a version that isn't known, which counts as the newest."""


def numbers(version: str) -> Release:
    """The leading numbers of a version as software reports it."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(int(number[:9]) for number in found[1].split(".")) if found else ()


class Allowed(NamedTuple):
    """What a library takes as a value.

    Attributes:
        form: ``range``, ``words``, ``any case`` (words, in upper or lower case), ``list`` (of such words), or ``filled`` (not empty).
        least, most: of a range, in the setting's own unit; None for no bound.
        words: the words; one that ends in a colon and a pattern (``by_duration:…``) stands for all that begin so. Of a range, what is taken
            beside it.
    """

    form: str
    least: float | None = None
    most: float | None = None
    words: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As a person reads it: ``0 to 5``, ``at least 1``, ``all, -1, 0 or 1``."""
        beside = [*self.words]
        if self.form == "range":
            least, most = ("" if end is None else f"{end:,}".replace(",", "") for end in (self.least, self.most))
            beside.insert(0, f"{least} to {most}" if least and most else f"at least {least}" if least else f"at most {most}")
        if self.form == "filled":
            return "not empty"
        text = f"{', '.join(beside[:-1])} or {beside[-1]}" if len(beside) > 1 else beside[0]
        return f"a list of {text}" if self.form == "list" else text

    def takes(self, text: str) -> bool:
        """Whether a value is one of these; what isn't a number is no matter of a range."""
        text = text.strip()
        if self.form == "filled":
            return bool(text)
        if self.form == "range":
            number = _number(text)
            within = number is None or ((self.least is None or number >= self.least) and (self.most is None or number <= self.most))
            return within or text in self.words
        if self.form == "any case":
            return text.lower() in {word.lower() for word in self.words}
        parts = [part.strip() for part in text.split(",") if part.strip()] if self.form == "list" else [text]
        return all(part in self.words or self._begins(part) for part in parts)

    def or_what(self, other: Allowed) -> Allowed | None:
        """What either takes; None for anything, where they can't be said together."""
        forms = {self.form, other.form}
        form = self.form if len(forms) == 1 else "any case" if forms == {"words", "any case"} else None
        if form is None:
            return None
        words = tuple(dict.fromkeys((*self.words, *other.words)))
        ends = ((self.least, other.least), (self.most, other.most))
        least, most = (None if None in each else choose(each) for each, choose in zip(ends, (min, max), strict=True))  # type: ignore[type-var]
        return Allowed(form, least, most, words)

    def _begins(self, text: str) -> bool:
        head, colon, _ = text.partition(":")
        return bool(colon) and any(word.startswith(f"{head}:") for word in self.words)


class Facts(NamedTuple):
    """What holds of a setting since a release.

    Attributes:
        type: the ordinal of its `clientscope.catalog.configs.Type`.
        default: in the library's text; None for none.
        allowed: None where it takes all values of its type.
    """

    type: int
    default: str | None = None
    allowed: Allowed | None = None
    deprecated: bool = False


class Since(NamedTuple):
    """What a release changed.

    Attributes:
        release: empty for the oldest release that was read, and those before it.
        facts: None where the setting is gone.
    """

    release: Release
    facts: Facts | None


class KnownSetting(NamedTuple):
    """A library's setting.

    Attributes:
        alias: the name that the library has for it beside this one; empty for none.
        kinds: kind of client → its history, oldest first.
        changed: kinds of clients for which releases differ in the values that they take.
    """

    name: str
    documentation: str
    alias: str
    kinds: Mapping[str, tuple[Since, ...]]
    changed: frozenset[str]

    def now(self, kind: str, release: Release) -> Facts | None:
        """What holds in a release; of an unknown one in the newest; None where the setting isn't there."""
        return next((each.facts for each in reversed(self.kinds.get(kind, ())) if not release or each.release <= release), None)

    def ever(self, kind: str) -> Facts:
        """What holds in the newest release that has it, with what others have taken: for a release that isn't known.

        Where the check of a value came with a later release, it counts, since earlier ones failed elsewhere.
        """
        every = [each.facts for each in self.kinds[kind] if each.facts]
        allowed = every[-1].allowed
        for facts in every[:-1]:
            allowed = allowed and (allowed.or_what(facts.allowed) if facts.allowed else allowed)
        return every[-1]._replace(allowed=allowed)

    def stopped(self, kind: str, text: str) -> Release:
        """The release that takes a value no longer which an earlier one took, and no later one takes; empty for none."""
        history = self.kinds.get(kind, ())
        taken = [each.facts is None or each.facts.allowed is None or each.facts.allowed.takes(text) for each in history]
        after_last = max((place + 1 for place, takes in enumerate(taken) if takes), default=len(history))
        return history[after_last].release if after_last < len(history) else ()


class Library:
    """A client library's settings.

    Attributes:
        releases: those that were read, oldest first.
    """

    def __init__(self, name: str, data: Mapping[str, Any]) -> None:
        self.name = name
        self.releases = tuple(numbers(release) for release in data["releases"])
        self._rows: Mapping[str, Any] = data["settings"]
        self._made: dict[str, KnownSetting] = {}

    @property
    def names(self) -> frozenset[str]:
        """Of all kinds of clients and all releases."""
        return frozenset(self._rows)

    def setting(self, name: str) -> KnownSetting | None:
        """A setting by its name; None where no release has it."""
        if name not in self._made:
            row = self._rows.get(name)
            if row is None:
                return None
            kinds = {kind: self._history(changes) for of, changes in row["of"].items() for kind in of.split()}
            changed = {kind for kind, history in kinds.items() if len({each.facts and each.facts.allowed for each in history}) > 1}
            self._made[name] = KnownSetting(name, row.get("doc", ""), row.get("alias", ""), kinds, frozenset(changed))
        return self._made[name]

    def newest_types(self, kinds: AbstractSet[str]) -> dict[str, int]:
        """The newest type of each setting that a client of these kinds has still, and that isn't internal."""
        found = {}
        for name, row in sorted(self._rows.items()):
            for of, changes in row["of"].items():
                if changes[-1][1] is not None and not name.startswith("internal.") and not kinds.isdisjoint(of.split()):
                    found[name] = changes[-1][1][0]
        return found

    def defaults(self, kind: str) -> dict[str, dict[str, str | None]]:
        """Each setting's default: release → what it is since then, None for none. Those that never had one are left out."""
        made: dict[str, dict[str, str | None]] = {}
        for name, row in self._rows.items():
            changes: list[Any] = next((changes for of, changes in row["of"].items() if kind in of.split()), [])
            since: dict[str, str | None] = {}
            for release, facts in changes:
                default = (facts[1] if facts and len(facts) > 1 else None) or None
                if default != next(reversed(since.values()), None):
                    since[release] = default
            if since:
                made[name] = since
        return made

    def read_before(self, release: Release) -> Release:
        """The release that was read before this one: what changed may have changed in any release after it."""
        return max((each for each in self.releases if each < release), default=())

    def read_up_to(self, release: Release) -> Release:
        """The newest release that was read up to this one, by which the same holds; (0,) for one before all, empty for an unknown one."""
        return max((each for each in self.releases if each <= release), default=(0,)) if release else ()

    def _history(self, changes: list[list[Any]]) -> tuple[Since, ...]:
        made = [Since(numbers(release), None if facts is None else _facts(*facts)) for release, facts in changes]
        return tuple(Since(() if each.release == self.releases[0] else each.release, each.facts) for each in made)


def _facts(of_type: int, default: str | None = None, allowed: list[Any] | None = None, deprecated: bool = False) -> Facts:
    return Facts(of_type, default, _allowed(*allowed) if allowed else None, deprecated)


def _allowed(form: str, *rest: Any) -> Allowed:
    if form == "range":
        least, most, *words = rest
        return Allowed(form, least, most, tuple(map(str, words)))
    return Allowed(form, words=tuple(word for word in rest if word is not None))  # null is that it isn't set


def _number(text: str) -> float | None:
    try:
        return float(text) if len(text) <= 64 else None
    except ValueError:
        return None


@cache
def libraries() -> Mapping[str, Library]:
    """All of them, by the names of their dialects."""
    data = json.loads(DATA.read_text("utf-8"))["libraries"]
    return {name: Library(name, each) for name, each in data.items()}
