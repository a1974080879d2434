"""Settings and names of a batch before the one judge, `clientscope.catalog.sensitive`: each distinct one is judged once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog import sensitive, sensitive_names
from clientscope.records.enums import ValueState
from udfs.arrays.distinct import distinct_rows

States = npt.NDArray[np.int8]


def normalise(keys: pa.StringArray) -> pa.StringArray:
    """Keys in Kafka's spelling: dots where a dialect writes underscores, in lower case."""
    return pc.utf8_lower(pc.replace_substring(keys, "_", "."))


def judged(keys: pa.StringArray, values: pa.StringArray, config_types: pa.Int8Array) -> States:
    """For each setting why its value may not be written down, as `ValueState`; a null value is as an empty one."""
    named, valued = keys.dictionary_encode(), values.fill_null("").dictionary_encode()
    types = config_types.to_numpy(zero_copy_only=False)
    first, which = distinct_rows(np.stack([_codes(named), _codes(valued), types], axis=1).astype(np.int32))
    names, texts = named.dictionary.to_pylist(), valued.dictionary.to_pylist()
    distinct = zip(_codes(named)[first].tolist(), _codes(valued)[first].tolist(), types[first].tolist(), strict=True)
    states = np.fromiter((sensitive.reason(names[name], texts[text], of) for name, text, of in distinct), np.int8, first.size)
    return states[which]


def hidden_keys(keys: pa.StringArray) -> npt.NDArray[np.int64]:
    """Places of the settings whose key may not be written down either."""
    named = keys.dictionary_encode()
    hidden = [sensitive_names.judge_key_text(key) is not ValueState.PRESENT for key in named.dictionary.to_pylist()]
    return np.flatnonzero(np.array(hidden, np.bool_)[_codes(named)])


def under_hidden_keys(
    hidden: npt.NDArray[np.int64], states: npt.NDArray[Any], keys: pa.StringArray, config_types: pa.Int8Array, lengths: npt.NDArray[Any]
) -> list[ValueState]:
    """The reasons at the places of hidden keys, as the judge's ``under_hidden_key`` has them."""
    found = []
    for place in hidden.tolist():
        key = keys[place].as_py()
        key_state = sensitive_names.judge_key_text(key)
        found.append(sensitive.under_hidden_key(key_state, int(states[place]), key, config_types[place].as_py(), int(lengths[place])))
    return found


def hidden_names(names: pa.StringArray, field: str) -> npt.NDArray[np.int64]:
    """Places of the names, each there once, that may not be written down; nulls may."""
    random_too = sensitive_names.FIELDS[field]
    hidden = [name and sensitive_names.judge_name(name, random_too) is not ValueState.PRESENT for name in names.to_pylist()]
    return np.flatnonzero(np.array(hidden, np.bool_))


def tiers(states: States, keys: pa.StringArray, config_types: pa.Int8Array, lengths: pa.Int32Array) -> States:
    """For each setting how bad it is that it was pushed, as `Tier`."""
    named, types = keys.dictionary_encode(), config_types.to_numpy(zero_copy_only=False)
    empty = pc.fill_null(pc.equal(lengths, 0), False).to_numpy(zero_copy_only=False)
    first, which = distinct_rows(np.stack([_codes(named), states, types, empty], axis=1).astype(np.int32))
    names = named.dictionary.to_pylist()
    found = [sensitive.tier(int(states[at]), names[_codes(named)[at]], int(types[at]), 0 if empty[at] else None) for at in first]
    return np.array(found, np.int8)[which]


def _codes(encoded: pa.DictionaryArray) -> npt.NDArray[np.int32]:
    codes: npt.NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
    return codes
