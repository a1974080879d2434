"""Counts in connection records, one entry per series."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.digest import DigestKey
from clientscope.records.enums import Kind
from udfs.arrays.streams import as_stream
from udfs.decode import decode_connections

_OF_RECORD = {
    "cluster": "cluster_id",
    "broker": "broker_id",
    "gateway": "gateway_id",
    "epoch": "gateway_epoch",
    "sequence": "sequence",
    "timestamp_ms": "timestamp_ms",
    "heartbeat_interval_ms": "heartbeat_interval_ms",
    "heartbeat_part": "heartbeat_part",
    "heartbeat_parts": "heartbeat_parts",
    "client_instances": "client_instances",
    "opened_connections": "opened_connections",
    "closed_connections": "closed_connections",
    "host": "gateway_host",
}
_OF_COUNT = {
    "listener": "listener_name",
    "software_name": "client_software_name",
    "software_version": "client_software_version",
    "connections": "open_connections",
    "opened": "opened_total",
    "closed": "closed_total",
}
_SERIES = ("listener", "software_name", "software_version")
_NEEDED = frozenset({"kind", "counts", *_OF_RECORD.values()})

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
        ("heartbeat_parts", pa.int32()),
        ("client_instances", pa.int32()),
        ("opened_connections", pa.int64()),
        ("closed_connections", pa.int64()),
        ("host", pa.string()),
    ]
)
"""A series' counts as of one record; or, with listener, name, version and counts null, that the gateway's heart beat."""

TYPE = pa.list_(ENTRY)

PLACED = pa.schema([*ENTRY, ("appended_ms", pa.int64()), ("partition", pa.int32()), ("offset", pa.int64())])
"""An entry with the time and place of its record, as `packed` has it."""


def counts(values: pa.Array, digest_key: DigestKey | None = None) -> pa.ListArray:
    """The entries in each ClientConnectionRecord; none where it can't be decoded, which history's query reports.

    Left out is what another record of the same batch makes void: of each series the newest entry by (epoch, sequence) is kept, one of
    a heartbeat and one of another record, since a heartbeat is also read as a whole.
    """
    decoded = decode_connections(values, digest_key, _NEEDED)
    lists = decoded.field("counts")
    beats = np.flatnonzero(pc.equal(decoded.field("kind"), Kind.HEARTBEAT.value).fill_null(False).to_numpy(zero_copy_only=False))
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    flat = lists.flatten()
    newest = _newest(decoded, flat, parents)
    parents = np.concatenate([parents[newest], beats])
    order = np.argsort(parents, kind="stable")
    owners = pa.array(parents[order])
    # A heartbeat's own entry comes after all counts: the nulls behind them.
    places = pa.array(np.concatenate([newest, np.arange(len(flat), len(flat) + beats.size)])[order])
    columns = {name: decoded.field(field).take(owners) for name, field in _OF_RECORD.items()}
    for name, field in _OF_COUNT.items():
        column = flat.field(field)
        columns[name] = pa.concat_arrays([column, pa.nulls(beats.size, column.type)]).take(places)
    offsets = np.append(0, np.cumsum(np.bincount(parents, minlength=len(values))))
    entries = pa.StructArray.from_arrays([columns[field.name] for field in ENTRY], fields=list(ENTRY))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), entries)


def packed(
    values: pa.Array, appended_ms: pa.Array, partitions: pa.Array, offsets: pa.Array, digest_key: DigestKey | None = None
) -> pa.Array:
    """The same of a whole batch as one stream of `PLACED` (`udfs.arrays.streams`), in the first row; null in all others.

    Args:
        appended_ms, partitions, offsets: of each record.
    """
    lists = counts(values, digest_key)
    flat, parents = lists.flatten(), pc.list_parent_indices(lists)
    places = (column.take(parents) for column in (appended_ms, partitions, offsets))
    stream = as_stream(pa.record_batch([*flat.flatten(), *places], schema=PLACED)) if len(flat) else None
    return pa.array([stream, *[None] * (len(values) - 1)][: len(values)], pa.binary())


def newest(entries: pa.Table) -> pa.Table:
    """The same of all the entries of a batch that `counts` made by parts; other columns stay beside them."""
    columns = {name: entries.column(name).combine_chunks() for name in ("cluster", "broker", "gateway", *_OF_COUNT, "epoch", "sequence")}
    beats = np.flatnonzero(columns["listener"].is_null().to_numpy(zero_copy_only=False))
    counted = np.flatnonzero(columns["listener"].is_valid().to_numpy(zero_copy_only=False))
    if not counted.size:
        return entries
    of_heartbeat = pc.greater(entries.column("heartbeat_parts").combine_chunks(), 0)
    chosen = {name: column.take(pa.array(counted)) for name, column in {**columns, "of_heartbeat": of_heartbeat}.items()}
    series = _codes(*(chosen[name] for name in ("cluster", "broker", "gateway", "of_heartbeat", *_SERIES)))
    epoch, sequence = (chosen[name].to_numpy(zero_copy_only=False) for name in ("epoch", "sequence"))
    return entries.take(pa.array(np.sort(np.concatenate([beats, counted[_last(series, epoch, sequence)]]))))


def _newest(decoded: pa.StructArray, flat: pa.StructArray, parents: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Places of the newest entry of each series, ascending."""
    if not parents.size:
        return np.zeros(0, np.int64)
    of_record = [decoded.field(name) for name in ("cluster_id", "broker_id", "gateway_id")]
    of_record.append(pc.equal(decoded.field("kind"), Kind.HEARTBEAT.value))
    gateway = _codes(*of_record)[parents]
    series = _codes(pa.array(gateway), *(flat.field(_OF_COUNT[name]) for name in _SERIES))
    epoch, sequence = (decoded.field(name).fill_null(0).to_numpy(zero_copy_only=False)[parents] for name in ("gateway_epoch", "sequence"))
    return np.sort(_last(series, epoch, sequence))


def _last(series: np.ndarray[Any, Any], epoch: np.ndarray[Any, Any], sequence: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    order = np.lexsort((sequence, epoch, series))
    chosen: np.ndarray[Any, Any] = order[np.append(np.diff(series[order]) != 0, True)]
    return chosen


def _codes(*columns: pa.Array) -> np.ndarray[Any, Any]:
    """A number for each row, equal where all columns are."""
    codes = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        mixed = codes * max(1, len(encoded.dictionary)) + encoded.indices.to_numpy(zero_copy_only=False)
        codes = np.unique(mixed, return_inverse=True)[1]  # small again, so that nothing overflows
    return codes
