"""Pushed configurations of a batch, for rules and sinks: redacted, and with all settings in flat columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.sensitive import tier
from clientscope.records.enums import Origin
from udfs.arrays.distinct import distinct_rows

Tiers = npt.NDArray[np.int8]


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
    def tiers(self) -> Tiers:
        """For each setting how bad it is that it was pushed, as ``Tier``."""
        columns = self.settings
        states = columns["value_state"].to_numpy(zero_copy_only=False)
        return tiers(states, columns["config_key"], columns["config_type"], columns["value_length"])

    def group(self, chosen: npt.NDArray[Any], items: pa.Array) -> pa.ListArray:
        """One list per record of ``items``, which belong to the settings at the rising positions ``chosen``."""
        counts = np.bincount(self.parents[chosen], minlength=len(self))
        return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(counts)), pa.int32()), items)


def _parents(configs: pa.ListArray) -> npt.NDArray[np.int64]:
    parents: npt.NDArray[np.int64] = pc.list_parent_indices(configs).to_numpy(zero_copy_only=False)
    return parents


def normalise(keys: pa.StringArray) -> pa.StringArray:
    """Keys in Kafka's spelling: dots where a dialect writes underscores, in lower case."""
    return pc.utf8_lower(pc.replace_substring(keys, "_", "."))


def tiers(states: npt.NDArray[Any], keys: pa.StringArray, config_types: pa.Int8Array, lengths: pa.Int32Array) -> Tiers:
    """For each setting how bad it is that it was pushed, as `clientscope.catalog.sensitive.Tier`; each distinct one is judged once."""
    named, types = keys.dictionary_encode(), config_types.to_numpy(zero_copy_only=False)
    codes = named.indices.to_numpy(zero_copy_only=False)
    empty = pc.fill_null(pc.equal(lengths, 0), False).to_numpy(zero_copy_only=False)
    first, which = distinct_rows(np.stack([codes, states, types, empty], axis=1).astype(np.int32))
    names = named.dictionary.to_pylist()
    found = [tier(int(states[at]), names[codes[at]], int(types[at]), 0 if empty[at] else None) for at in first]
    return np.array(found, np.int8)[which]
