"""Decoder of ``clientscope.connections``, a batch at a time; it takes a sixth of the reference codec's time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa

from clientscope.errors import RecordError
from clientscope.policy.redaction import ClientNames
from clientscope.records.codec import ClientConnectionRecord, decode
from clientscope.records.layouts import Kind
from sinks.dashboard.state.column_values import column_values
from udfs.decoding.decode import decoder
from udfs.redaction.names import redact_names


class ListedCount(NamedTuple):
    """A count as in ``ClientConnectionRecord.Counts``."""

    count_software_name: str
    count_software_version: str
    open_connections: int


class RecordedEvent(NamedTuple):
    """What is needed of a ClientConnectionRecord, under its fields' names; ``counts`` of a heartbeat alone."""

    kind: int
    cluster_id: str
    broker_id: int
    gateway_id: str
    gateway_epoch: int
    sequence: int
    timestamp_ms: int
    connection_id: int
    listener_name: str
    security_protocol: str
    client_address: str
    principal: str | None
    client_id: str | None
    client_software_name: str
    client_software_version: str
    client_instance_id: UUID | str | None
    heartbeat_part: int
    heartbeat_parts: int
    heartbeat_interval_ms: int
    requested_versions: bytes | None
    traffic: bytes | None
    counts: Sequence[ListedCount]


_FIELDS = RecordedEvent._fields[:-1]
_KINDS = frozenset(Kind)
_names = ClientNames()
_FEW = 16
"""Records of which one after the other takes less time than a batch's own."""

AnyEvent = RecordedEvent | ClientConnectionRecord


def events(values: Sequence[bytes]) -> list[AnyEvent | RecordError]:
    """An event for each value, in order, or the reason why it has none."""
    if len(values) < _FEW:
        return [_one(value) for value in values]
    decoded = redact_names(decoder("ClientConnectionRecord")(pa.array(values, pa.large_binary())), None)
    columns = [column_values(decoded.field(name)) for name in _FIELDS]
    counts = _counts(decoded.field("counts"), columns[0])
    errors = column_values(decoded.field("decode_error"))
    return [
        RecordError(error) if error else RecordedEvent._make(fields) if fields[0] in _KINDS else RecordError("unknown_kind")
        for error, *fields in zip(errors, *columns, counts, strict=True)
    ]


def _counts(column: pa.ListArray, kinds: Sequence[int]) -> list[Sequence[ListedCount]]:
    """Counts of heartbeats; those of other records, which have one or two, aren't needed."""
    found: list[Sequence[ListedCount]] = [()] * len(kinds)
    for place in (place for place, kind in enumerate(kinds) if kind == Kind.HEARTBEAT):
        found[place] = [ListedCount(*(each[name] for name in ListedCount._fields)) for each in column[place].as_py() or ()]
    return found


def _one(value: bytes) -> AnyEvent | RecordError:
    try:
        record = decode(ClientConnectionRecord, value)
    except RecordError as error:
        return error
    _names.of_record(record)
    return record if record.kind in _KINDS else RecordError("unknown_kind")
