"""Vectorised twin of ``clientscope.catalog.sensitive``: the same data and judgement, over columns.

Keys and values are judged once per distinct string.  Of values, two expressions find the few that may be sensitive, and the
scalar judgement says which are: a digest of each of those is made one by one, too.

Arrow and Python agree on keys in printable ASCII only (Arrow's lower case has no dotted capital I, RE2's white space no vertical
tab).  So other keys, which are rare, go to the scalar judgement too; what finds values is the same in both, whatever the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog import random_text, sensitive, sensitive_keys, sensitive_names, sensitive_values
from clientscope.catalog.disguises import DISGUISED
from clientscope.catalog.known_keys import KNOWN, is_custom
from clientscope.catalog.sensitive import Tier
from clientscope.records.enums import ValueState

_PLAIN = "^[ -~]*$"
"""Keys that Arrow's expressions judge as Python's do, whose ``$`` also matches before a last line end."""
_RANDOM_KINDS = ("[a-z]", "[A-Z]", "[0-9]")
_KNOWN = pa.array(sorted(KNOWN))

FEW = 256
"""Distinct keys or names of a batch: so many are judged one by one, since the scalar judgement remembers them, and Arrow compiles its
expressions anew for each array."""

States = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]


def normalise(keys: pa.StringArray) -> pa.StringArray:
    """Keys in Kafka's spelling: dots where a dialect writes underscores, in lower case."""
    return pc.utf8_lower(pc.replace_substring(keys, "_", "."))


def reasons(keys: pa.StringArray, values: pa.StringArray, config_types: pa.Int8Array) -> States:
    """For each setting why its value may not be written down, as `ValueState`; a null value has no shape."""
    return judged(keys, values, config_types)[0]


def judged(keys: pa.StringArray, values: pa.StringArray, config_types: pa.Int8Array) -> tuple[States, npt.NDArray[np.int64]]:
    """`reasons`, and the places of the settings whose keys may not be written down either."""
    of_keys = _judge_keys(keys, config_types)
    types = config_types.to_numpy(zero_copy_only=False)
    states = of_keys.excluded.copy()
    states[(states == ValueState.PRESENT) & np.isin(types, list(sensitive.SENSITIVE_TYPES))] = ValueState.TYPE
    states[(states == ValueState.PRESENT) & of_keys.credential] = ValueState.KEY_WORD
    # Most values are numbers and words; characters are at most as many as bytes.
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    pushed = np.flatnonzero(of_keys.credential & (lengths > 0))
    states[pushed[_per_distinct(values, pushed, _are_without_secret)]] = ValueState.WITHOUT_SECRET
    others = np.flatnonzero(~of_keys.credential & (lengths >= sensitive_values.SHORTEST))
    shapes = _per_distinct(values, others, _shapes)
    random = np.flatnonzero(shapes == ValueState.LOOKS_RANDOM)
    shapes[random[_per_distinct(keys, others[random], _are_identifiers)]] = ValueState.PRESENT
    replaced = (states[others] == ValueState.PRESENT) | (shapes == ValueState.VALUE_SHAPE)
    states[others[replaced]] = shapes[replaced]
    classes = np.flatnonzero(of_keys.classes & (states == ValueState.PRESENT))
    states[classes[_name_classes(keys, values, classes)]] = ValueState.TYPE
    states[of_keys.custom & (states == ValueState.PRESENT)] = ValueState.CUSTOM
    states[of_keys.hidden] = under_hidden_keys(of_keys.hidden, states, keys, config_types, lengths)
    return states, of_keys.hidden


def under_hidden_keys(
    hidden: npt.NDArray[np.int64], states: npt.NDArray[Any], keys: pa.StringArray, config_types: pa.Int8Array, lengths: npt.NDArray[Any]
) -> list[ValueState]:
    """The reasons at the places of hidden keys, as the scalar's ``under_hidden_key`` has them.  A loop, over leaks alone."""
    found = []
    for place in hidden.tolist():
        key = keys[place].as_py()
        key_state = sensitive_names.judge_key_text(key)
        found.append(sensitive.under_hidden_key(key_state, int(states[place]), key, config_types[place].as_py(), int(lengths[place])))
    return found


def hidden_names(names: pa.StringArray, field: str) -> npt.NDArray[np.int64]:
    """Places of the names that may not be written down, each name judged as the scalar's ``judge_name`` does; nulls may."""
    random_too = sensitive_names.FIELDS[field]
    places = np.flatnonzero(_to_judge(names, sensitive_names.NAME_HINT))
    hidden = [sensitive_names.judge_name(name, random_too) is not ValueState.PRESENT for name in names.take(pa.array(places)).to_pylist()]
    return places[np.array(hidden, np.bool_)]


def tiers(states: States, keys: pa.StringArray, config_types: pa.Int8Array, lengths: pa.Int32Array) -> States:
    """For each setting how bad it is that it was pushed, as `Tier`."""
    judged = np.full(len(keys), np.int8(Tier.CREDENTIAL))
    for state, tier in sensitive.TIERS.items():
        judged[states == state] = tier
    by_key = np.flatnonzero(np.isin(states, sensitive.BY_KEY))
    chosen = pa.array(by_key)
    credential = _judge_keys(keys.take(chosen), config_types.take(chosen)).credential
    empty = pc.fill_null(pc.equal(lengths.take(chosen), 0), False).to_numpy(zero_copy_only=False)
    judged[by_key[~credential | empty]] = Tier.EXCLUDED
    return judged


class _OfKeys(NamedTuple):
    """The judgement of settings by keys and types alone; all but ``hidden`` are per setting.

    Attributes:
        excluded: KIP-1324's reason by name.
        credential: whether the value is one.
        classes: whether the value may be names of classes.
        custom: whether no library has such a key.
        hidden: places of the settings whose key is a secret itself.
    """

    excluded: States
    credential: Mask
    classes: Mask
    custom: Mask
    hidden: npt.NDArray[np.int64]


def _judge_keys(keys: pa.StringArray, config_types: pa.Int8Array) -> _OfKeys:
    encoded = keys.dictionary_encode()
    distinct = encoded.dictionary
    excluded, by_word, classes, custom = _few_keys(distinct) if len(distinct) <= FEW else _many_keys(distinct)
    positions = encoded.indices.to_numpy(zero_copy_only=False)
    credential = by_word[positions]
    password = config_types.to_numpy(zero_copy_only=False) == sensitive.PASSWORD
    if password.any():
        credential |= password & ~_matches(normalise(distinct), f"{sensitive.CERTIFICATE_KEYS}$")[positions]
    hidden = _hidden_keys(distinct)
    places = np.flatnonzero(hidden[positions]) if hidden.any() else np.zeros(0, np.int64)
    return _OfKeys(excluded[positions], credential, classes[positions], custom[positions], places)


def _few_keys(distinct: pa.StringArray) -> tuple[States, Mask, Mask, Mask]:
    found = [sensitive_keys.judge_key(key) for key in distinct.to_pylist()]
    return (
        np.array([each.excluded for each in found], np.int8),
        np.array([each.credential for each in found], np.bool_),
        np.array([bool(each.classes) for each in found], np.bool_),
        np.array([each.custom for each in found], np.bool_),
    )


def _many_keys(distinct: pa.StringArray) -> tuple[States, Mask, Mask, Mask]:
    names = _spellings(distinct)
    excluded = np.zeros(len(distinct), np.int8)
    for state, pattern in reversed(sensitive_keys.EXCLUDED):
        excluded[_matches(names, pattern)] = state
    by_word = _matches(names, sensitive_keys.CREDENTIAL)
    if by_word.any():
        by_word &= ~_matches(names, sensitive_keys.ABOUT_CREDENTIAL)
    classes = _matches(names, sensitive_keys.CLASS_LISTS) | _matches(names, sensitive_keys.CLASS_WORDS)
    for position in np.flatnonzero(~_matches(distinct, _PLAIN)):
        of_key = sensitive_keys.judge_key(distinct[position].as_py())
        excluded[position], by_word[position], classes[position] = of_key.excluded, of_key.credential, bool(of_key.classes)
    custom = ~pc.is_in(distinct, _KNOWN).to_numpy(zero_copy_only=False)
    for position in np.flatnonzero(custom):
        custom[position] = is_custom(distinct[position].as_py())
    return excluded, by_word, classes, custom


def _hidden_keys(keys: pa.StringArray) -> Mask:
    hidden = _to_judge(keys, sensitive_names.KEY_HINT)
    for place in np.flatnonzero(hidden):
        hidden[place] = sensitive_names.judge_key_text(keys[place].as_py()) is not ValueState.PRESENT
    return hidden


def _spellings(keys: pa.StringArray) -> pa.StringArray:
    """The same as ``sensitive_keys.spellings``, over columns."""
    apart = keys
    for pattern in sensitive_keys.CAMEL_CASE:
        apart = pc.replace_substring_regex(apart, pattern, r"\1.\2")
    return normalise(pc.replace_substring(pc.binary_join_element_wise(keys, apart, " "), "-", "_"))


def _per_distinct(
    strings: pa.StringArray, chosen: npt.NDArray[Any], judge: Callable[[pa.StringArray], npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """Judges each distinct string among the chosen ones once."""
    encoded = strings.take(pa.array(chosen)).dictionary_encode()
    judged: npt.NDArray[Any] = judge(encoded.dictionary)[encoded.indices.to_numpy(zero_copy_only=False)]
    return judged


def _are_identifiers(keys: pa.StringArray) -> Mask:
    return np.fromiter((sensitive_keys.judge_key(key).identifier for key in keys.to_pylist()), np.bool_, len(keys))


def _are_without_secret(values: pa.StringArray) -> Mask:
    return np.fromiter(map(sensitive_values.is_without_secret, values.to_pylist()), np.bool_, len(values))


def _name_classes(keys: pa.StringArray, values: pa.StringArray, chosen: npt.NDArray[np.int64]) -> Mask:
    """Which of the chosen settings' values are names of classes: a loop over those that have a capital."""
    found = np.zeros(len(chosen), np.bool_)
    likely = np.flatnonzero(_matches(values.take(pa.array(chosen)), "[A-Z]"))
    places = pa.array(chosen[likely])
    pairs = zip(keys.take(places).to_pylist(), values.take(places).to_pylist(), strict=True)
    found[likely] = [sensitive_values.names_classes(value, sensitive_keys.judge_key(key).classes) for key, value in pairs]
    return found


def _shapes(values: pa.StringArray) -> States:
    states = np.zeros(len(values), np.int8)
    for position in np.flatnonzero(_candidates(values)):
        states[position] = sensitive_values.judge_value(values[position].as_py())
    return states


def _to_judge(distinct: pa.StringArray, hint: str) -> Mask:
    """Names or keys that the scalar judgement is to be asked about: all of few, and of many those that may hold a secret."""
    if len(distinct) <= FEW:
        return np.asarray(distinct.is_valid().to_numpy(zero_copy_only=False))
    return _matches(distinct, hint) | _candidates(distinct)


def _candidates(texts: pa.StringArray) -> Mask:
    """Texts that may hold a secret, by hints rather than shapes, and one by one, since one expression of all takes RE2 longer."""
    found = _matches(texts, sensitive_values.HINT) | _matches(texts, DISGUISED)
    likely = np.logical_and.reduce([_matches(texts, kind) for kind in _RANDOM_KINDS])
    if likely.any():
        found |= likely & _matches(texts, random_text.SEPARATED_RUN)
    return found | (_matches(texts, random_text.PUNCTUATION) & _matches(texts, random_text.PUNCTUATED_RUN))


def _matches(strings: pa.StringArray, pattern: str) -> Mask:
    matches: Mask = pc.fill_null(pc.match_substring_regex(strings, pattern), False).to_numpy(zero_copy_only=False)
    return matches
