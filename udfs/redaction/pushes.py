"""Pushed configurations for rules and sinks: decoded, redacted, and with all settings of the batch in flat columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.sensitive_names import hidden_name
from clientscope.digest import DigestKey
from clientscope.records.enums import Origin, ValueState
from udfs.redaction import sensitive
from udfs.redaction.names import redact_names, replaced, with_items


def redact(
    decoded: pa.StructArray, key: DigestKey | None, left: frozenset[ValueState] = frozenset(), left_keys: Sequence[str] = ()
) -> pa.StructArray:
    """Decoded ClientConfigRecords without anything left in them that may not be written down.

    Gateways redact before they publish, but others may publish raw records.  So each value is judged again; one that
    must not be written down becomes null, with its ``value_state``, ``value_length`` and, with a key, ``value_digest`` as a
    gateway would have set them.  So are keys, and all that clients call themselves.  Everything after this function never sees a
    sensitive string.

    Args:
        left: reasons for which nothing is redacted, where settings come from a file and stay on its machine.
        left_keys: of such a file, keys that KIP-1324 excludes by their beginning and whose values are no secrets, unless they look so.
    """
    configs = decoded.field("configs")
    flat = configs.flatten()
    column = {field.name: flat.field(field.name) for field in flat.type}
    values, states = column["config_value"], column["value_state"].to_numpy(zero_copy_only=False)
    judged = sensitive.judged(column["config_key"], values, column["config_type"])
    hidden_keys = sensitive.hidden_keys(column["config_key"])
    judged[np.isin(judged, [*left])] = ValueState.PRESENT
    if left_keys:
        harmless = pc.is_in(column["config_key"], pa.array(left_keys)).to_numpy(zero_copy_only=False)
        judged[harmless & np.isin(judged, [ValueState.KEY_PREFIX, ValueState.KEY_INFIX])] = ValueState.PRESENT
    raw = np.flatnonzero((states == ValueState.PRESENT) & (judged != ValueState.PRESENT))
    digests, key_ids = column["value_digest"], decoded.field("digest_key_id")
    if raw.size:
        column["value_length"] = _put(column["value_length"], raw, pc.binary_length(values.take(pa.array(raw))))
        secrets = values if not hidden_keys.size else _put(values, hidden_keys, column["config_key"].take(pa.array(hidden_keys)))
        digests, key_ids = _digest(secrets, raw, digests, _parents(configs), key_ids, key)
    states = np.where(states == ValueState.PRESENT, judged, states)
    if hidden_keys.size:
        lengths = pc.fill_null(column["value_length"], 0).to_numpy(zero_copy_only=False)
        states[hidden_keys] = sensitive.under_hidden_keys(hidden_keys, states, column["config_key"], column["config_type"], lengths)
        column["config_key"] = _without_hidden(column["config_key"], hidden_keys, _parents(configs), key)
    column["value_state"] = pa.array(states, pa.int8())
    column["config_value"] = pc.if_else(pa.array(states == ValueState.PRESENT), values, None)
    column["value_digest"] = digests
    items = pa.StructArray.from_arrays(list(column.values()), fields=list(flat.type))
    return redact_names(replaced(decoded, digest_key_id=key_ids, configs=with_items(configs, items)), key)


def _without_hidden(keys: pa.StringArray, hidden: npt.NDArray[np.int64], parents: npt.NDArray[np.int64], key: DigestKey | None) -> pa.Array:
    """The keys with placeholders where they are hidden, as a gateway makes them.  A loop, over leaks alone."""
    places = (hidden - np.searchsorted(parents, parents[hidden]) + 1).tolist()
    texts = keys.take(pa.array(hidden)).to_pylist()
    instead = [hidden_name(text, key, str(place)) for text, place in zip(texts, places, strict=True)]
    return _put(keys, hidden, pa.array(instead, pa.string()))


def _digest(
    values: pa.StringArray,
    raw: npt.NDArray[Any],
    digests: pa.BinaryArray,
    parents: npt.NDArray[np.int64],
    key_ids: pa.StringArray,
    key: DigestKey | None,
) -> tuple[pa.BinaryArray, pa.StringArray]:
    """Digests of raw secrets, under the record's own key where we have it, and none where we don't.

    So the digests of one record are all under its one key id. Only here is there a loop, over the leaks.
    """
    if key is None:
        return digests, key_ids
    by_id = {known.key_id: known for known in (key, *key.earlier)} | {None: key}
    made = []
    for position, value in zip(raw, values.take(pa.array(raw)), strict=True):
        used = by_id.get(key_ids[parents[position]].as_py())
        made.append(used.digest(value.as_py()) if used and value.is_valid else None)
    without_id = key_ids.is_null().to_numpy(zero_copy_only=False)
    has_ours = np.zeros(len(key_ids), np.bool_)
    has_ours[parents[raw]] = without_id[parents[raw]]
    return _put(digests, raw, pa.array(made, pa.binary())), pc.if_else(pa.array(has_ours), key.key_id, key_ids)


@dataclass(frozen=True)
class Pushes:
    """A batch of redacted pushes.

    Attributes:
        records: ClientConfigRecords as the decoder returns them, redacted; all null where one could not be decoded.
    """

    records: pa.StructArray

    def __len__(self) -> int:
        return len(self.records)

    @cached_property
    def settings(self) -> dict[str, pa.Array]:
        """The columns of ``Configs``, all records' settings one after the other."""
        flat = self.records.field("configs").flatten()
        return {field.name: flat.field(field.name) for field in flat.type}

    @cached_property
    def parents(self) -> npt.NDArray[np.int64]:
        """For each setting the row of its record."""
        return _parents(self.records.field("configs"))

    def are_of(self, *origins: Origin) -> npt.NDArray[np.bool_]:
        """Which records have one of these origins; one that could not be decoded has none."""
        found: npt.NDArray[np.bool_] = pc.is_in(self.records.field("origin"), pa.array(list(origins))).to_numpy(zero_copy_only=False)
        return found

    @cached_property
    def tiers(self) -> sensitive.States:
        """For each setting how bad it is that it was pushed, as ``Tier``."""
        columns = self.settings
        states = columns["value_state"].to_numpy(zero_copy_only=False)
        return sensitive.tiers(states, columns["config_key"], columns["config_type"], columns["value_length"])

    def group(self, chosen: npt.NDArray[Any], items: pa.Array) -> pa.ListArray:
        """One list per record of ``items``, which belong to the settings at the rising positions ``chosen``."""
        counts = np.bincount(self.parents[chosen], minlength=len(self))
        return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(counts)), pa.int32()), items)


def _parents(configs: pa.ListArray) -> npt.NDArray[np.int64]:
    parents: npt.NDArray[np.int64] = pc.list_parent_indices(configs).to_numpy(zero_copy_only=False)
    return parents


def _put(column: pa.Array, positions: npt.NDArray[Any], values: pa.Array) -> pa.Array:
    mask = np.zeros(len(column), np.bool_)
    mask[positions] = True
    return pc.replace_with_mask(column, pa.array(mask), values)
