"""Facts about each decoded record that row checks judge: lengths, codes, counts, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clientscope.catalog.configs import Type
from clientscope.records.layouts import Kind, ValueState

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

_NUMBERS = ("broker_id", "gateway_epoch", "connection_id", "principal_source")

Facts = dict[str, pa.Array]


def of_pushes(records: pa.StructArray) -> Facts:
    """The facts that row checks of a push judge; those about settings count the settings of which it is so.

    Args:
        records: decoded ClientConfigRecords.  Of one that could not be decoded nothing here means anything.
    """
    facts = _common(records)
    facts["origin"] = records.field("origin")
    configs = records.field("configs")
    flat = configs.flatten()
    count = counter(configs)
    keys = pc.binary_length(flat.field("config_key")).to_numpy(zero_copy_only=False)
    lengths, states, types = (flat.field(name).to_numpy(zero_copy_only=False) for name in ("value_length", "value_state", "config_type"))
    facts |= {
        "empty_keys": count(keys == 0),
        "unknown_value_states": count((states < 0) | (states > max(ValueState))),
        "unknown_config_types": count((types < 0) | (types > max(Type))),
        "negative_value_lengths": count(lengths < 0),
    }
    return facts


def of_connections(records: pa.StructArray) -> Facts:
    """The facts that row checks of a connection's record judge; ``…_fits…`` is 1 or 0.

    Args:
        records: decoded ClientConnectionRecords, otherwise as in `of_pushes`.
    """
    facts = _common(records)
    for name in ("kind", "sequence", "heartbeat_interval_ms", "client_instances", "opened_connections", "closed_connections"):
        facts[name] = records.field(name)
    beats = pc.equal(records.field("kind"), int(Kind.HEARTBEAT))
    part, parts = records.field("heartbeat_part"), records.field("heartbeat_parts")
    in_parts = pc.and_(pc.greater_equal(part, 0), pc.less(part, parts))
    facts["connection_fits_kind"] = pc.if_else(
        beats, pc.equal(records.field("connection_id"), -1), pc.greater_equal(records.field("connection_id"), 0)
    ).cast(pa.int8())
    facts["heartbeat_part_fits"] = pc.if_else(beats, in_parts, True).cast(pa.int8())
    counts = records.field("counts")
    count, flat = counter(counts), counts.flatten()
    opened_now, opened, closed = (
        flat.field(name).to_numpy(zero_copy_only=False) for name in ("open_connections", "opened_total", "closed_total")
    )
    facts["negative_counts"] = count((opened_now < 0) | (opened < 0) | (closed < 0))
    return facts


def of_telemetry(records: pa.StructArray) -> Facts:
    """The facts that row checks of a client's own metrics judge.

    Args:
        records: rows of `udfs.kernels.client_facts`, which name no connection; otherwise as in `of_pushes`.
    """
    return _common(records, ("broker_id",))


def _common(records: pa.StructArray, numbers: Sequence[str] = _NUMBERS) -> Facts:
    facts = {name: pc.binary_length(records.field(field)) for name, field in _LENGTHS.items()}
    protocols = pc.index_in(records.field("security_protocol"), pa.array(SECURITY_PROTOCOLS))
    facts["security_protocol"] = pc.fill_null(protocols, -1)
    return facts | {name: records.field(name) for name in numbers}


def counter(lists: pa.ListArray) -> Callable[[npt.NDArray[np.bool_]], pa.Array]:
    """What counts, for each list, its items of which something is so."""
    parents = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    none = pa.array(np.zeros(len(lists), np.int32))

    def count(which: npt.NDArray[np.bool_]) -> pa.Array:
        chosen = np.flatnonzero(which)
        return pa.array(np.bincount(parents[chosen], minlength=len(lists)).astype(np.int32)) if chosen.size else none

    return count
