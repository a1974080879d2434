"""First fields of requests that show settings of their clients, by Kafka's names in JSON; nothing else of a body is read.

Layouts: Kafka's message files (``clients/src/main/resources/common/message``), those of 3.6 to 3.9 for versions that 4.0 removed.  Of a
Produce request only the head of its first batch is read, 61 bytes (``DefaultRecordBatch``): no record, no key, no value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from clientscope.errors import WireError
from clientscope.wire.cursor import Body, Cursor

MOST_CHARACTERS = 256
"""Of a text that a client chose; what is longer is cut, as in records."""

_MOST_PROTOCOLS = 20
_MOST_STEPS = 1_000
"""Topics or partitions that are gone through to find what stands behind them."""
_BATCH_HEAD = 61
_ATTRIBUTES = struct.Struct(">h20xq")
"""Of a batch: Attributes and ProducerId; behind its checksum."""
_FETCH = 1
_MAGIC = 16
"""Place of the format's number in a batch, in all formats."""

Fields = Iterator[tuple[str, object]]


def _produce(body: Body, version: int) -> Fields:
    cursor = body.cursor
    if version >= 3:
        yield "transactionalId", body.text()
    yield "acks", cursor.int16()
    yield "timeoutMs", cursor.int32()
    if not body.count():
        return
    _skip_topic(body, version)
    if not body.count():
        return
    cursor.int32()  # Index
    length = cursor.uvarint() - 1 if body.flexible else cursor.int32()
    if length <= _MAGIC:
        return
    head = cursor.take(min(length, _BATCH_HEAD))
    if head[_MAGIC] != 2 or length < _BATCH_HEAD:
        return  # a format of before 0.11, without a producer's id
    attributes, producer_id = _ATTRIBUTES.unpack_from(head, _MAGIC + 5)
    yield "batchCompression", attributes & 0b111
    yield "batchHasProducerId", producer_id >= 0


def _fetch(body: Body, version: int) -> Fields:
    cursor = body.cursor
    if version <= 14:
        yield "replicaId", cursor.int32()
    yield "maxWaitMs", cursor.int32()
    yield "minBytes", cursor.int32()
    if version >= 3:
        yield "maxBytes", cursor.int32()
    if version >= 4:
        yield "isolationLevel", cursor.int8()
    if version >= 7:
        cursor.take(4 + 4)  # SessionId, SessionEpoch
    steps = 0
    size = 4 + 8 + 4 * (version >= 9) + 4 * (version >= 12) + 8 * (version >= 5)
    for _ in range(body.count()):
        _skip_topic(body, version)
        for _ in range(body.count()):
            cursor.take(size)
            largest = cursor.int32()
            if not steps:
                yield "partitionMaxBytes", largest
            body.tags()
            if (steps := steps + 1) > _MOST_STEPS:
                return
        body.tags()
    if version < 11:
        return
    for _ in range(body.count()):  # ForgottenTopicsData
        _skip_topic(body, version)
        cursor.take(4 * body.count())
        body.tags()
        if (steps := steps + 1) > _MOST_STEPS:
            return
    yield "rackId", body.text()
    if version >= 15 and any(tag == 1 for tag, _ in cursor.tags()):
        yield "replicaId", 0  # ReplicaState, which only brokers send


def _skip_topic(body: Body, version: int) -> None:
    body.cursor.take(16) if version >= 13 else body.skip_text()


def _metadata(body: Body, version: int) -> Fields:
    if (topics := body.count()) > _MOST_STEPS:
        return
    for _ in range(topics):
        if version >= 10:
            body.cursor.take(16)
        body.skip_text()
        body.tags()
    if version >= 4:
        yield "allowAutoTopicCreation", body.cursor.int8() != 0


def _join_group(body: Body, version: int) -> Fields:
    yield "groupId", body.text()
    yield "sessionTimeoutMs", body.cursor.int32()
    if version >= 1:
        yield "rebalanceTimeoutMs", body.cursor.int32()
    body.skip_text()  # MemberId
    if version >= 5:
        yield "groupInstanceId", body.text()
    yield "protocolType", body.text()
    names = []
    for _ in range(min(body.count(), _MOST_PROTOCOLS)):
        names.append(body.text() or "")
        body.skip_bytes()
        body.tags()
    yield "protocols", ",".join(names)


def _group(body: Body, version: int) -> Fields:
    yield "groupId", body.text()


def _init_producer_id(body: Body, version: int) -> Fields:
    yield "transactionalId", body.text()
    yield "transactionTimeoutMs", body.cursor.int32()


def _consumer_heartbeat(body: Body, version: int) -> Fields:
    yield "groupId", body.text()
    body.skip_text()  # MemberId
    body.cursor.int32()  # MemberEpoch
    yield "instanceId", body.text()
    yield "rackId", body.text()
    yield "rebalanceTimeoutMs", body.cursor.int32()
    if (topics := body.count()) > _MOST_STEPS:  # SubscribedTopicNames
        return
    for _ in range(topics):
        body.skip_text()
    if version >= 1:
        body.skip_text()  # SubscribedTopicRegex
    yield "serverAssignor", body.text()


def _share_heartbeat(body: Body, version: int) -> Fields:
    yield "groupId", body.text()
    body.skip_text()  # MemberId
    body.cursor.int32()  # MemberEpoch
    yield "rackId", body.text()


def _share_fetch(body: Body, version: int) -> Fields:
    cursor = body.cursor
    yield "groupId", body.text()
    body.skip_text()  # MemberId
    cursor.int32()  # ShareSessionEpoch
    for name in ("maxWaitMs", "minBytes", "maxBytes", "maxRecords"):
        yield name, cursor.int32()
    if version >= 2:
        cursor.int32()  # BatchSize
        yield "shareAcquireMode", cursor.int8()


class _Layout(NamedTuple):
    versions: range
    flexible: int
    read: Callable[[Body, int], Fields]


_LAYOUTS: Mapping[int, _Layout] = MappingProxyType(
    {
        0: _Layout(range(14), 9, _produce),
        1: _Layout(range(19), 12, _fetch),
        3: _Layout(range(14), 9, _metadata),
        11: _Layout(range(10), 6, _join_group),
        12: _Layout(range(5), 4, _group),
        22: _Layout(range(7), 2, _init_producer_id),
        68: _Layout(range(2), 0, _consumer_heartbeat),
        76: _Layout(range(1, 2), 0, _share_heartbeat),
        78: _Layout(range(1, 3), 0, _share_fetch),
    }
)

VERSIONS: Mapping[int, range] = MappingProxyType({key: layout.versions for key, layout in _LAYOUTS.items()})
"""Api key → the versions whose layout is known."""


def request_fields(api_key: int, api_version: int, frame: bytes, position: int, whole: bool) -> dict[str, str]:
    """The fields in the beginning of a request; those that it doesn't reach are left out, as are null and empty ones but the rack of Fetch.

    Args:
        api_key: one of `VERSIONS`, with a version of its range.
        position: of the client.id, behind the correlation id.
        whole: whether this is the whole request.

    Raises:
        WireError: it is no such request.
    """
    layout = _LAYOUTS[api_key]
    flexible = api_version >= layout.flexible
    cursor = Cursor(frame, position)
    found: dict[str, str] = {}
    try:
        cursor.take(max(0, cursor.int16()))  # ClientId, which is never compact
        if flexible:
            cursor.tags()
        for name, value in layout.read(Body(cursor, flexible), api_version):
            if value not in (None, "") or (api_key == _FETCH and name == "rackId"):
                found[name] = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)[:MOST_CHARACTERS]
    except WireError as error:
        if whole or error.reason != "truncated":
            raise
    return found
