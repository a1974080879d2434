"""A pushed configuration as rules judge it: under Kafka's names and in its spelling, with what a client's library makes of it.

A key that wasn't pushed is not known, since ``config.push.allowed.keys`` replaces KIP-1324's list. Defaults are filled in only where a push
shows that its client leaves them out, and everywhere where the settings are complete, as in a file.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from clientscope.catalog import vocabulary as v
from clientscope.catalog.configs import DEFAULT_KEYS, ClientType
from clientscope.catalog.placeholders import is_filled_in
from clientscope.catalog.request_settings import BETWEEN, weakest
from clientscope.catalog.setting_names import LONGEST, NameJudgement, NameState, judge, kinds_of
from clientscope.catalog.settings import Allowed, Facts, KnownSetting, libraries
from clientscope.model.client_key import Tenant, tenant_of
from clientscope.model.enums import Origin
from clientscope.model.setting import Setting, SettingOrigin
from clientscope.policy.redaction import JudgedRecord
from clientscope.profiles import APACHE, Profile, Thresholds

MOST_SEARCHED = 1_024
"""Distinct unknown names of a batch, or of a file, for which the name that is meant is looked for: a tenth of a second of a core."""
NOT_SEARCHED = f"not looked up: more than {MOST_SEARCHED:,} names are unknown"
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 128, 4_096
"""Names of a push, and their characters together, that are remembered: nobody can fill the memory with them."""
_CONSUMERS = {ClientType.CONSUMER, ClientType.SHARE_CONSUMER}
_ADMIN_NUMBERS = frozenset(DEFAULT_KEYS[ClientType.ADMIN]) - v.IDENTIFIERS


@dataclass(slots=True)
class EffectiveValue:
    """What a client has of one key.

    Attributes:
        text: None where it isn't known, as for a key that is a number.
        number: NaN where it isn't known.
        place: of the setting in the push; None for a default that was filled in.
        asked: the text before other settings changed it.
    """

    origin: SettingOrigin
    text: str | None
    number: float
    place: int | None
    asked: str | None

    @property
    def shown(self) -> str | None:
        """The value as Kafka writes it; None where it isn't known."""
        return v.number_text(self.number) if self.text is None else self.text


_UNKNOWN = EffectiveValue("observed", None, math.nan, None, None)
"""Of a key that isn't known to have a value: nobody set it, nor is it a default."""


class PushedConfig:
    """One push, and what is known of its client.

    Attributes:
        record: its names are judged.
        settings: as they came, redacted.
        software: the client library.
        complete: whether the settings are all that there are.
        candidates: what the client may be, or, where ``shared``, what it is each of.
        shared: whether several clients share the settings, and each is judged.
        client_type: None where it isn't known, or several share the settings.
        keys: each setting's key; None where Kafka has none of that name, or of that client's.
        judgements: what each setting's name is to the client; None where the library is unknown.
        unknown: the unknown names for which another may be meant, each with the place of its setting.
        values: effective values by Kafka's key.
        was_seen: whether others saw it of a client's requests.
        whole: whether it holds all of KIP-1324's keys that have a value, so that what isn't there has none.
    """

    def __init__(
        self, judged: JudgedRecord, thresholds: Thresholds | None = None, complete: bool = False, client_type: ClientType | None = None
    ) -> None:
        """
        Args:
            thresholds: profiles; None is the rules' own limits.
            complete: the settings are all that were set, under the dialect's names, as in a file.
            client_type: whose settings they are, where it is known; else it is inferred from the keys.
        """
        self.record, self.complete = judged.record, complete
        self.settings: Sequence[Setting] = judged.record.listed() if judged.settings is None else judged.settings
        self._thresholds = thresholds
        # Others saw it of a client's requests: nobody wrote its settings so, and the client runs with them.
        self.was_seen = self.record.origin in (Origin.OBSERVED, Origin.REQUEST_LOG)
        self.software = v.software(self.record.software_name, self.record.software_version)
        self._names = _names_of(self.software, tuple([each.key for each in self.settings]), complete, client_type)
        self.candidates, self.shared, self.client_type = self._names.candidates, self._names.shared, self._names.client_type
        self.keys, self.judgements, self.unknown = self._names.keys, self._names.judgements, self._names.unknown
        self.values = dict(self._parsed())
        self.whole = complete
        self._left_out: set[int] = set()
        self._is_searched = False
        self._fill_in()

    def _parsed(self) -> Iterator[tuple[str, EffectiveValue]]:
        """What was pushed; the last of several settings of one key counts, as in a properties file."""
        for place, (setting, name, key) in enumerate(zip(self.settings, self._names.names, self.keys, strict=True)):
            if key is None:
                continue
            said, origin = setting.value, setting.origin
            if self.was_seen:
                origin = "observed"  # it isn't known which settings the user set
                if said is not None and self.has_several(setting):
                    said = weakest(setting.key, said)
            text, number = (None, math.nan) if said is None else v.value(self.software.dialect, name, key, said)
            yield key, EffectiveValue(origin, text, number, place, text)

    def _fill_in(self) -> None:
        """Fills in the defaults of a client that leaves them out, and applies what settings make of each other.

        A client pushes KIP-1324's keys unless ``config.push.allowed.keys`` names others, and then a missing key may have any value. So a
        push that holds a key beyond that list, or lacks one of the list that has a default, says nothing of what it lacks; unless it holds
        no default at all, and was pushed by something that knows only what the user set: Apache's own client knows more.
        """
        dialect, client_type, version = self.software.dialect, self.client_type, self.software.version
        if dialect is None or client_type is None:
            return
        listed, defaults = v.LISTED[client_type], v.defaults(dialect, client_type, version)
        leaves_out = False
        if not self.complete and self.keys and listed.issuperset(self.keys):
            leaves_out = not dialect.pushes_defaults and all(each.origin == "set" for each in self.values.values())
            lacking = (listed & defaults.keys()) - v.IDENTIFIERS - self.values.keys()
            self.whole = leaves_out or not lacking
        if self.complete or leaves_out:
            for key, text in defaults.items():
                if key not in self.values and (self.complete or key in listed):
                    self.values[key] = _default(key, text)
        if self.whole:
            self._settle(client_type, listed)

    def _settle(self, client_type: ClientType, listed: frozenset[str]) -> None:
        dialect = self.software.dialect
        assert dialect is not None
        there = [key for key in v.SETTLED_BY.get(client_type, ()) if key in self.values]
        before = {key: self.values[key].shown for key in there}
        given = [key for key in there if self.values[key].origin == "set"]
        for key, text in dialect.settle(client_type, before, given, self.software.release).items():
            if before.get(key) == text or not (self.complete or key in listed or key in self.values):
                continue
            held = self.values.setdefault(key, EffectiveValue("default", None, math.nan, None, None))
            settled = _default(key, text)
            held.text, held.number = settled.text, settled.number

    @cached_property
    def redacted(self) -> Sequence[Setting]:
        """Those of the settings whose value isn't there."""
        return [each for each in self.settings if each.redacted is not None]

    def has_several(self, setting: Setting) -> bool:
        """Whether a client's requests have shown several values of a setting."""
        return self.was_seen and setting.value is not None and BETWEEN in setting.value

    @property
    def software_known(self) -> bool:
        """Whether the software is of a library whose defaults are known."""
        return self.software.dialect is not None

    def number(self, key: str) -> float:
        """The effective value; NaN where it isn't known, or is no number."""
        return self.values.get(key, _UNKNOWN).number

    def text(self, key: str, settled: bool = True) -> str | None:
        """The effective value; None where it isn't known.

        Args:
            settled: after the effect of other settings; False for the value as pushed.
        """
        held = self.values.get(key, _UNKNOWN)
        return held.text if settled else held.asked

    def is_set(self, key: str) -> bool:
        """Whether the user set it."""
        return self.values.get(key, _UNKNOWN).origin == "set"

    def is_default(self, key: str) -> bool:
        """Whether it is the client's default."""
        return self.values.get(key, _UNKNOWN).origin == "default"

    def is_absent(self, key: str) -> bool:
        """Whether it is known to have no value at all."""
        if key in self.values:
            return False
        return self.complete or (self.whole and self.client_type is not None and key in v.LISTED[self.client_type])

    def is_seen_unset(self, key: str) -> bool:
        """Whether a gateway saw that the client has set nothing, and recorded it as the default that it is."""
        place = self.values.get(key, _UNKNOWN).place
        return place is not None and self.settings[place].origin == "default" and self.record.origin == Origin.OBSERVED

    def is_hidden(self, key: str) -> bool:
        """Whether there is a value that may not be shown."""
        place = self.values.get(key, _UNKNOWN).place
        return place is not None and self.settings[place].redacted is not None

    def untouched(self, key: str, client_type: ClientType, value: str) -> bool:
        """Whether a client of this software has this value when its user sets nothing; False where that isn't known."""
        dialect = self.software.dialect
        return dialect is not None and v.untouched(dialect, client_type, self.software.version).get(key) == value

    @cached_property
    def profile(self) -> Profile:
        """The profile that it is judged by."""
        if self._thresholds is None:
            return APACHE
        record = self.record
        return self._thresholds.profiles[self._thresholds.choose(record.principal, self.text("group.id"), record.client_id)]

    def evidence(self, keys: Iterable[str]) -> list[Setting]:
        """The effective values of these keys; what isn't known is left out."""
        return [self._evidence(key, held) for key in keys if (held := self.values.get(key)) is not None]

    def _evidence(self, key: str, held: EffectiveValue) -> Setting:
        text = held.shown
        if text is not None or held.place is None:
            return Setting(key, text, held.origin)
        setting = self.settings[held.place]
        return Setting(key, setting.value, held.origin, redacted=setting.redacted)

    def search(self, looked_for: set[tuple[object, ...]]) -> None:
        """Looks for the names that are meant.

        Args:
            looked_for: names of other pushes for which that was done; this push's are added, up to `MOST_SEARCHED`.
        """
        self._is_searched = True
        if not self.unknown:
            return
        assert self.software.dialect is not None, "no name is unknown to no library"
        of_client, judgements = (self.software.dialect, self.software.release, self.client_type), list(self.judgements)
        for name, place in self.unknown.items():
            searched = (*of_client, name)
            if searched in looked_for or len(looked_for) < MOST_SEARCHED:
                looked_for.add(searched)
                judgements[place] = judge(*of_client, name, self.complete, search=True)
            else:
                self._left_out.add(place)
        self.judgements = tuple(judgements)

    @property
    def searched(self) -> bool:
        """Whether the names that may be meant were looked for, of all its unknown ones."""
        self._require_search()
        return not self._left_out

    def _require_search(self) -> None:
        if not self._is_searched:
            self.search(set())

    def named(self, state: NameState) -> Sequence[int]:
        """The places of settings whose names are such, of those that somebody wrote.

        What a library has by default is nobody's mistake, and what was seen of a client isn't what somebody wrote.
        """
        self._require_search()
        return [] if self.was_seen else [place for place in self._names.by_state.get(state, ()) if self.settings[place].origin != "default"]

    def facts(self, place: int) -> Facts | None:
        """What the library takes under the name of a setting; None where that isn't known."""
        found = self.judgements[place]
        return found.facts if found else None

    @cached_property
    def constrained(self) -> Mapping[int, tuple[str, Allowed]]:
        """The places of settings that have a value, of which the library takes only some; each with both. Not of those that were seen."""
        if self.was_seen:
            return {}
        return {
            place: (text, allowed) for place, allowed in self._names.allowed.items() if (text := self.settings[place].value) is not None
        }

    def refused_by(self, *forms: str) -> Sequence[int]:
        """Those of `constrained` that the library doesn't take, whatever they are beside others.

        Args:
            forms: of what is allowed.
        """
        return [place for place, form in self._refused.items() if form in forms]

    @cached_property
    def _refused(self) -> Mapping[int, str]:
        """The same by any form, with that."""
        return {
            place: allowed.form
            for place, (text, allowed) in self.constrained.items()
            if not allowed.takes(text) and not (self.complete and is_filled_in(text))
        }

    def outdated(self) -> Iterator[Setting]:
        """The settings whose value the client's release takes, and the newest doesn't; each with the release that changed it."""
        for place, changes in self._names.changing.items():
            if place not in self.constrained or place in self._refused:
                continue
            setting, (text, _) = self.settings[place], self.constrained[place]
            for known, kind, newest in changes:
                if since := known.stopped(kind, text):
                    note = f"not since {'.'.join(map(str, since))}; allowed: {newest}"
                    yield Setting(setting.key, text, setting.origin, note=note)
                    break

    @property
    def twice(self) -> Sequence[int]:
        """The places of settings that were set under another name, too."""
        known = [key for key in self.keys if key is not None]
        if len(set(known)) == len(known):
            return []
        places: dict[str, dict[str, int]] = {}
        for place, (setting, key) in enumerate(zip(self.settings, self.keys, strict=True)):
            if key is not None:
                places.setdefault(key, {})[setting.key] = place
        return sorted(place for of_key in places.values() if len(of_key) > 1 for place in of_key.values())

    def noted(self, places: Iterable[int], note: str = "") -> list[Setting]:
        """The settings at these places, by the names that they were given.

        Args:
            note: what is said of each; ``{instead}``, ``{since}`` and ``{allowed}`` are filled in.
        """
        found = []
        for place in places:
            setting, facts = self.settings[place], self.facts(place)
            said = NOT_SEARCHED if place in self._left_out else _note(self.judgements[place], note)
            # A name that nobody knows may have anything as its value.
            found.append(Setting(setting.key, setting.value if facts else None, setting.origin, note=said or None))
        return found


class Names(NamedTuple):
    """What the names of a push's settings say by themselves, each at its place.

    Attributes:
        names: what they mean.
        candidates, shared, client_type, keys, judgements, unknown: a `PushedConfig` has them.
        by_state: the places of those that are such to the client.
        allowed: what the library takes, where that is only some values.
        changing: where the newest release takes other values: the setting, and by kind of client what it takes then.
    """

    names: Sequence[v.Name]
    candidates: frozenset[ClientType]
    shared: bool
    client_type: ClientType | None
    keys: Sequence[str | None]
    judgements: Sequence[NameJudgement | None]
    unknown: Mapping[str, int]
    by_state: Mapping[NameState, Sequence[int]]
    allowed: Mapping[int, Allowed]
    changing: Mapping[int, Sequence[tuple[KnownSetting, str, Allowed]]]


def _names_of(software: v.KnownSoftware, raw: tuple[str, ...], complete: bool, client_type: ClientType | None) -> Names:
    """The names of a push's settings. All clients of one kind push the same ones, so the last are remembered.

    Args:
        client_type: None where it is inferred.
    """
    is_usual = len(raw) <= _MOST_REMEMBERED and sum(map(len, raw)) <= _LONGEST_REMEMBERED
    return (_read_names if is_usual else _read_names.__wrapped__)(software, raw, complete, client_type)


@lru_cache(maxsize=256)
def _read_names(software: v.KnownSoftware, raw: tuple[str, ...], complete: bool, client_type: ClientType | None) -> Names:
    dialect, release = software.dialect, software.release
    names = [v.name(dialect, each, complete) for each in raw]
    candidates, shared = _inferred([each.keys[None] for each in names]) if client_type is None else (frozenset({client_type}), False)
    client_type = next(iter(candidates)) if len(candidates) == 1 and not shared else None
    judgements = tuple(judge(dialect, release, client_type, each, complete, search=False) if dialect else None for each in raw)
    unknown: dict[str, int] = {}
    by_state: defaultdict[NameState, list[int]] = defaultdict(list)
    allowed: dict[int, Allowed] = {}
    changing: defaultdict[int, list[tuple[KnownSetting, str, Allowed]]] = defaultdict(list)
    for place, (name, judgement) in enumerate(zip(raw, judgements, strict=True)):
        if dialect is None or judgement is None:
            continue
        by_state[judgement.state].append(place)
        if judgement.state is NameState.UNKNOWN and len(name) <= LONGEST:
            unknown[name] = place
        if judgement.facts and judgement.facts.allowed:
            allowed[place] = judgement.facts.allowed
            known = libraries()[dialect.name].setting(name)
            assert known is not None, "it has facts"
            for kind in kinds_of(client_type):
                newest = known.now(kind, ()) if kind in known.changed else None
                if newest and newest.allowed and newest.allowed != judgement.facts.allowed:
                    changing[place].append((known, kind, newest.allowed))
    keys = [each.keys[client_type] for each in names]
    return Names(names, candidates, shared, client_type, keys, judgements, unknown, by_state, allowed, changing)


def _inferred(keys: Sequence[str | None]) -> tuple[frozenset[ClientType], bool]:
    """Which client pushes these keys, since the protocol doesn't say; or, where several share them, which those are, and True.

    A key that one client alone has decides. Keys that can't be one client's (``acks`` and ``group.id``: a configuration that several
    clients share) make it each of those. A share consumer is recognised by a ``share.`` key, and an admin client by pushing nothing
    beyond KIP-1324's list for it, with both its numbers in it.
    """
    owners = [v.ALL_TYPES if key is None else v.OWNERS[key] for key in keys]  # a key that isn't Kafka's may be any client's
    common = v.ALL_TYPES.intersection(*owners)
    if not common:
        return frozenset().union(*(each for each in owners if len(each) == 1)), True
    if common == _CONSUMERS:
        is_share = any(key is not None and key.startswith("share.") for key in keys)
        return frozenset({ClientType.SHARE_CONSUMER if is_share else ClientType.CONSUMER}), False
    if ClientType.ADMIN in common and v.LISTED[ClientType.ADMIN].issuperset(keys) and _ADMIN_NUMBERS.issubset(keys):
        common = frozenset({ClientType.ADMIN})
    return common, False


def _default(key: str, text: str) -> EffectiveValue:
    is_number = key in v.NUMBERS
    return EffectiveValue("default", None if is_number else text, v.number(text) if is_number else math.nan, None, text)


def search_names(pushes: Iterable[PushedConfig]) -> None:
    """Looks for the names that are meant in a batch of pushes, within one bound.

    Pushes with few unknown names come first, by all that their client has in the batch: neither one push with hundreds nor a thousand with
    one take anything from other clients.
    """
    looked_for: set[tuple[object, ...]] = set()
    asked: Counter[Tenant] = Counter()

    def in_all(push: PushedConfig) -> int:
        tenant = tenant_of(push.record.principal, push.record.address)
        asked[tenant] += len(push.unknown)
        return asked[tenant]

    for push in sorted(sorted(pushes, key=lambda push: len(push.unknown)), key=in_all):
        push.search(looked_for)


def _note(judgement: NameJudgement | None, note: str) -> str:
    if judgement is None or ("{instead}" in note and not judgement.instead):
        return ""
    allowed = judgement.facts.allowed if judgement.facts else None
    return note.format(instead=judgement.instead, since=".".join(map(str, judgement.since)), allowed=allowed)
