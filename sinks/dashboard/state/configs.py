"""Reader of ``clientscope.configs`` into the index of pushes: the client and the place of each; settings are not read."""

from __future__ import annotations

from clientscope.errors import RecordError
from clientscope.policy.redaction import ClientNames
from clientscope.records.client_key import client_key
from clientscope.records.codec import decode
from clientscope.records.config_record import ClientConfigRecord
from clientscope.records.enums import rank_of
from clientscope.records.principals import authenticated
from clientscope.results import ResultValue
from clientscope.topic_values import clean
from sinks.dashboard.rows.pushes import IndexedPush
from sinks.dashboard.state.record import TopicRecord
from sinks.dashboard.state.unjudged import pack
from udfs.kernels.applications import application_of

MAX_KEY_BYTES = 1_024

_names = ClientNames()


def push(record: TopicRecord) -> IndexedPush:
    """What the index has of a record, which is no tombstone.

    Raises:
        RecordError: it is no push, or its key is none.
    """
    read = _names.of_record(decode(ClientConfigRecord, record.value))
    client_id = clean(read.client_id) if read.client_id else ""
    return IndexedPush(
        key=key_text(record.key),
        partition=record.partition,
        offset=record.offset,
        pushed_ms=record.timestamp_ms,
        client_id=client_id,
        address=clean(read.client_address),
        principal=clean(authenticated(read.principal) or ""),
        application=application_of(client_id),
        instance=read.client_instance_id,
        software=clean(read.client_software_name),
        version=clean(read.client_software_version),
        rank=rank_of(read.origin),
    )


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
        rank=rank_of(value.origin),
    )
