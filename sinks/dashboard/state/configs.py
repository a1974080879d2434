"""Reader of ``clientscope.configs`` into the index of pushes: the client and the place of each; settings are not read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from clientscope.errors import RecordError
from clientscope.records.client_key import client_key
from clientscope.records.layouts import Origin, rank_of
from clientscope.records.principals import authenticated
from clientscope.results import ResultValue
from clientscope.topic_values import clean
from sinks.dashboard.rows.pushes import IndexedPush
from sinks.dashboard.state.column_values import column_values
from sinks.dashboard.state.record import TopicRecord
from sinks.dashboard.state.unjudged import pack
from udfs.decoding.decode import decoder
from udfs.kernels.applications import application_of
from udfs.redaction.names import redact_names

MAX_KEY_BYTES = 1_024

_FIELDS = (
    "cluster_id",
    "client_address",
    "principal",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_instance_id",
    "origin",
)
_NEEDED = frozenset(_FIELDS)


def pushes(records: Sequence[TopicRecord]) -> list[IndexedPush | RecordError]:
    """One for each record, in their order; none of the records is a tombstone."""
    values = pa.array([record.value for record in records], pa.large_binary())
    decoded = redact_names(decoder("ClientConfigRecord", _NEEDED)(values), None)
    columns = [column_values(decoded.field(name)) for name in (*_FIELDS, "decode_error")]
    return [_push(record, *row) for record, *row in zip(records, *columns, strict=True)]


def key_text(key: bytes | None) -> str:
    """A record's key as text: see `clientscope.records.client_key`.

    Raises:
        RecordError: the key is too long or missing.
    """
    if key is None or len(key) > MAX_KEY_BYTES:
        raise RecordError("key")
    return key.decode("utf-8", "replace")


def judged(value: ResultValue, arrived_ms: int) -> IndexedPush:
    """The index entry of the push that a result is about."""
    client_id = value.client_id or ""
    return IndexedPush(
        key=client_key(value.cluster, value.principal, value.address, value.instance_id, value.gateway, value.epoch, value.connection),
        partition=value.partition,
        offset=value.offset,
        pushed_ms=arrived_ms,
        client_id=client_id,
        address=value.address,
        principal=authenticated(value.principal) or "",
        application=application_of(client_id),
        instance=value.instance_id,
        software=value.software_name,
        version=value.software_version,
        judged=bool(value.rules or value.passed),
        not_judged_by=pack(value.not_evaluable),
        rank=rank_of(Origin[value.origin.upper()]),
    )


def _push(
    record: TopicRecord,
    cluster: str,
    address: str,
    principal: str | None,
    client_id: str | None,
    software: str,
    version: str,
    instance: Any,
    origin: int,
    decode_error: str | None,
) -> IndexedPush | RecordError:
    if decode_error is not None:
        return RecordError(decode_error)
    try:
        key = key_text(record.key)
    except RecordError as error:
        return error
    name = clean(client_id) if client_id else ""
    return IndexedPush(
        key=key,
        partition=record.partition,
        offset=record.offset,
        pushed_ms=record.timestamp_ms,
        client_id=name,
        address=clean(address),
        principal=clean(authenticated(principal) or ""),
        application=application_of(name),
        instance=None if instance is None else str(instance),
        software=clean(software),
        version=clean(version),
        rank=rank_of(origin),
    )
