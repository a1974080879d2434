"""Decoder of the topics' records, a batch at a time, as columns.

The reference is ``clientscope.records.codec``; a parity test holds the two together.  `reading` finds where everything is, without a
loop over records, and `columns` makes Arrow arrays of it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.records.layouts import MOST_SETTINGS, MessageSchema, schema
from udfs.decoding.columns import columns
from udfs.decoding.layout import compile_schema
from udfs.decoding.record_reader import REASONS, RecordReading


class Decoder:
    """Decodes one kind of record, as its JSON schema describes it.  Without state between calls.

    Attributes:
        arrow_type: what a call returns: a struct of all fields that are made, and ``decode_error``, one of `REASONS`, null where the record
            could be decoded.  Where it could not, all fields are null. What a record's version doesn't have is at its default.
    """

    def __init__(self, schema: MessageSchema, only: Collection[str] | None = None, most: int | None = None) -> None:
        """
        Args:
            schema: as ``clientscope.records.layouts.schema`` returns it.
            only: what to make columns of, as in `compile_schema`. All is read and bounded; of the strings, those that are made are
                checked to be UTF-8.
            most: elements of an array, as in `RecordReading`.

        Raises:
            ValueError: the schema uses a feature that can't be decoded, or has no such field.
        """
        self._layouts = compile_schema(schema, only)
        self._most = most
        self.arrow_type = pa.struct([*self._layouts[0].arrow_type, pa.field("decode_error", pa.string())])

    def __call__(self, values: pa.Array | pa.ChunkedArray) -> pa.StructArray:
        """One row for each value, in order.  Bad bytes never raise."""
        values = _large(values)
        versions = self._versions(values)
        found = np.unique(versions)
        if found.size <= 1:
            return self._decode(values, int(found[0]) if found.size else 0)
        # A batch of several versions, as while gateways are upgraded: each by itself, and then back into their order.
        places = [np.flatnonzero(versions == version) for version in found]
        parts = [self._decode(values.take(pa.array(place)), int(version)) for place, version in zip(places, found, strict=True)]
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places))))

    def read(self, values: pa.Array | pa.ChunkedArray, version: int = 0) -> RecordReading:
        """The first half of a call, for records of one version: every length checked, every position known, and no column made."""
        return RecordReading(self._layouts[version], version, _large(values), self._most)

    def _decode(self, values: pa.LargeBinaryArray, version: int) -> pa.StructArray:
        reading = self.read(values, version)
        made = columns(reading)
        reasons = pa.DictionaryArray.from_arrays(pa.array(reading.reasons, mask=reading.reasons == 0), pa.array(REASONS)).cast(pa.string())
        return pa.StructArray.from_arrays([*made, reasons], fields=list(self.arrow_type))

    def _versions(self, values: pa.LargeBinaryArray) -> np.ndarray[Any, Any]:
        """Each record's version; where it has none that we know, the one that most have, whose layout then says what is wrong."""
        newest = len(self._layouts) - 1
        if not newest:
            return np.zeros(len(values), np.int64)
        versions = np.full(len(values), -1)
        for version in range(newest + 1):
            prefix = version.to_bytes(2, "big")
            versions[pc.starts_with(values, prefix).fill_null(False).to_numpy(zero_copy_only=False)] = version
        known = versions[versions >= 0]
        versions[versions < 0] = np.bincount(known).argmax() if known.size else 0
        return versions


@cache
def decoder(name: str, only: frozenset[str] | None = None) -> Decoder:
    """The decoder of a record of ours, by name; made once in each process."""
    return Decoder(schema(name), only, MOST_SETTINGS if name == "ClientConfigRecord" else None)


def _large(values: pa.Array | pa.ChunkedArray) -> pa.LargeBinaryArray:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values.cast(pa.large_binary())
