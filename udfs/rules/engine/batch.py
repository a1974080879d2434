"""Batch of pushes for the rules: typed columns, each parsed once.

Values are effective ones: under Kafka's names and in its spelling, with what a client's library makes of them.  A key that wasn't pushed
is not known, since ``config.push.allowed.keys`` replaces KIP-1324's list.  Defaults are filled in only where a push shows that its client
leaves them out (`Effective`), and everywhere where the settings are complete, as in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.configs import ClientType
from clientscope.profiles import Profile, Thresholds
from clientscope.records.enums import Origin, ValueState
from udfs.arrays.distinct import distinct_rows
from udfs.pushes import Pushes
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.checked import CheckedSettings
from udfs.rules.engine.client_types import InferredTypes
from udfs.rules.engine.effective import Effective
from udfs.rules.engine.matrices import ABSENT, DEFAULT, ORIGINS, SET
from udfs.rules.engine.names import SettingNames
from udfs.rules.engine.rule import NOT_APPLICABLE, NOT_EVALUABLE, Evidence, Judgement, Mask, Rule, SettingOf
from udfs.rules.engine.software import ClientSoftware
from udfs.rules.engine.vocabulary import TEXT_CODES

_REASONS = {int(state): state.name.lower() for state in ValueState}


class Batch:
    """A batch of pushes, and what is known of each.

    Attributes:
        pushes: as they came.
        software: the client libraries.
        complete: whether the settings are all that there are.
        names: of its settings, as they were pushed.
    """

    def __init__(
        self, pushes: Pushes, thresholds: Thresholds | None = None, complete: bool = False, client_type: ClientType | None = None
    ) -> None:
        """
        Args:
            thresholds: profiles; None is the rules' own limits.
            complete: the settings are all that were set, under the dialect's names, as in a file.
            client_type: whose settings they are, where it is known; else it is inferred from the keys.
        """
        self.pushes, self.complete = pushes, complete
        self._thresholds = thresholds
        # Many rules ask the same.
        self._for: dict[frozenset[ClientType], npt.NDArray[np.int8]] = {}
        self._of: dict[frozenset[str], Mask] = {}
        self.software = ClientSoftware(pushes.records.field("client_software_name"), pushes.records.field("client_software_version"))
        self.names = names = SettingNames(pushes, self.software.dialects, complete)
        inferred = InferredTypes(len(pushes), pushes.parents, names.any_key_ids())
        if client_type is not None:
            inferred.assume(client_type)
        self._inferred = inferred
        self._effective = Effective(pushes, self.software, complete, names, inferred)

    def __len__(self) -> int:
        return len(self.pushes)

    @cached_property
    def client_types(self) -> npt.NDArray[np.int8]:
        """Per push its client's place in ``ClientType``; -1 where it isn't known, or several share the settings."""
        types: npt.NDArray[np.int8] = self._inferred.types.astype(np.int8)
        types[types == v.UNKNOWN_TYPE] = -1
        return types

    @cached_property
    def checked(self) -> CheckedSettings:
        """The settings, held against the catalogue."""
        return CheckedSettings(self)

    @cached_property
    def key_ids(self) -> npt.NDArray[np.int64]:
        """Per setting its key's place in `vocabulary.KEYS`; -1 where Kafka has none of that name, or of that client's."""
        return self.names.key_ids(self._inferred.types)

    @property
    def shared(self) -> Mask:
        """Where several clients share the settings, and each is judged."""
        return self._inferred.shared

    @cached_property
    def software_known(self) -> Mask:
        """Where the software is of a library whose defaults are known."""
        known: Mask = self.software.dialects != v.UNKNOWN_DIALECT
        return known

    @cached_property
    def release_known(self) -> Mask:
        """Where the library's release is known, too."""
        return self.software.where(lambda it: bool(it.release))

    def may_be(self, client_type: ClientType) -> Mask:
        """Where nothing says that it isn't this client."""
        possible: Mask = (self._inferred.candidates & np.uint8(v.bit(client_type))) > 0
        return possible

    def number(self, key: str) -> npt.NDArray[np.float64]:
        """The effective value per push; NaN where it isn't known, or is no number."""
        row = self._row(key)
        return np.full(len(self), np.nan) if row is None else self._effective.numbers[row]

    def text(self, key: str, settled: bool = True) -> Text:
        """The effective value per push.

        Args:
            settled: after the effect of other settings; False for the value as pushed.
        """
        row = self._row(key)
        if row is None:
            return Text(np.full(len(self), -1, np.int32), self._effective.dictionary)
        codes = self._effective.texts[row]
        return Text(codes if settled else self._effective.unsettled.get(row, codes), self._effective.dictionary)

    def is_seen_unset(self, key: str) -> Mask:
        """Where a gateway saw that the client has set nothing, and recorded it as the default that it is."""
        row = self._row(key)
        if row is None:
            return np.zeros(len(self), np.bool_)
        positions = self._effective.positions[row]
        defaults = np.append(self.pushes.settings["is_default"].to_numpy(zero_copy_only=False), False)  # the last is for -1
        found: Mask = defaults[positions] & self.pushes.are_of(Origin.OBSERVED)
        return found

    def is_hidden(self, key: str) -> Mask:
        """Where there is a value that may not be shown."""
        row = self._row(key)
        if row is None:
            return np.zeros(len(self), np.bool_)
        states = np.append(self.pushes.settings["value_state"].to_numpy(zero_copy_only=False), np.int8(ValueState.PRESENT))
        found: Mask = states[self._effective.positions[row]] != ValueState.PRESENT  # the last is for -1
        return found

    def is_set(self, key: str) -> Mask:
        """Where the user set it."""
        return self._state(key, SET)

    def is_default(self, key: str) -> Mask:
        """Where it is the client's default."""
        return self._state(key, DEFAULT)

    def is_absent(self, key: str) -> Mask:
        """Where it is known to have no value at all."""
        row = self._row(key)
        missing = np.ones(len(self), np.bool_) if row is None else self._effective.states[row] == ABSENT
        if self.complete:
            return missing
        listed = np.append(v.IN_DEFAULT_SET[v.KEY_IDS[key]] >> np.arange(v.UNKNOWN_TYPE) & 1, 0).astype(np.bool_)
        return missing & self._effective.whole & listed[self._inferred.types]

    def untouched(self, key: str, client_type: ClientType, value: str) -> Mask:
        """Where a client of this software has this value when its user sets nothing; False where that isn't known."""
        return self.software.where(lambda it: it.dialect is not None and v.untouched(it.number, client_type, it.version).get(key) == value)

    def limit(self, rule: Rule, name: str) -> float | npt.NDArray[np.float64]:
        """A threshold of the rule's, by each push's profile."""
        values = [profile.limits.get(rule.code, {}).get(name, rule.limits[name]) for profile in self._profiles]
        if len(set(values)) <= 1:
            return values[0] if values else rule.limits[name]
        return np.array(values)[self._profile_of]

    def messages(self, rule: Rule, outcome: int, rows: npt.NDArray[np.int64]) -> tuple[list[str], npt.NDArray[np.int64]]:
        """What the rule says with this outcome, each distinct sentence once, and which of them of pushes at these positions."""
        limits = [profile.limits.get(rule.code, {}) for profile in self._profiles] or [{}]
        software = self.software.distinct if rule.instead else [None]
        texts = [rule.message(outcome, own, of) for own in limits for of in software]
        distinct = list(dict.fromkeys(texts))
        if len(distinct) == 1:
            return distinct, np.zeros(rows.size, np.int64)
        places = np.array([distinct.index(text) for text in texts]).reshape(len(limits), len(software))
        by_profile = self._profile_of[rows] if len(limits) > 1 else 0
        return distinct, np.broadcast_to(places[by_profile, self.software.which[rows] if rule.instead else 0], rows.shape)

    def enabled(self, rule: Rule) -> bool | Mask:
        """Whether the rule is on, by each push's profile."""
        on = [rule.code in profile.on or (rule.enabled and rule.code not in profile.off) for profile in self._profiles]
        if len(set(on)) <= 1:
            return on[0] if on else rule.enabled
        return np.array(on)[self._profile_of]

    def evidence(self, keys: Sequence[str], rows: npt.NDArray[np.int64]) -> Evidence:
        """The effective values of these keys in pushes at these positions; what isn't known of a push is left out."""
        found = [(key, row) for key in keys if (row := self._row(key)) is not None]
        if not found or not rows.size:
            return Evidence(np.zeros(rows.size, np.int64), [()] if rows.size else [])
        columns = []
        for key, row in found:
            states, texts = self._effective.states[row, rows], self._effective.texts[row, rows]
            numbers = self._effective.numbers[row, rows]
            known = ~np.isnan(numbers) if v.IS_NUMBER[v.KEY_IDS[key]] else texts >= 0
            # Values that can't be shown are distinguished by their place.
            columns += [
                states,
                np.where(known, numbers.view(np.int64), 0),
                texts,
                np.where(known, -1, self._effective.positions[row, rows]),
            ]
        first, which = distinct_rows(np.stack(columns).astype(np.int64).T)
        distinct = [tuple(self._settings(found, int(rows[place]))) for place in first]
        return Evidence(which, distinct)

    def applies(self, rule: Rule) -> npt.NDArray[np.int8]:
        """Per push 1 where the rule is for this client, 0 where that is unknown, -1 where it isn't, or is switched off."""
        found = self._is_for(rule.client_types)
        enabled = self.enabled(rule)
        if rule.dialects is not None:
            enabled = enabled & self._is_of(rule.dialects)
        return found if enabled is True else np.where(enabled, found, np.int8(-1))

    def _is_for(self, client_types: frozenset[ClientType]) -> npt.NDArray[np.int8]:
        if client_types not in self._for:
            wanted = np.uint8(sum(v.bit(each) for each in client_types))
            candidates = self._inferred.candidates
            surely = self._inferred.shared | ((candidates & ~wanted) == 0)
            self._for[client_types] = np.where((candidates & wanted) == 0, np.int8(-1), surely.astype(np.int8))
        return self._for[client_types]

    def _is_of(self, names: frozenset[str]) -> Mask:
        if names not in self._of:
            self._of[names] = self.software.where(lambda it: it.dialect is None or it.dialect.name in names)
        return self._of[names]

    def _row(self, key: str) -> int | None:
        if key not in v.KEY_IDS:
            raise KeyError(f"{key} is no setting of Kafka's that may be shown")
        return self._effective.rows.get(key)

    def _state(self, key: str, state: int) -> Mask:
        row = self._row(key)
        return np.zeros(len(self), np.bool_) if row is None else self._effective.states[row] == state

    def _settings(self, found: Sequence[tuple[str, int]], push: int) -> Iterable[SettingOf]:
        columns = self.pushes.settings
        for key, row in found:
            state = self._effective.states[row, push]
            if state == ABSENT:
                continue
            text, position = self._effective.text_of(key, push), int(self._effective.positions[row, push])
            if text is not None or position < 0:
                yield SettingOf(key, text, ORIGINS[state])
                continue
            raw = columns["config_value"][position].as_py()
            if raw is not None:
                yield SettingOf(key, raw, ORIGINS[state])
                continue
            digest = columns["value_digest"][position].as_py()
            reason = _REASONS.get(columns["value_state"][position].as_py(), "unknown")
            yield SettingOf(key, None, ORIGINS[state], reason, columns["value_length"][position].as_py(), digest and digest.hex())

    @property
    def _profiles(self) -> Sequence[Profile]:
        return () if self._thresholds is None else self._thresholds.profiles

    @cached_property
    def _profile_of(self) -> npt.NDArray[np.int64]:
        """Per push its profile: chosen once for each distinct principal, group and client id."""
        assert self._thresholds is not None
        groups = self.text("group.id").strings()
        columns = [self.pushes.records.field("principal"), groups, self.pushes.records.field("client_id")]
        encoded = [column.dictionary_encode() for column in columns]
        codes = np.stack([each.indices.fill_null(-1).to_numpy(zero_copy_only=False) for each in encoded])
        distinct, which = np.unique(codes, axis=1, return_inverse=True)
        values = [each.dictionary.to_pylist() for each in encoded]
        chosen = [
            self._thresholds.choose(*(of[code] if code >= 0 else None for of, code in zip(values, row, strict=True)))
            for row in distinct.T.tolist()
        ]
        return np.array(chosen, np.int64)[which.ravel()]


def judge(batch: Batch, rules: Sequence[Rule]) -> list[Judgement]:
    """The verdict of each rule on each push."""
    found = []
    for rule in rules:
        applies = batch.applies(rule)
        if not (applies > NOT_APPLICABLE).any():
            found.append(Judgement(np.full(len(batch), NOT_APPLICABLE, np.int8)))
            continue
        judgement = rule.evaluate(batch)
        if rule.of_answers:
            applies = np.where(batch.text("acks").equals("0"), np.int8(NOT_APPLICABLE), applies)
        if (applies == 1).all():
            found.append(judgement)
            continue
        outcomes = np.where(applies == 1, judgement.outcomes, np.where(applies == 0, np.int8(NOT_EVALUABLE), np.int8(NOT_APPLICABLE)))
        found.append(Judgement(outcomes, judgement.severities))
    return found


# Text columns: codes into a dictionary that all columns of a batch share.


@dataclass(frozen=True)
class Text:
    """One setting's value per push, as Kafka writes it.

    Attributes:
        codes: per push its place in ``dictionary``; -1 where it isn't known.
        dictionary: each text once; it begins with `udfs.rules.engine.vocabulary.TEXTS`.
    """

    codes: npt.NDArray[np.int32]
    dictionary: pa.StringArray

    @property
    def known(self) -> Mask:
        """Where there is a value."""
        return self.codes >= 0

    def strings(self) -> pa.StringArray:
        """The values themselves; null where not known."""
        return self.dictionary.take(pa.array(self.codes, mask=self.codes < 0))

    def equals(self, text: str) -> Mask:
        """Where the value is this one."""
        code = TEXT_CODES.get(text)
        return self.codes == code if code is not None else self.isin({text})

    def isin(self, texts: Collection[str]) -> Mask:
        """Where the value is one of these."""
        codes = [TEXT_CODES.get(text) for text in texts]
        if None not in codes:
            found = np.zeros(self.codes.size, np.bool_)
            for code in codes:
                found |= self.codes == code
            return found
        among = pc.is_in(self.dictionary, pa.array(list(texts), pa.string())).to_numpy(zero_copy_only=False)
        return self._spread(np.flatnonzero(among))

    def where(self, holds: Callable[[str], bool]) -> Mask:
        """Where it holds of the value; asked once for each distinct one."""
        used = np.unique(self.codes[self.codes >= 0])
        texts = self.dictionary.take(pa.array(used)).to_pylist()
        return self._spread(used[[holds(text) for text in texts]])

    def matches(self, pattern: str) -> Mask:
        """Where the regular expression (RE2's syntax) is found in the value."""
        used = np.unique(self.codes[self.codes >= 0])
        found = pc.match_substring_regex(self.dictionary.take(pa.array(used)), pattern)
        return self._spread(used[found.to_numpy(zero_copy_only=False)])

    def _spread(self, codes: npt.NDArray[np.integer]) -> Mask:
        hit = np.zeros(len(self.dictionary) + 1, np.bool_)  # the last is for -1
        hit[codes] = True
        return hit[self.codes]
