"""Settings of a push, held against the catalogue: what each name is to the client's library, release and kind, which values it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from clientscope.catalog.configs import ClientType, Type
from clientscope.catalog.placeholders import is_filled_in
from clientscope.catalog.setting_names import LONGEST, NameJudgement, NameState, judge, kinds_of
from clientscope.catalog.settings import libraries
from clientscope.records.config_record import RecordedSetting
from udfs.rules.engine.rule import Positions, SettingOf
from udfs.rules.engine.vocabulary import KnownSoftware

if TYPE_CHECKING:
    from udfs.rules.engine.push import Push

MOST_SEARCHED = 1_024
"""Distinct unknown names of a batch, or of a file, for which the name that is meant is looked for: a tenth of a second of a core."""
NOT_SEARCHED = f"not looked up: more than {MOST_SEARCHED:,} names are unknown"


class CheckedSettings:
    """
    Attributes:
        judgements: of each setting; None where the library is unknown.
        unknown: the unknown names for which another may be meant, each with the position of its setting.
        left_out: positions of those for which that name wasn't looked for.
    """

    def __init__(
        self,
        settings: Sequence[RecordedSetting],
        keys: Sequence[str | None],
        software: KnownSoftware,
        client_type: ClientType | None,
        complete: bool,
        was_seen: bool,
    ) -> None:
        """
        Args:
            keys: Kafka's of each setting; None where it has none.
            client_type: None where it isn't known, or several clients share the settings: each has some of the others'.
            complete: the settings are a user's own, in a file.
            was_seen: they were seen of a client's requests.
        """
        self._settings, self._keys, self._software, self._client_type = settings, keys, software, client_type
        self._complete, self._was_seen = complete, was_seen
        self.judgements: list[NameJudgement | None] = [None] * len(settings)
        self.unknown: dict[tuple[object, ...], int] = {}
        self.left_out: frozenset[int] = frozenset()
        self._is_searched = False
        if software.dialect is None:
            return
        for place, setting in enumerate(settings):
            found = self.judgements[place] = judge(software.dialect, software.release, client_type, setting.key, complete, search=False)
            if found.state is NameState.UNKNOWN and len(setting.key) <= LONGEST:
                self.unknown[software, client_type, setting.key] = place

    def search(self, looked_for: set[tuple[object, ...]]) -> None:
        """Looks for the names that are meant.

        Args:
            looked_for: names of other pushes for which that was done; this push's are added, up to `MOST_SEARCHED`.
        """
        self._is_searched = True
        left_out = set()
        for name, place in self.unknown.items():
            if name in looked_for or len(looked_for) < MOST_SEARCHED:
                looked_for.add(name)
                assert self._software.dialect is not None
                self.judgements[place] = judge(
                    self._software.dialect, self._software.release, self._client_type, self._settings[place].key, self._complete
                )
            else:
                left_out.add(place)
        self.left_out = frozenset(left_out)

    @property
    def searched(self) -> bool:
        """Whether the names that may be meant were looked for, of all its unknown ones."""
        self._require_search()
        return not self.left_out

    def _require_search(self) -> None:
        if not self._is_searched:
            self.search(set())

    def named(self, *states: NameState) -> Positions:
        """The settings whose names are such, of those that somebody wrote.

        What a library has by default is nobody's mistake, and what was seen of a client isn't what somebody wrote.
        """
        self._require_search()
        return sorted(place for state in states for place in self._by_state.get(state, ()))

    @cached_property
    def _by_state(self) -> dict[NameState, list[int]]:
        found: dict[NameState, list[int]] = {}
        for place, (setting, each) in enumerate(zip(self._settings, self.judgements, strict=True)):
            if each is not None and not setting.default and not self._was_seen:
                found.setdefault(each.state, []).append(place)
        return found

    def type_of(self, place: int) -> int:
        """A setting's type by the library, or STRING where that isn't known."""
        found = self.judgements[place]
        return found.facts.type if found and found.facts else Type.STRING

    @cached_property
    def constrained(self) -> Positions:
        """The settings that have a value, of which the library takes only some; not of those that were seen."""
        if self._was_seen:
            return []
        return [
            place
            for place, each in enumerate(self.judgements)
            if each and each.facts and each.facts.allowed and self._settings[place].value is not None
        ]

    def refused_by(self, *forms: str) -> Positions:
        """Those of `constrained` that the library doesn't take, whatever they are beside others.

        Args:
            forms: of what is allowed.
        """
        return [place for place, form in self._refused.items() if form in forms]

    @cached_property
    def _refused(self) -> Mapping[int, str]:
        """The same by any form, with that."""
        found = {}
        for place in self.constrained:
            judgement, text = self.judgements[place], self._settings[place].value
            allowed = judgement.facts.allowed if judgement and judgement.facts else None
            assert allowed is not None and text is not None
            if not allowed.takes(text) and not (self._complete and is_filled_in(text)):
                found[place] = allowed.form
        return found

    def outdated(self) -> Iterator[SettingOf]:
        """The settings whose value the client's release takes, and the newest doesn't; each with the release that changed it."""
        library = libraries()[self._software.dialect.name] if self._software.dialect else None
        kinds = kinds_of(self._client_type)
        for place in self.constrained:
            key, text = self._settings[place].key, self._settings[place].value
            known = library.setting(key) if library else None
            assert known is not None and text is not None
            for kind in (kind for kind in kinds if kind in known.changed and place not in self._refused):
                newest = known.now(kind, ())
                if newest and newest.allowed and (since := known.stopped(kind, text)):
                    note = f"not since {'.'.join(map(str, since))}; allowed: {newest.allowed}"
                    yield SettingOf(key, text, "default" if self._settings[place].default else "set", note=note)
                    break

    @property
    def twice(self) -> Positions:
        """Settings that were set under another name, too."""
        places: dict[str, dict[str, int]] = {}
        for place, (setting, key) in enumerate(zip(self._settings, self._keys, strict=True)):
            if key is not None:
                places.setdefault(key, {})[setting.key] = place
        return sorted(place for of_key in places.values() if len(of_key) > 1 for place in of_key.values())

    def evidence(self, positions: Iterable[int], note: str = "") -> list[SettingOf]:
        """The settings at these positions, by the names that they were given.

        Args:
            note: what is said of each; ``{instead}``, ``{since}`` and ``{allowed}`` are filled in.
        """
        found = []
        for place in positions:
            setting, judgement = self._settings[place], self.judgements[place]
            # A name that nobody knows may have anything as its value.
            shown = setting.value if judgement and judgement.facts else None
            said = NOT_SEARCHED if place in self.left_out else _note(judgement, note)
            found.append(SettingOf(setting.key, shown, "default" if setting.default else "set", note=said or None))
        return found


def search_names(pushes: Iterable[Push]) -> None:
    """Looks for the names that are meant in a batch of pushes, within one bound.

    Pushes with few unknown names come first: one with hundreds takes nothing from the others.
    """
    looked_for: set[tuple[object, ...]] = set()
    for push in sorted(pushes, key=lambda push: len(push.checked.unknown)):
        push.checked.search(looked_for)


def _note(judgement: NameJudgement | None, note: str) -> str:
    if judgement is None or ("{instead}" in note and not judgement.instead):
        return ""
    allowed = judgement.facts.allowed if judgement.facts else None
    return note.format(instead=judgement.instead, since=".".join(map(str, judgement.since)), allowed=allowed)
