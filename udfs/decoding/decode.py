"""Decoder of the topics' records, a batch at a time, as columns.

The reference is ``clientscope.records.codec``; a parity test holds the two together.  `reading` finds where everything is, without a
loop over records, and `columns` makes Arrow arrays of it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

import pyarrow as pa

from clientscope.records.layouts import MOST_SETTINGS, MessageSchema, schema
from udfs.decoding.columns import columns
from udfs.decoding.layout import compile_schema
from udfs.decoding.record_reader import REASONS, RecordReading


class Decoder:
    """Decodes one kind of record, as its JSON schema describes it.  Without state between calls.

    Attributes:
        arrow_type: what a call returns: a struct of all fields that are made, and ``decode_error``, one of `REASONS`, null where the record
            could be decoded.  Where it could not, all fields are null. A tagged field that a record doesn't have is at its default.
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
        self._layout = compile_schema(schema, only)
        self._most = most
        self.arrow_type = pa.struct([*self._layout.arrow_type, pa.field("decode_error", pa.string())])

    def __call__(self, values: pa.Array | pa.ChunkedArray) -> pa.StructArray:
        """One row for each value, in order.  Bad bytes never raise."""
        reading = RecordReading(self._layout, _large(values), self._most)
        made = columns(reading)
        reasons = pa.DictionaryArray.from_arrays(pa.array(reading.reasons, mask=reading.reasons == 0), pa.array(REASONS)).cast(pa.string())
        return pa.StructArray.from_arrays([*made, reasons], fields=list(self.arrow_type))


@cache
def decoder(name: str, only: frozenset[str] | None = None) -> Decoder:
    """The decoder of a record of ours, by name; made once in each process."""
    return Decoder(schema(name), only, MOST_SETTINGS if name == "ClientConfigRecord" else None)


def _large(values: pa.Array | pa.ChunkedArray) -> pa.LargeBinaryArray:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values.cast(pa.large_binary())
