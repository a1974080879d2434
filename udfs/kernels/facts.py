"""Facts about each decoded record, as numbers: lengths, codes, counts. No string, so no secret and nothing hostile."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.configs import Type
from clientscope.records.codec import Kind, ValueState

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
"""Kafka's; the fact is the position here, -1 of anything else."""

_LENGTHS = {
    "cluster_id_length": "cluster_id",
    "gateway_id_length": "gateway_id",
    "listener_name_length": "listener_name",
    "client_address_length": "client_address",
    "principal_length": "principal",
    "client_id_length": "client_id",
    "software_name_length": "client_software_name",
    "software_version_length": "client_software_version",
}
"""In bytes of UTF-8; null where the string is."""

_IDENTITY = ("broker_id", "gateway_epoch", "connection_id", "principal_source")

_int8, _int32, _int64 = pa.int8(), pa.int32(), pa.int64()
_COMMON = [
    *((name, _int32) for name in _LENGTHS),
    ("security_protocol", _int8), ("broker_id", _int32), ("gateway_epoch", _int64), ("connection_id", _int64), ("principal_source", _int8),
]  # fmt: skip

OF_PUSHES = pa.struct(
    [
        *_COMMON,
        ("told_ms", _int64), ("origin", _int8), ("settings", _int32), ("longest_key", _int32), ("empty_keys", _int32),
        ("unknown_value_states", _int32), ("unknown_config_types", _int32), ("negative_value_lengths", _int32),
        ("wrong_value_lengths", _int32), ("unkeyed_digests", _int32),
    ]
)  # fmt: skip
"""Facts of a ClientConfigRecord; those about settings count the settings of which it is so, ``longest_key`` is in bytes.

``told_ms`` is the record's own time; a wrong value length is that of a value that is there, and is as long otherwise.
"""

OF_CONNECTIONS = pa.struct(
    [
        *_COMMON,
        ("told_ms", _int64), ("kind", _int8), ("gateway", _int64), ("sequence", _int64), ("connection_fits_kind", _int8),
        ("counts", _int32), ("negative_counts", _int32), ("unbalanced_counts", _int32),
        ("heartbeat_part_fits", _int8), ("heartbeat_interval_ms", _int32), ("client_instances", _int32),
        ("opened_connections", _int64), ("closed_connections", _int64),
    ]
)  # fmt: skip
"""Facts of a ClientConnectionRecord.

``gateway`` is a number for the gateway's name and cluster; ``…_fits…`` is 1 or 0; unbalanced: open isn't opened less closed.
"""

Facts = dict[str, pa.Array]


def of_pushes(records: pa.StructArray) -> Facts:
    """The facts of `OF_PUSHES`.

    Args:
        records: decoded ClientConfigRecords.  Of one that could not be decoded nothing here means anything.
    """
    facts = _common(records)
    facts["told_ms"], facts["origin"] = records.field("received_timestamp_ms"), records.field("origin")
    configs = records.field("configs")
    flat = configs.flatten()
    count = _counter(configs)
    keys = pc.binary_length(flat.field("config_key")).to_numpy(zero_copy_only=False)
    lengths, states, types = (flat.field(name).to_numpy(zero_copy_only=False) for name in ("value_length", "value_state", "config_type"))
    values = pc.binary_length(flat.field("config_value"))
    wrong = pc.and_(pc.equal(pc.fill_null(flat.field("value_state"), 0), 0), pc.not_equal(values, flat.field("value_length")))
    digests = flat.field("value_digest").is_valid().to_numpy(zero_copy_only=False)
    without_key = records.field("digest_key_id").is_null().to_numpy(zero_copy_only=False)
    parents = pc.list_parent_indices(configs).to_numpy(zero_copy_only=False)
    facts |= {
        "settings": pc.fill_null(pc.list_value_length(configs), 0),
        "longest_key": _longest(keys, configs),
        "empty_keys": count(keys == 0),
        "unknown_value_states": count((states < 0) | (states > max(ValueState))),
        "unknown_config_types": count((types < 0) | (types > max(Type))),
        "negative_value_lengths": count(lengths < 0),
        "wrong_value_lengths": count(pc.fill_null(wrong, False).to_numpy(zero_copy_only=False)),
        "unkeyed_digests": count(digests & without_key[parents]),
    }
    return facts


def of_connections(records: pa.StructArray) -> Facts:
    """The facts of `OF_CONNECTIONS`.

    Args:
        records: decoded ClientConnectionRecords, otherwise as in `of_pushes`.
    """
    facts = _common(records)
    for name in ("kind", "sequence", "heartbeat_interval_ms", "client_instances", "opened_connections", "closed_connections"):
        facts[name] = records.field(name)
    facts["told_ms"], facts["gateway"] = records.field("timestamp_ms"), _numbered(records.field("cluster_id"), records.field("gateway_id"))
    beats = pc.equal(records.field("kind"), int(Kind.HEARTBEAT))
    part, parts = records.field("heartbeat_part"), records.field("heartbeat_parts")
    in_parts = pc.and_(pc.greater_equal(part, 0), pc.less(part, parts))
    facts["connection_fits_kind"] = pc.if_else(
        beats, pc.equal(records.field("connection_id"), -1), pc.greater_equal(records.field("connection_id"), 0)
    ).cast(_int8)
    facts["heartbeat_part_fits"] = pc.if_else(beats, in_parts, True).cast(_int8)
    counts = records.field("counts")
    count, flat = _counter(counts), counts.flatten()
    opened_now, opened, closed = (
        flat.field(name).to_numpy(zero_copy_only=False) for name in ("open_connections", "opened_total", "closed_total")
    )
    facts["counts"] = pc.fill_null(pc.list_value_length(counts), 0)
    facts["negative_counts"] = count((opened_now < 0) | (opened < 0) | (closed < 0))
    facts["unbalanced_counts"] = count(opened_now != opened - closed)
    return facts


def _common(records: pa.StructArray) -> Facts:
    facts = {name: pc.binary_length(records.field(field)) for name, field in _LENGTHS.items()}
    protocols = pc.index_in(records.field("security_protocol"), pa.array(SECURITY_PROTOCOLS))
    facts["security_protocol"] = pc.fill_null(protocols, -1).cast(_int8)
    return facts | {name: records.field(name) for name in _IDENTITY}


def _counter(lists: pa.ListArray) -> Callable[[npt.NDArray[np.bool_]], pa.Array]:
    """What counts, for each list, its items of which something is so."""
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    none = pa.array(np.zeros(len(lists), np.int32))

    def count(which: npt.NDArray[np.bool_]) -> pa.Array:
        chosen = np.flatnonzero(which)
        return pa.array(np.bincount(parents[chosen], minlength=len(lists)).astype(np.int32)) if chosen.size else none

    return count


def _longest(lengths: npt.NDArray[Any], lists: pa.ListArray) -> pa.Array:
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    longest = np.zeros(len(lists), np.int32)
    filled = np.flatnonzero(sizes)
    if filled.size:
        longest[filled] = np.maximum.reduceat(lengths, (np.cumsum(sizes) - sizes)[filled])
    return pa.array(longest)


def _numbered(*columns: pa.Array) -> pa.Array:
    """A number for each row, of 48 bits, the same wherever the strings are; two names share one as good as never."""
    encoded = pc.binary_join_element_wise(*columns, "\n").dictionary_encode()
    numbers = [int.from_bytes(blake2b((name or "").encode(), digest_size=6).digest(), "big") for name in encoded.dictionary.to_pylist()]
    return pa.array(numbers, _int64).take(encoded.indices)
