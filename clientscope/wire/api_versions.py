"""ApiVersions (key 18) on raw bytes: reads the client's identity, and adds a key to the broker's answer.

All bytes but our own pass unchanged. Nothing is decoded into a message and encoded again, so fields of unknown versions survive.
KIP-35, KIP-511; KIP-1324's ClientInstanceId as tagged field 1324 of v3 and v4.

Two layouts are called v5. KIP-1324's text adds ClientInstanceId; Kafka 4.4's own adds ClusterId and NodeId (KIP-1242). A body is of the
layout that ends where the body ends. One that fits both is Kafka's, and goes upstream unchanged. KIP-1324's goes upstream as v4 without the
id; Kafka lays out the answers of v4 and v5 alike, so its answer needs no change.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from clientscope.errors import WireError
from clientscope.wire.codes import CLIENT_INSTANCE_ID_TAG, NONE
from clientscope.wire.cursor import Cursor, write_tags, write_uvarint
from clientscope.wire.frames import LENGTH, REQUEST_HEAD, RESPONSE_HEAD

FIRST_FLEXIBLE = 3
"""ApiVersions v3 is flexible, in its request's header and body; its response's header never is."""

_NO_BROKERS_VERSION = 2**15 - 1

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_RANGE = struct.Struct(">hhh")


@dataclass(slots=True)
class ClientSaid:
    """The client's data in an ApiVersions request.

    Attributes:
        software_name, software_version: None below v3, which does not carry them.
        instance_id: of tagged field 1324, or of the text's v5; None where it isn't there, or is all zeros.
        upstream: the frame as the broker is to see it: as it came, but for the instance id.
    """

    api_version: int
    correlation_id: int
    client_id: str | None
    software_name: str | None
    software_version: str | None
    instance_id: uuid.UUID | None
    upstream: bytes


def read_request(frame: bytes) -> ClientSaid:
    """Reads an ApiVersions request of any version, newer ones by the fields that v3 gave them.

    Raises:
        WireError: it is no such request; send it on as it is.
    """
    _, _, version, correlation_id = REQUEST_HEAD.unpack_from(frame)
    cursor = Cursor(frame, REQUEST_HEAD.size)
    client_id = cursor.nullable_string()
    name = software_version = instance_id = None
    upstream = frame
    if version >= FIRST_FLEXIBLE:
        cursor.tags()
        name, software_version = cursor.compact_string(), cursor.compact_string()
        if version in (3, 4):
            instance_id, upstream = _tagged_instance_id(frame, cursor.position)
        elif version == 5 and not _is_kafkas_v5(frame, cursor.position):
            instance_id, upstream = _texts_v5(frame, cursor.position)
    return ClientSaid(version, correlation_id, client_id, name, software_version, instance_id, upstream)


def _tagged_instance_id(frame: bytes, position: int) -> tuple[uuid.UUID | None, bytes]:
    """The id in the tag section that begins here, and the frame without it."""
    cursor = Cursor(frame, position)
    tags = cursor.tags()
    if cursor.position != len(frame):
        raise WireError("trailing_bytes")
    ours = [value for tag, value in tags if tag == CLIENT_INSTANCE_ID_TAG]
    if not ours:
        return None, frame
    body = frame[LENGTH.size : position] + write_tags([pair for pair in tags if pair[0] != CLIENT_INSTANCE_ID_TAG])
    return _instance_id(ours[-1]), LENGTH.pack(len(body)) + body


def _is_kafkas_v5(frame: bytes, position: int) -> bool:
    """Whether a nullable ClusterId, a NodeId and tags end the frame (KIP-1242)."""
    cursor = Cursor(frame, position)
    try:
        cursor.compact_nullable_string()
        cursor.int32()
        cursor.tags()
    except WireError:
        return False
    return cursor.position == len(frame)


def _texts_v5(frame: bytes, position: int) -> tuple[uuid.UUID | None, bytes]:
    """The id that begins here, and the frame as v4; a frame that is neither v5 is left to the broker."""
    cursor = Cursor(frame, position)
    instance_id = cursor.uuid()
    tags_at = cursor.position
    cursor.tags()
    if cursor.position != len(frame):
        raise WireError("trailing_bytes")
    _, key, _, correlation_id = REQUEST_HEAD.unpack_from(frame)
    length = len(frame) - 16 - LENGTH.size
    return instance_id, REQUEST_HEAD.pack(length, key, 4, correlation_id) + frame[REQUEST_HEAD.size : position] + frame[tags_at:]


def _instance_id(value: bytes) -> uuid.UUID | None:
    return Cursor(value).uuid() if len(value) == 16 else None


def error_code(frame: bytes) -> int:
    """The error code of an ApiVersions or SaslHandshake response: the same place in every version.

    Raises:
        WireError: ``truncated``.
    """
    return Cursor(frame, RESPONSE_HEAD.size).int16()


def advertise(frame: bytes, api_version: int, key: int, least: int, greatest: int) -> bytes:
    """An ApiVersions response with one more key; all else as it came.  An error's answer is returned unchanged.

    Args:
        api_version: the version that the request had.

    Raises:
        WireError: it is no such response; send it on as it is.
    """
    if error_code(frame) != NONE:
        return frame
    cursor = Cursor(frame, RESPONSE_HEAD.size + _INT16.size)
    before = cursor.position
    if api_version >= FIRST_FLEXIBLE:
        count = cursor.compact_count()
        first = cursor.position
        for _ in range(count):
            cursor.take(_RANGE.size)
            cursor.tags()
        entry, new_count = _RANGE.pack(key, least, greatest) + b"\0", write_uvarint(count + 2)
    else:
        count = cursor.int32()
        first = cursor.position
        cursor.take(count * _RANGE.size)
        entry, new_count = _RANGE.pack(key, least, greatest), _INT32.pack(count + 1)
    end = cursor.position
    body = frame[LENGTH.size : before] + new_count + frame[first:end] + entry + frame[end:]
    return LENGTH.pack(len(body)) + body


def limited(frame: bytes, api_version: int, known: Mapping[int, tuple[int, int]]) -> bytes:
    """An ApiVersions response whose ranges are cut to those that are known; keys of which nothing is left are left out.

    Args:
        api_version: the layout of the response.

    Raises:
        WireError: it is no such response.
    """
    cursor = Cursor(frame, RESPONSE_HEAD.size + _INT16.size)
    flexible, before = api_version >= FIRST_FLEXIBLE, cursor.position
    kept = []
    for _ in range(cursor.compact_count() if flexible else cursor.int32()):
        key, least, greatest = _RANGE.unpack(cursor.take(_RANGE.size))
        tags_at = cursor.position
        if flexible:
            cursor.tags()
        lowest, highest = known.get(key, (0, -1))
        if max(least, lowest) <= min(greatest, highest):
            kept.append(_RANGE.pack(key, max(least, lowest), min(greatest, highest)) + frame[tags_at : cursor.position])
    count = write_uvarint(len(kept) + 1) if flexible else _INT32.pack(len(kept))
    body = frame[LENGTH.size : before] + count + b"".join(kept) + frame[cursor.position :]
    return LENGTH.pack(len(body)) + body


def read_ranges(frame: bytes, api_version: int) -> dict[int, tuple[int, int]]:
    """The least and greatest version of each key that an ApiVersions response lists.

    Args:
        api_version: the version that the request had.

    Raises:
        WireError: it is no such response.
    """
    cursor = Cursor(frame, RESPONSE_HEAD.size + _INT16.size)
    flexible = api_version >= FIRST_FLEXIBLE
    count = cursor.compact_count() if flexible else cursor.int32()
    ranges = {}
    for _ in range(count):
        key, least, greatest = _RANGE.unpack(cursor.take(_RANGE.size))
        ranges[key] = (least, greatest)
        if flexible:
            cursor.tags()
    return ranges


def as_unsupported(frame: bytes) -> bytes:
    """An ApiVersions request in a version that no broker has: the answer is UNSUPPORTED_VERSION and key 18's range, laid out as v0."""
    length, key, _, correlation_id = REQUEST_HEAD.unpack_from(frame)
    return REQUEST_HEAD.pack(length, key, _NO_BROKERS_VERSION, correlation_id) + frame[REQUEST_HEAD.size :]


def with_correlation_id(frame: bytes, correlation_id: int) -> bytes:
    """A request frame under another correlation id."""
    at = REQUEST_HEAD.size - _INT32.size
    return frame[:at] + _INT32.pack(correlation_id) + frame[at + _INT32.size :]


def plain_request(correlation_id: int, client_id: str | None) -> bytes:
    """ApiVersions v0: what any broker answers, and what leaves a client that never said its name unknown."""
    text = client_id.encode() if client_id is not None else None
    body = struct.pack(">hhi", 18, 0, correlation_id) + (_INT16.pack(-1) if text is None else _INT16.pack(len(text)) + text)
    return LENGTH.pack(len(body)) + body


def refused_request(correlation_id: int) -> bytes:
    """ApiVersions v3 with an empty name and version: INVALID_REQUEST, which leaves the broker's idea of the client as it was."""
    body = struct.pack(">hhihBBBB", 18, 3, correlation_id, -1, 0, 1, 1, 0)
    return LENGTH.pack(len(body)) + body
