"""The vectorised twin of ``clientscope.catalog.sensitive``: same data, same judgement, over columns.

RE2 and Python's ``re`` agree on printable ASCII only (RE2's ``\\s`` has no vertical tab, its ``\\b`` no letters beyond ASCII, its
lower case no dotted capital I).  So what isn't printable ASCII, which is rare, goes to the scalar judgement, each distinct
string once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog import sensitive
from clientscope.records.codec import ValueState

_PLAIN = r"^[\t\n\r -~]*$"
_INNOCENT_TYPE = next(number for number in range(9) if number not in sensitive.SENSITIVE_TYPES)
# One expression rather than one pass each; a group around each keeps its flags to itself.
_SHAPES = "|".join(f"(?:{shape})" for shape in sensitive.SHAPES.values())
_PREFIXES, _INFIXES = ("|".join(map(re.escape, texts)) for texts in (sensitive.PREFIXES, sensitive.INFIXES))
_SUFFIXES = "|".join(map(re.escape, sensitive.SUFFIXES))
_BY_KEY = (
    (f"^(?:{_PREFIXES})", ValueState.KEY_PREFIX),
    (_INFIXES, ValueState.KEY_INFIX),
    (f"(?:{_SUFFIXES})$", ValueState.KEY_SUFFIX),
    (sensitive.KEY_WORDS, ValueState.KEY_WORD),
)

States = npt.NDArray[np.int8]


def normalise(keys: pa.StringArray) -> pa.StringArray:
    """Keys as patterns expect them: Kafka's dots where a dialect writes underscores, in lower case."""
    return pc.utf8_lower(pc.replace_substring(keys, "_", "."))


def reasons(keys: pa.StringArray, values: pa.StringArray, config_types: pa.Int8Array) -> States:
    """For each setting why its value may not be written down, as `ValueState`; a null value has no shape."""
    by_key = _per_distinct(keys, _key_states, lambda key: sensitive.reason(key, "", _INNOCENT_TYPE))
    by_type = np.isin(config_types.to_numpy(zero_copy_only=False), list(sensitive.SENSITIVE_TYPES))
    # In the scalar's order of precedence, the last that applies first.
    states = np.zeros(len(keys), np.int8)
    # Most values are numbers and words; characters are at most as many as bytes.
    long = pc.fill_null(pc.greater_equal(pc.binary_length(values), sensitive.SHORTEST_SHAPE), False).to_numpy(zero_copy_only=False)
    undecided = np.flatnonzero((by_key == ValueState.PRESENT) & ~by_type & long)
    states[undecided] = _per_distinct(
        values.take(pa.array(undecided)), _value_states, lambda value: sensitive.reason("", value, _INNOCENT_TYPE)
    )
    states[by_key == ValueState.KEY_WORD] = ValueState.KEY_WORD
    states[by_type] = ValueState.TYPE
    earlier = np.isin(by_key, (ValueState.KEY_PREFIX, ValueState.KEY_INFIX, ValueState.KEY_SUFFIX))
    states[earlier] = by_key[earlier]
    return states


def _per_distinct(strings: pa.StringArray, plain: Callable[[pa.StringArray], States], other: Callable[[str], ValueState]) -> States:
    """Judges each distinct string once; null is not sensitive."""
    encoded = strings.dictionary_encode()
    distinct = encoded.dictionary
    states = plain(distinct)
    unusual = pc.invert(pc.match_substring_regex(distinct, _PLAIN)).to_numpy(zero_copy_only=False)
    for position in np.flatnonzero(unusual):
        states[position] = other(distinct[position].as_py())
    indices = pc.fill_null(encoded.indices, len(distinct)).to_numpy(zero_copy_only=False)
    judged: States = np.append(states, np.int8(ValueState.PRESENT))[indices]
    return judged


def _key_states(keys: pa.StringArray) -> States:
    names = normalise(keys)
    states = np.zeros(len(keys), np.int8)
    for pattern, state in reversed(_BY_KEY):
        states[pc.match_substring_regex(names, pattern).to_numpy(zero_copy_only=False)] = state
    return states


def _value_states(values: pa.StringArray) -> States:
    found = pc.match_substring_regex(values, _SHAPES).to_numpy(zero_copy_only=False)
    return np.where(found, np.int8(ValueState.VALUE_SHAPE), np.int8(ValueState.PRESENT))
