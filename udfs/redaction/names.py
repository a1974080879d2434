"""Redaction of the names that clients choose, in decoded records.

Gateways redact before they publish, but others may publish raw records: so each string of a record is judged again, by the same judge.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.sensitive_names import FIELDS, hidden_name
from clientscope.digest import DigestKey
from udfs.redaction import sensitive


def redact_names(records: pa.StructArray, key: DigestKey | None) -> pa.StructArray:
    """Decoded records without a name that may not be written down; a list of structs in them likewise (``counts``).

    Args:
        key: makes placeholders that tell hidden names apart; without it all are alike.
    """
    changed = {}
    for field in records.type:
        column = records.field(field.name)
        if field.name in FIELDS:
            made = shown(column, field.name, key)
        elif pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type) and FIELDS.keys() & _names(field.type.value_type):
            items = column.flatten()
            inner = redact_names(items, key)
            made = column if inner is items else with_items(column, inner)
        else:
            continue
        if made is not column:
            changed[field.name] = made
    return replaced(records, **changed) if changed else records


def shown(names: pa.StringArray, field: str, key: DigestKey | None) -> pa.StringArray:
    """Names as they may be written down; the same array where all may."""
    encoded = names.dictionary_encode()
    distinct = encoded.dictionary
    hidden = sensitive.hidden_names(distinct, field)
    if not hidden.size:
        return names
    mask = np.zeros(len(distinct), np.bool_)
    mask[hidden] = True
    instead = [hidden_name(name, key) for name in distinct.take(pa.array(hidden)).to_pylist()]
    return pc.replace_with_mask(distinct, pa.array(mask), pa.array(instead, pa.string())).take(encoded.indices)


def with_items(lists: pa.ListArray, items: pa.Array) -> pa.ListArray:
    """The same lists of other items, as many."""
    return pa.ListArray.from_arrays(offsets(lists), items, type=lists.type, mask=lists.is_null())


def offsets(lists: pa.ListArray) -> pa.Int32Array:
    """Where each list begins among the items of all, and where the last one ends."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.append(0, np.cumsum(lengths)), pa.int32())


def replaced(records: pa.StructArray, **columns: pa.Array) -> pa.StructArray:
    """The records with some of their fields exchanged."""
    fields = list(records.type)
    return pa.StructArray.from_arrays([columns.get(field.name, records.field(field.name)) for field in fields], fields=fields)


def _names(struct: pa.StructType) -> set[str]:
    return {field.name for field in struct}
