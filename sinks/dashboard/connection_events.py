"""``clientscope.connections``, a batch at a time: the vectorised decoder takes a sixth of the reference codec's time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa

from clientscope.errors import RecordError
from clientscope.policy.redaction import Names
from clientscope.records.codec import ClientConnectionRecord, Kind, decode
from sinks.dashboard.column_values import column_values
from udfs.decode import decoder
from udfs.redaction import redact_names


class Count(NamedTuple):
    """As in ``ClientConnectionRecord.Counts``."""

    count_software_name: str
    count_software_version: str
    open_connections: int


class Event(NamedTuple):
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
    counts: Sequence[Count]


_FIELDS = Event._fields[:-1]
_KINDS = frozenset(Kind)
_names = Names()
_FEW = 16
"""Records of which one after the other takes less time than a batch's own."""

AnyEvent = Event | ClientConnectionRecord


def events(values: Sequence[bytes]) -> list[AnyEvent | RecordError]:
    """One for each value, in order, or why it is none."""
    if len(values) < _FEW:
        return [_one(value) for value in values]
    decoded = redact_names(decoder("ClientConnectionRecord")(pa.array(values, pa.large_binary())), None)
    columns = [column_values(decoded.field(name)) for name in _FIELDS]
    counts = _counts(decoded.field("counts"), columns[0])
    errors = column_values(decoded.field("decode_error"))
    return [
        RecordError(error) if error else Event._make(fields) if fields[0] in _KINDS else RecordError("unknown_kind")
        for error, *fields in zip(errors, *columns, counts, strict=True)
    ]


def _counts(column: pa.ListArray, kinds: Sequence[int]) -> list[Sequence[Count]]:
    """Of heartbeats; nobody asks for those of other records, which all have one or two."""
    found: list[Sequence[Count]] = [()] * len(kinds)
    for place in (place for place, kind in enumerate(kinds) if kind == Kind.HEARTBEAT):
        found[place] = [Count(*(each[name] for name in Count._fields)) for each in column[place].as_py() or ()]
    return found


def _one(value: bytes) -> AnyEvent | RecordError:
    try:
        record = decode(ClientConnectionRecord, value)
    except RecordError as error:
        return error
    _names.of_record(record)
    return record if record.kind in _KINDS else RecordError("unknown_kind")
