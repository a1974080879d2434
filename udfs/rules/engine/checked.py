"""Settings of a batch, held against the catalogue: each distinct name of each library, release and kind of client once, and what of a
value is out of range or no allowed word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.configs import Type
from clientscope.catalog.placeholders import is_filled_in
from clientscope.catalog.setting_names import LONGEST, NameJudgement, NameState, judge
from clientscope.catalog.settings import Allowed
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.parsing import were_seen
from udfs.rules.engine.rule import Evidence, Judgement, Mask, SettingOf, distinct_evidence, judged

if TYPE_CHECKING:
    from udfs.rules.engine.batch import Batch

Ints = npt.NDArray[np.int64]
MOST_SEARCHED = 1_024
"""Distinct unknown names of a batch, or of a file, for which the name that is meant is looked for: a tenth of a second of a core."""
NOT_SEARCHED = f"not looked up: more than {MOST_SEARCHED:,} names are unknown"
_LARGEST_TABLE = 1 << 20
_STATES = {state: number for number, state in enumerate(NameState)}


class CheckedSettings:
    """
    Attributes:
        judgements: each distinct one; ``which`` per setting the place of its own, -1 where the library is unknown.
        searched: per push whether the names that may be meant were looked for, of all its unknown ones.
        states: per setting its `NameState`, by number; -1 likewise, of defaults, and of what was only seen.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        pushes, software, names = batch.pushes, batch.software, batch.names
        self._parents = pushes.parents
        types = np.where(batch.client_types < 0, v.UNKNOWN_TYPE, batch.client_types).astype(np.int64)
        # A client that shares its settings with others has some of theirs.
        width = max(len(names.raw), 1)
        clients, who = np.unique(software.which * (v.UNKNOWN_TYPE + 1) + types, return_inverse=True)
        distinct, self.which = _distinct(who[self._parents] * width + names.codes, clients.size * width)
        self.judgements: list[NameJudgement | None] = [None] * distinct.size
        unknown: list[tuple[int, Callable[[], NameJudgement]]] = []
        for place, number in enumerate(distinct.tolist()):
            client, name = divmod(number, width)
            of_software, client_type = divmod(int(clients[client]), v.UNKNOWN_TYPE + 1)
            known = software.distinct[of_software]
            if known.dialect is None:
                continue
            kind = None if client_type == v.UNKNOWN_TYPE else v.CLIENT_TYPES[client_type]
            judged_as = partial(judge, known.dialect, known.release, kind, names.raw[name], batch.complete)
            found = self.judgements[place] = judged_as(search=False)
            if found.state is NameState.UNKNOWN and len(names.raw[name]) <= LONGEST:
                unknown.append((place, judged_as))
        self._left_out = self._search(unknown)
        self.searched: Mask = np.ones(len(batch), np.bool_)
        if self._left_out.any():
            self.searched[self._parents[self._left_out[self.which]]] = False
        states = np.array([-1 if each is None else _STATES[each.state] for each in self.judgements], np.int8)
        # What a library has by default is nobody's mistake, and what was seen of a client isn't what somebody wrote.
        self._seen = were_seen(pushes)[self._parents]
        left = pushes.settings["is_default"].to_numpy(zero_copy_only=False) | self._seen
        self.states: npt.NDArray[np.int8] = np.where(left, np.int8(-1), states[self.which]) if states.size else np.zeros(0, np.int8)

    def _search(self, unknown: Sequence[tuple[int, Callable[[], NameJudgement]]]) -> Mask:
        """Looks for the names that are meant; returns at which places that was too much.

        Pushes with few unknown names come first: one with hundreds takes nothing from the others.
        """
        left_out = np.zeros(len(self.judgements), np.bool_)
        # What is judged as files is one user's own, and each of them counts for itself.
        most = MOST_SEARCHED * (len(self._batch) if self._batch.complete else 1)
        if len(unknown) > most:
            places = np.array([place for place, _ in unknown])
            left_out[places] = True
            of_push = np.bincount(self._parents[left_out[self.which]], minlength=len(self._batch))
            fewest = np.full(len(self.judgements), np.iinfo(np.int64).max)
            np.minimum.at(fewest, self.which, of_push[self._parents])
            unknown = [unknown[place] for place in np.argsort(fewest[places], kind="stable")[:most].tolist()]
        for place, judged_as in unknown:
            self.judgements[place] = judged_as()
            left_out[place] = False
        return left_out

    @cached_property
    def types(self) -> npt.NDArray[np.int8]:
        """Per setting its type by the library, or STRING where that isn't known."""
        found = np.array([each.facts.type if each and each.facts else Type.STRING for each in self.judgements], np.int8)
        return found[self.which] if found.size else np.zeros(0, np.int8)

    def named(self, *states: NameState) -> Ints:
        """Positions of the settings whose names are such."""
        return np.flatnonzero(np.isin(self.states, [_STATES[state] for state in states]))

    @cached_property
    def constrained(self) -> Ints:
        """Positions of the settings that have a value, of which the library takes only some; not of those that were seen."""
        some = np.array([bool(each and each.facts and each.facts.allowed) for each in self.judgements], np.bool_)
        if not some.any():
            return np.zeros(0, np.int64)
        there = self._batch.pushes.settings["config_value"].is_valid().to_numpy(zero_copy_only=False)
        return np.flatnonzero(some[self.which] & there & ~self._seen)

    @cached_property
    def refused(self) -> Ints:
        """Positions of those of `constrained` that the library doesn't take, whatever they are beside others."""
        at = self.constrained
        if not at.size:
            return at
        values = self._batch.pushes.settings["config_value"].take(pa.array(at))
        doubtful = np.flatnonzero(~self._within(values, at))
        encoded = values.take(pa.array(doubtful)).dictionary_encode()
        texts, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        width = max(len(texts), 1)
        pairs, which = np.unique(self.which[at[doubtful]] * width + codes, return_inverse=True)
        wrong = [not self._takes(pair // width, texts[pair % width]) for pair in pairs.tolist()]
        return at[doubtful[np.array(wrong, np.bool_)[which]]] if pairs.size else at[:0]

    def refused_by(self, *forms: str) -> Ints:
        """Those of `refused` where what is allowed has one of these forms."""
        of_form = np.array([bool((allowed := self.allowed(place)) and allowed.form in forms) for place in range(len(self.judgements))])
        return self.refused[of_form[self.which[self.refused]]] if self.refused.size else self.refused

    @cached_property
    def has_constrained(self) -> Mask:
        """Which pushes have one of `constrained`."""
        found = np.zeros(len(self._batch), np.bool_)
        found[self._parents[self.constrained]] = True
        return found

    def _within(self, values: pa.StringArray, at: Ints) -> Mask:
        """Which are plain numbers within their ranges: nearly all."""
        plain = pc.and_(pc.ascii_is_decimal(values), pc.less_equal(pc.binary_length(values), v.MOST_DIGITS))
        numbers = pc.if_else(plain, values, None).cast(pa.float64()).to_numpy(zero_copy_only=False)
        allowed = [each.facts.allowed if each and each.facts else None for each in self.judgements]
        ranges = [(each.least, each.most) if each and each.form == "range" else (np.inf, -np.inf) for each in allowed]
        ends = np.array([(-np.inf if least is None else least, np.inf if most is None else most) for least, most in ranges])[self.which[at]]
        within: Mask = (numbers >= ends[:, 0]) & (numbers <= ends[:, 1])
        return within

    def _takes(self, place: int, text: str) -> bool:
        allowed = self.allowed(place)
        return allowed is None or allowed.takes(text) or (self._batch.complete and is_filled_in(text))

    def allowed(self, place: int) -> Allowed | None:
        """What is allowed by a judgement at this place."""
        found = self.judgements[place]
        return found.facts.allowed if found and found.facts else None

    @cached_property
    def twice(self) -> Ints:
        """Positions of settings that were set under another name, too."""
        ids = self._batch.key_ids
        known = np.flatnonzero(ids >= 0)
        cells = self._parents[known] * len(v.KEYS) + ids[known]
        if not cells.size or np.bincount(cells).max() == 1:
            return known[:0]
        order = np.argsort(cells, kind="stable")
        same = np.flatnonzero(np.diff(cells[order]) == 0)
        codes = self._batch.names.codes[known]
        one, other = order[same], order[same + 1]
        differing = codes[one] != codes[other]
        return np.unique(known[np.concatenate([one[differing], other[differing]])])

    def verdict(self, positions: Ints, severities: npt.NDArray[np.int8] | None = None, evaluable: Mask | None = None) -> Judgement:
        """Fired where a push has one of the settings at these positions.

        Args:
            severities: of each; a push has its worst.
            evaluable: per push whether the rule could have fired; None where its library is known.
        """
        fired = np.zeros(len(self._batch), np.bool_)
        fired[self._parents[positions]] = True
        worst = None
        if severities is not None:
            worst = np.zeros(len(self._batch), np.int8)
            np.maximum.at(worst, self._parents[positions], severities)
        return judged(fired, self._batch.software_known if evaluable is None else evaluable, worst)

    def evidence(self, positions: Ints, rows: Ints, note: str = "") -> Evidence:
        """The settings at these positions, of pushes at ``rows``, by the names that they were given.

        Args:
            note: what is said of each; ``{instead}``, ``{since}`` and ``{allowed}`` are filled in.
        """
        settings = self._batch.pushes.settings
        chosen = positions[np.isin(self._parents[positions], rows)]
        columns = [settings[name].take(pa.array(chosen)).to_pylist() for name in ("config_key", "config_value", "is_default")]

        def said(place: int, key: str, value: str, is_default: bool) -> SettingOf:
            judgement = self.judgements[place]
            # A name that nobody knows may have anything as its value.
            shown = value if judgement and judgement.facts else None
            text = NOT_SEARCHED if self._left_out[place] else self._note(judgement, note)
            return SettingOf(key, shown, "default" if is_default else "set", note=text or None)

        return distinct_evidence(rows, self._parents[chosen], map(said, self.which[chosen].tolist(), *columns))

    def _note(self, judgement: NameJudgement | None, note: str) -> str:
        if judgement is None or ("{instead}" in note and not judgement.instead):
            return ""
        allowed = judgement.facts.allowed if judgement.facts else None
        return note.format(instead=judgement.instead, since=".".join(map(str, judgement.since)), allowed=allowed)


def _distinct(numbers: Ints, size: int) -> tuple[Ints, Ints]:
    """Each of the numbers once, in their order, and the place of each; ``size`` is above all of them.

    A table is faster than sorting, as long as it is not too large for memory.
    """
    if size > _LARGEST_TABLE:
        distinct, which = np.unique(numbers, return_inverse=True)
        return distinct, which
    places = np.zeros(size, np.int64)
    places[numbers] = 1
    distinct = np.flatnonzero(places)
    places[distinct] = np.arange(distinct.size)
    return distinct, places[numbers]
