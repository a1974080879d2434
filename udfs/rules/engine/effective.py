"""Effective values of a batch of pushes: each setting parsed once, with defaults for those that a client leaves out.

Settings lie in matrices, a row for each key and a column for each push.  What isn't a plain number or a plain word goes through the
dialect's own functions, each distinct value once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.dialects import DIALECTS
from clientscope.records.codec import Origin
from udfs.arrays.distinct import distinct_rows
from udfs.redaction.pushes import Pushes
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.client_types import InferredTypes
from udfs.rules.engine.names import SettingNames
from udfs.rules.engine.rule import Mask
from udfs.rules.engine.software import ClientSoftware

ABSENT, SET, DEFAULT, PUSHED = range(4)
"""Origins of a setting in a push: absent, set by the user, its default, or present without its origin."""

ORIGINS = ("", "set", "default", "pushed")

Ints = npt.NDArray[np.int64]


def logged(pushes: Pushes) -> Mask:
    """Which are from clients' own logs, and so hold all settings that their library logs."""
    origins: Ints = pushes.records.field("origin").fill_null(int(Origin.PUSHED)).to_numpy(zero_copy_only=False)
    found: Mask = origins == Origin.CLIENT_LOG
    return found


class Effective:
    """
    Attributes:
        rows: key → its row in the matrices.
        states: one of `ABSENT`, `SET`, `DEFAULT`, `PUSHED`.
        positions: where the setting lies among `Pushes.settings`; -1 where it isn't pushed.
        numbers: NaN where not known.
        texts: codes in ``dictionary``; -1 where not known.
        whole: pushes that hold all of KIP-1324's keys that have a value, so that what isn't there has none.
        logged: those of them that are clients' own logs, which hold all other keys too.
        unsettled: the pushed values of keys whose value other settings change.
    """

    def __init__(
        self,
        pushes: Pushes,
        software: ClientSoftware,
        complete: bool,
        names: SettingNames,
        inferred: InferredTypes,
    ) -> None:
        self._pushes, self._software, self._complete, self._inferred = pushes, software, complete, inferred
        self._names = names
        self._count = len(pushes)
        origins = pushes.records.field("origin").fill_null(int(Origin.PUSHED)).to_numpy(zero_copy_only=False)
        self._logged = logged(pushes)
        self._seen = (origins != Origin.PUSHED) & ~self._logged
        key_ids = names.key_ids(inferred.types)
        wanted = np.zeros(len(v.KEYS) + 1, np.bool_)
        wanted[key_ids] = True  # the last is for -1
        wanted[self._default_ids()] = True
        self._row_ids = np.flatnonzero(wanted[:-1])
        self.rows: Mapping[str, int] = {v.KEYS[key_id]: row for row, key_id in enumerate(self._row_ids.tolist())}
        shape = (len(self._row_ids), self._count)
        self.states = np.zeros(shape, np.int8)
        self.positions = np.full(shape, -1, np.int32)
        self.numbers = np.full(shape, np.nan)
        self.texts = np.full(shape, -1, np.int32)
        self.unsettled: dict[int, npt.NDArray[np.int32]] = {}
        self.dictionary = self._parse(key_ids)
        self.whole, leaves_out = self._wholeness(key_ids)
        self.logged = self._logged & self.whole
        self._fill(np.flatnonzero(leaves_out | self.logged | (complete & (inferred.types != v.UNKNOWN_TYPE) & self._dialect_known())))
        self._settle(np.flatnonzero(self.whole & (inferred.types != v.UNKNOWN_TYPE) & self._dialect_known()))

    def _dialect_known(self) -> Mask:
        known: Mask = self._software.dialects != v.UNKNOWN_DIALECT
        return known

    def _default_ids(self) -> Ints:
        """Default ids of keys that may be filled in."""
        if self._complete or self._logged.any():
            return np.arange(len(v.KEYS))
        types = np.unique(self._inferred.types)
        listed = sum(1 << int(each) for each in types if each != v.UNKNOWN_TYPE)
        return np.flatnonzero(v.IN_DEFAULT_SET & listed)

    def _parse(self, key_ids: Ints) -> pa.StringArray:
        """Fills the matrices from what was pushed; the last of several settings of one name counts, as in a properties file.

        Returns:
            the dictionary of texts.
        """
        parents, settings = self._pushes.parents, self._pushes.settings
        known = np.flatnonzero(key_ids >= 0)
        row_of = np.full(len(v.KEYS), -1, np.int64)
        row_of[self._row_ids] = np.arange(self._row_ids.size)
        ids, at = key_ids[known], parents[known]
        cells = row_of[ids] * self._count + at
        self.states.ravel()[cells] = settings["is_default"].to_numpy(zero_copy_only=False)[known].view(np.int8) + np.int8(SET)
        self._forget_origins(self._seen)
        self.positions.ravel()[cells] = known
        values = settings["config_value"]
        is_number, special = v.IS_NUMBER[ids], self._names.in_own_way[known]
        own_way = np.flatnonzero(special)
        plain = ~special
        if own_way.size:  # a setting may be there under two names; the last one counts, whichever name it is
            last = self.positions.ravel()[cells] == known
            own_way, plain = np.flatnonzero(special & last), plain & last
        where = np.flatnonzero(is_number & plain)
        self.numbers.ravel()[cells[where]] = _numbers(values.take(pa.array(known[where])))
        where = np.flatnonzero(~is_number & plain)
        encoded = pc.utf8_trim_whitespace(values.take(pa.array(known[where]))).dictionary_encode()
        dialects = self._software.dialects[at[where]]
        self.texts.ravel()[cells[where]] = _text_codes(encoded, dialects, ids[where])
        self._parse_own(known, ids, cells, own_way)
        for dialect, key_id, word, meant in v.SPELLED_NUMBERS:
            row = row_of[key_id]
            if row >= 0:
                numbers = self.numbers[row]
                numbers[(numbers == word) & (self._software.dialects == dialect)] = meant
        return pa.concat_arrays([v.TEXT_ARRAY, encoded.dictionary.cast(pa.string())])

    def _forget_origins(self, which: Mask) -> None:
        """Of these records it isn't known which settings the user set."""
        if which.any():
            self.states[:, which] = np.where(self.states[:, which] == ABSENT, ABSENT, PUSHED)

    def _parse_own(self, known: Ints, ids: Ints, cells: Ints, where: Ints) -> None:
        """Values in another unit, or with the opposite meaning: as the dialect reads them, each distinct one once."""
        if not where.size:
            return
        encoded = self._pushes.settings["config_value"].take(pa.array(known[where])).dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        who = np.stack([self._software.dialects[self._pushes.parents[known[where]]], self._names.codes[known[where]], ids[where], codes])
        distinct, which = np.unique(who, axis=1, return_inverse=True)
        texts = encoded.dictionary.to_pylist()
        numbers, words = np.full(distinct.shape[1], np.nan), np.full(distinct.shape[1], -1, np.int32)
        for place, (dialect, name, key_id, code) in enumerate(distinct.T.tolist()):
            if code >= 0:
                text = DIALECTS[dialect].kafka_value(self._names.raw[name], v.KEYS[key_id], texts[code])
                numbers[place] = v.number(text) if v.IS_NUMBER[key_id] else np.nan
                words[place] = v.TEXT_CODES.get(text, -1)
        self.numbers.ravel()[cells[where]] = numbers[which.ravel()]
        self.texts.ravel()[cells[where]] = words[which.ravel()]

    def _wholeness(self, key_ids: Ints) -> tuple[Mask, Mask]:
        """Which pushes lack nothing that has a value, and which of those only since their clients leave defaults out.

        A client pushes KIP-1324's keys unless ``config.push.allowed.keys`` names others, and then a missing key may have any value.
        So a push that holds a key beyond that list, or lacks one of the list that has a default, says nothing of what it lacks;
        unless it holds no default at all, and was pushed by something that knows only what the user set: Apache's own client knows more.

        A client's own log has settings beyond that list, and lacks none that the library would log: keys beyond the list say nothing
        there. One that lacks a key of the list was cut off, and then nothing is known of defaults.
        """
        if self._complete:
            return np.ones(self._count, np.bool_), np.zeros(self._count, np.bool_)
        types = self._inferred.types
        parents = self._pushes.parents
        # By what the key is to this client: librdkafka's socket.timeout.ms is request.timeout.ms to all but its producer.
        is_listed = np.append(v.IN_DEFAULT_SET, 0).astype(np.int64)[key_ids] >> types[parents] & 1
        own_keys = np.zeros(self._count, np.bool_)
        own_keys[parents] = True
        own_keys[parents[is_listed == 0]] = False
        own_keys |= self._logged & (types != v.UNKNOWN_TYPE)
        present = self.states != ABSENT
        may_leave_out = self._software.where(lambda it: it.dialect is not None and not it.dialect.pushes_defaults)
        leaves_out = own_keys & may_leave_out & present.any(axis=0) & ~(self.states > SET).any(axis=0)
        whole = leaves_out.copy()
        candidates = np.flatnonzero(own_keys & ~leaves_out & self._dialect_known())
        for client_type in np.unique(types[candidates]).tolist():
            rows = candidates[types[candidates] == client_type]
            keys = np.flatnonzero(v.IN_DEFAULT_SET[self._row_ids] & (1 << client_type))
            needed = np.stack(
                [v.defaults(known.number, client_type, known.version).has[self._row_ids[keys]] if known.dialect else keys >= 0
                 for known in self._software.distinct]
            )  # fmt: skip
            named = np.array([v.KEYS[key_id] in v.IDENTIFIERS for key_id in self._row_ids[keys]])
            lacking = needed[self._software.which[rows]].T & ~named[:, None] & ~present[np.ix_(keys, rows)]
            whole[rows] = ~lacking.any(axis=0)
        self._forget_origins(self._logged & ~whole)
        return whole, leaves_out

    def _fill(self, rows: Ints) -> None:
        """The defaults of these pushes' clients where nothing was pushed."""
        if not rows.size:
            return
        groups = (self._inferred.types[rows] * len(self._software.distinct) + self._software.which[rows]) * 2 + self.logged[rows]
        distinct, which = np.unique(groups, return_inverse=True)
        ids = self._row_ids
        has, numbers, texts = [], [], []
        for group in distinct.tolist():
            of_client, logged = divmod(group, 2)
            client_type, of_software = divmod(of_client, len(self._software.distinct))
            known = self._software.distinct[of_software]
            found = v.defaults(known.number, client_type, known.version)
            listed = (v.IN_DEFAULT_SET[ids] & (1 << client_type)) > 0
            has.append(found.has[ids] & (listed | self._complete | bool(logged)))
            numbers.append(found.numbers[ids])
            texts.append(found.texts[ids])
        states = self.states[:, rows]
        missing = (states == ABSENT) & np.stack(has)[which].T
        self.states[:, rows] = np.where(missing, DEFAULT, states)
        self.numbers[:, rows] = np.where(missing, np.stack(numbers)[which].T, self.numbers[:, rows])
        self.texts[:, rows] = np.where(missing, np.stack(texts)[which].T, self.texts[:, rows])

    def _settle(self, rows: Ints) -> None:
        """What settings make of each other, once for each distinct combination of those that matter."""
        for client_type in np.unique(self._inferred.types[rows]).tolist():
            ids = [key_id for key_id in v.settled_ids(client_type).tolist() if v.KEYS[key_id] in self.rows]
            if ids:
                self._settle_type(client_type, ids, rows[self._inferred.types[rows] == client_type])

    def _settle_type(self, client_type: int, ids: list[int], rows: Ints) -> None:
        keys = [v.KEYS[key_id] for key_id in ids]
        at = np.array([self.rows[key] for key in keys])
        states = self.states[np.ix_(at, rows)]
        values = np.where(
            v.IS_NUMBER[ids][:, None], self.numbers[np.ix_(at, rows)].view(np.int64), self.texts[np.ix_(at, rows)].astype(np.int64)
        )
        named = np.array([key in v.IDENTIFIERS for key in keys])
        values[named] = np.where(states[named] != ABSENT, 0, -1)
        first, which = distinct_rows(np.vstack([self._software.which[rows], states, values]).T)
        settled = [self._settled(client_type, keys, int(rows[place])) for place in first]
        for key in {key for each in settled for key in each}:
            row, key_id = self.rows[key], v.KEY_IDS[key]
            changed = np.array([key in each for each in settled])[which]
            values_of = [each.get(key, "") for each in settled]
            target = rows[changed]
            if v.IS_NUMBER[key_id]:
                self.numbers[row, target] = np.array([v.number(text) for text in values_of])[which][changed]
            else:
                self.unsettled.setdefault(row, self.texts[row].copy())
                self.texts[row, target] = np.array([v.TEXT_CODES.get(text, -1) for text in values_of], np.int32)[which][changed]
            states_of = self.states[row, target]
            self.states[row, target] = np.where(states_of == ABSENT, DEFAULT, states_of)

    def _settled(self, client_type: int, keys: list[str], push: int) -> Mapping[str, str]:
        known = self._software.distinct[self._software.which[push]]
        assert known.dialect is not None
        values = {key: self.text_of(key, push) for key in keys if self.states[self.rows[key], push] != ABSENT}
        given = [key for key in values if self.states[self.rows[key], push] == SET]
        settled = known.dialect.settle(v.CLIENT_TYPES[client_type], values, given, known.release)
        return {key: text for key, text in settled.items() if key in self.rows and values.get(key) != text}

    def text_of(self, key: str, push: int) -> str | None:
        """One effective value as text; None where it isn't known."""
        row = self.rows[key]
        if v.IS_NUMBER[v.KEY_IDS[key]]:
            return number_text(float(self.numbers[row, push]))
        code = int(self.texts[row, push])
        if code < 0:
            return None
        text: str = self.dictionary[code].as_py()
        of_library = code < len(v.TEXTS) and "{version}" in text
        return text.replace("{version}", self._software.distinct[self._software.which[push]].version) if of_library else text


def number_text(value: float) -> str | None:
    """A number as Kafka writes it; None for NaN."""
    if np.isnan(value):
        return None
    return str(int(value)) if value.is_integer() else str(value)


def _numbers(strings: pa.StringArray) -> npt.NDArray[np.float64]:
    """Each as a number, NaN if it isn't one."""
    length = pc.max(pc.binary_length(strings)).as_py() or 0
    decimal = pc.ascii_is_decimal(strings)
    if length <= v.MOST_DIGITS and pc.all(decimal).as_py() is not False:
        numbers: npt.NDArray[np.float64] = strings.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return numbers
    plain = pc.and_(decimal, pc.less_equal(pc.binary_length(strings), v.MOST_DIGITS))
    found: npt.NDArray[np.float64] = pc.if_else(plain, strings, None).cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
    other = np.flatnonzero(pc.invert(plain).fill_null(False).to_numpy(zero_copy_only=False))
    encoded = strings.take(pa.array(other)).dictionary_encode()
    found[other] = np.array([v.number(text) for text in encoded.dictionary.to_pylist()])[encoded.indices.to_numpy(zero_copy_only=False)]
    return found


def _text_codes(encoded: pa.DictionaryArray, dialects: Ints, key_ids: Ints) -> npt.NDArray[np.int32]:
    """Codes in `vocabulary.TEXTS` followed by the dictionary; -1 for null."""
    null = len(encoded.dictionary)
    codes = encoded.indices.fill_null(null).to_numpy(zero_copy_only=False)
    words = pc.index_in(pc.utf8_lower(encoded.dictionary), v.WORDS).fill_null(-1).to_numpy(zero_copy_only=False)
    same = pc.index_in(encoded.dictionary, v.TEXT_ARRAY).fill_null(-1).to_numpy(zero_copy_only=False)
    own = np.where(same >= 0, same, np.arange(null) + len(v.TEXTS))
    words, own = np.append(words, -1)[codes], np.append(own, -1)[codes]
    spelled = np.where(words >= 0, v.SPELLED[dialects, key_ids, words], -1)
    return np.where(spelled >= 0, spelled, own).astype(np.int32)
