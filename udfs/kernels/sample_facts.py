"""Facts that samples of history are held against, as numbers: what only a look at several rows, or at a clock, can judge.

What a single row decides was judged before the row was kept, by its record's class.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.model.topics import CONFIGS, CONNECTIONS

Facts = dict[str, pa.Array]

PLACE = ("partition", "offset")
"""Columns that are a record's place in its topic; each sample has them."""

_PUSHES = ("received_ms", "digest_key_id", "configs")
_SETTINGS = ("config_key", "value_digest")
_CONNECTIONS = ("timestamp_ms", "cluster", "gateway", "epoch", "sequence", "counts")
_COUNTS = ("connections", "opened", "closed")

COLUMNS = {CONFIGS: (frozenset(_PUSHES), frozenset(_SETTINGS)), CONNECTIONS: (frozenset(_CONNECTIONS), frozenset(_COUNTS))}
"""By topic: the columns that its facts are made of, and the fields that are needed of the one that is a list."""


def of_pushes(rows: pa.Table) -> Facts:
    """Facts of rows of clientscope.configs.

    ``told_ms`` is the record's own time; ``longest_key`` is in bytes; the others count settings.
    """
    configs, of_row = rows.column("configs").combine_chunks(), rows.column("digest_key_id")
    flat = configs.flatten()
    count = _counter(configs)
    keys = pc.binary_length(flat.field("config_key")).to_numpy(zero_copy_only=False)
    digests = flat.field("value_digest").is_valid().to_numpy(zero_copy_only=False)
    without_key = of_row.is_null().to_numpy()
    parents = pc.list_parent_indices(configs).to_numpy(zero_copy_only=False)
    return {
        "told_ms": rows.column("received_ms"),
        "settings": pc.fill_null(pc.list_value_length(configs), 0),
        "longest_key": _longest(keys, configs),
        "unkeyed_digests": count(digests & without_key[parents]),
    }


def of_connections(rows: pa.Table) -> Facts:
    """Facts of rows of clientscope.connections.

    ``gateway`` is a number for the gateway's name and cluster; unbalanced: open isn't opened less closed.
    """
    counts = rows.column("counts").combine_chunks()
    flat = counts.flatten()
    opened_now, opened, closed = (flat.field(name).to_numpy(zero_copy_only=False) for name in _COUNTS)
    return {
        "told_ms": rows.column("timestamp_ms"),
        "gateway": _numbered(rows.column("cluster").combine_chunks(), rows.column("gateway").combine_chunks()),
        "epoch": rows.column("epoch"),
        "sequence": rows.column("sequence"),
        "unbalanced_counts": _counter(counts)(opened_now != opened - closed),
    }


OF_TOPIC: dict[str, Callable[[pa.Table], Facts]] = {CONFIGS: of_pushes, CONNECTIONS: of_connections}
"""What makes the facts of a table's rows, by the topic that the table is of."""


def of_rows(topic: str, rows: pa.Table) -> pa.Table:
    """Places, times and facts of a topic's rows in history: numbers, and no string, so no secret and nothing that a client chose.

    ``appended_ms`` is Kafka's time of the record.
    """
    return pa.table({name: rows.column(name) for name in PLACE} | {"appended_ms": appended_ms(rows)} | OF_TOPIC[topic](rows))


def appended_ms(rows: pa.Table) -> pa.ChunkedArray:
    """Kafka's times of the records, in ms since the epoch."""
    return rows.column("timestamp").cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())


def _longest(lengths: npt.NDArray[Any], lists: pa.ListArray) -> pa.Array:
    """The largest of each list's lengths, which are of its items one after the other; 0 of an empty list."""
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    found = np.zeros(len(lists), np.int32)
    filled = np.flatnonzero(sizes)
    if filled.size:
        found[filled] = np.maximum.reduceat(lengths, (np.cumsum(sizes) - sizes)[filled])
    return pa.array(found)


def _numbered(*columns: pa.Array) -> pa.Array:
    """A number for each row, of 48 bits, the same wherever the strings are; two names share one as good as never."""
    encoded = pc.binary_join_element_wise(*columns, "\n").dictionary_encode()
    numbers = [int.from_bytes(blake2b((name or "").encode(), digest_size=6).digest(), "big") for name in encoded.dictionary.to_pylist()]
    return pa.array(np.array(numbers, np.int64)).take(encoded.indices)


def _counter(lists: pa.ListArray) -> Callable[[npt.NDArray[np.bool_]], pa.Array]:
    """What counts, for each list, its items of which something is so."""
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    none = pa.array(np.zeros(len(lists), np.int32))

    def count(which: npt.NDArray[np.bool_]) -> pa.Array:
        chosen = np.flatnonzero(which)
        return pa.array(np.bincount(parents[chosen], minlength=len(lists)).astype(np.int32)) if chosen.size else none

    return count
