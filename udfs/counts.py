"""The counts that connection records carry, one entry per series."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.records.codec import Kind
from udfs.decode import decoder

_OF_RECORD = {
    "cluster": "cluster_id",
    "broker": "broker_id",
    "gateway": "gateway_id",
    "epoch": "gateway_epoch",
    "sequence": "sequence",
    "timestamp_ms": "timestamp_ms",
    "heartbeat_interval_ms": "heartbeat_interval_ms",
    "heartbeat_part": "heartbeat_part",
}
_OF_COUNT = {
    "listener": "count_listener_name",
    "software_name": "count_software_name",
    "software_version": "count_software_version",
    "connections": "open_connections",
    "opened": "opened_total",
    "closed": "closed_total",
}
_NEEDED = frozenset({"kind", *_OF_RECORD.values(), *(f"counts.{name}" for name in _OF_COUNT.values())})
ENTRY = pa.struct(
    [
        ("cluster", pa.string()),
        ("broker", pa.int32()),
        ("gateway", pa.string()),
        ("listener", pa.string()),
        ("software_name", pa.string()),
        ("software_version", pa.string()),
        ("epoch", pa.int64()),
        ("sequence", pa.int64()),
        ("timestamp_ms", pa.int64()),
        ("connections", pa.int64()),
        ("opened", pa.int64()),
        ("closed", pa.int64()),
        ("heartbeat_interval_ms", pa.int32()),
        ("heartbeat_part", pa.int32()),
    ]
)
"""A series' counts as of one record; or, with listener, name, version and counts null, that the gateway's heart beat."""

TYPE = pa.list_(ENTRY)


def counts(values: pa.Array) -> pa.ListArray:
    """The entries in each ClientConnectionRecord; none where it can't be decoded, which history's query reports."""
    decoded = decoder("ClientConnectionRecord", _NEEDED)(values)
    lists = decoded.field("counts")
    beats = np.flatnonzero(pc.equal(decoded.field("kind"), int(Kind.HEARTBEAT)).fill_null(False).to_numpy(zero_copy_only=False))
    parents = np.concatenate([pc.list_parent_indices(lists).to_numpy(zero_copy_only=False), beats])
    order = np.argsort(parents, kind="stable")
    owners = pa.array(parents[order])
    # A heartbeat's own entry comes after all counts: the nulls behind them.
    places = pa.array(order)
    flat = lists.flatten()
    columns = {name: decoded.field(field).take(owners) for name, field in _OF_RECORD.items()}
    for name, field in _OF_COUNT.items():
        column = flat.field(field)
        columns[name] = pa.concat_arrays([column, pa.nulls(beats.size, column.type)]).take(places)
    offsets = np.append(0, np.cumsum(np.bincount(parents, minlength=len(values))))
    entries = pa.StructArray.from_arrays([columns[field.name] for field in ENTRY], fields=list(ENTRY))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries)
