"""Values of settings as they were pushed, each parsed once.

What isn't a plain number or a plain word goes through the dialect's own functions, each distinct value once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.dialects import DIALECTS
from clientscope.catalog.request_settings import BETWEEN, weakest
from clientscope.records.enums import Origin
from udfs.pushes import Pushes
from udfs.rules.engine import vocabulary as v
from udfs.rules.engine.matrices import SET, Ints, SettingMatrices
from udfs.rules.engine.names import SettingNames
from udfs.rules.engine.rule import Mask
from udfs.rules.engine.software import ClientSoftware


def parse(matrices: SettingMatrices, pushes: Pushes, software: ClientSoftware, names: SettingNames, key_ids: Ints) -> None:
    """Fills matrices from what was pushed; the last of several settings of one name counts, as in a properties file.

    Args:
        key_ids: of each setting, its key's place in `vocabulary.KEYS`; -1 where it has none.
    """
    parents, settings = pushes.parents, pushes.settings
    known = np.flatnonzero(key_ids >= 0)
    row_of = np.full(len(v.KEYS), -1, np.int64)
    row_of[matrices.row_ids] = np.arange(matrices.row_ids.size)
    ids, at = key_ids[known], parents[known]
    cells = row_of[ids] * len(pushes) + at
    matrices.states.ravel()[cells] = settings["is_default"].to_numpy(zero_copy_only=False)[known].view(np.int8) + np.int8(SET)
    matrices.positions.ravel()[cells] = known
    values = _judged_values(pushes)
    is_number, special = v.IS_NUMBER[ids], names.in_own_way[known]
    own_way = np.flatnonzero(special)
    plain = ~special
    if own_way.size:  # a setting may be there under two names; the last one counts, whichever name it is
        last = matrices.positions.ravel()[cells] == known
        own_way, plain = np.flatnonzero(special & last), plain & last
    where = np.flatnonzero(is_number & plain)
    matrices.numbers.ravel()[cells[where]] = _numbers(values.take(pa.array(known[where])))
    where = np.flatnonzero(~is_number & plain)
    encoded = pc.utf8_trim_whitespace(values.take(pa.array(known[where]))).dictionary_encode()
    dialects = software.dialects[at[where]]
    matrices.texts.ravel()[cells[where]] = _text_codes(encoded, dialects, ids[where])
    _parse_own(matrices, pushes, software, names, known[own_way], ids[own_way], cells[own_way])
    for dialect, key_id, word, meant in v.SPELLED_NUMBERS:
        row = row_of[key_id]
        if row >= 0:
            numbers = matrices.numbers[row]
            numbers[(numbers == word) & (software.dialects == dialect)] = meant
    matrices.dictionary = pa.concat_arrays([v.TEXT_ARRAY, encoded.dictionary.cast(pa.string())])


def were_seen(pushes: Pushes) -> Mask:
    """Which of them others saw of a client's requests: nobody wrote their settings so, and the client runs with them."""
    return pushes.are_of(Origin.OBSERVED, Origin.REQUEST_LOG)


def several_values(pushes: Pushes) -> Mask:
    """Of which settings a client's requests have shown several values."""
    seen = were_seen(pushes)
    if not seen.any():
        return np.zeros(pushes.parents.size, np.bool_)
    found: Mask = pc.match_substring(pushes.settings["config_value"], BETWEEN).fill_null(False).to_numpy(zero_copy_only=False)
    return found & seen[pushes.parents]


def _judged_values(pushes: Pushes) -> pa.StringArray:
    """Values as they were sent; of several, the one that counts."""
    values, several = pushes.settings["config_value"], several_values(pushes)
    if several.any():
        pairs = (pushes.settings[name].filter(pa.array(several)).to_pylist() for name in ("config_key", "config_value"))
        values = pc.replace_with_mask(values, pa.array(several), pa.array(list(map(weakest, *pairs)), pa.string()))
    return values


def _parse_own(
    matrices: SettingMatrices, pushes: Pushes, software: ClientSoftware, names: SettingNames, settings: Ints, key_ids: Ints, cells: Ints
) -> None:
    """Values in another unit, or with the opposite meaning: as the dialect reads them, each distinct one once."""
    if not settings.size:
        return
    encoded = pushes.settings["config_value"].take(pa.array(settings)).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    who = np.stack([software.dialects[pushes.parents[settings]], names.codes[settings], key_ids, codes])
    distinct, which = np.unique(who, axis=1, return_inverse=True)
    texts = encoded.dictionary.to_pylist()
    numbers, words = np.full(distinct.shape[1], np.nan), np.full(distinct.shape[1], -1, np.int32)
    for place, (dialect, name, key_id, code) in enumerate(distinct.T.tolist()):
        if code >= 0:
            text = DIALECTS[dialect].kafka_value(names.raw[name], v.KEYS[key_id], texts[code])
            numbers[place] = v.number(text) if v.IS_NUMBER[key_id] else np.nan
            words[place] = v.TEXT_CODES.get(text, -1)
    matrices.numbers.ravel()[cells] = numbers[which.ravel()]
    matrices.texts.ravel()[cells] = words[which.ravel()]


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
