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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from clientscope.errors import WireError
from clientscope.wire.codes import CLIENT_INSTANCE_ID_TAG
from clientscope.wire.cursor import Cursor, write_tags, write_uvarint
from clientscope.wire.frames import LENGTH, REQUEST_HEAD, RESPONSE_HEAD, framed

FIRST_FLEXIBLE = 3
"""ApiVersions v3 is flexible, in its request's header and body; its response's header never is."""

REMEMBERED = 16
"""Answers of which is remembered what they come to: a broker gives thousands of connections the same one, of some 600 bytes."""

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
    _, _, version, _ = REQUEST_HEAD.unpack_from(frame)
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
    return ClientSaid(client_id, name, software_version, instance_id, upstream)


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
    return _instance_id(ours[-1]), framed(body)


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


def advertise(frame: bytes, api_version: int, *keys: int) -> bytes:
    """An ApiVersions response without an error, in which these keys have version 0; all else as it came.

    Args:
        api_version: the version that the request had.

    Raises:
        WireError: it is no such response; send it on as it is.
    """
    return with_body(frame, _advertised(frame[RESPONSE_HEAD.size :], api_version, keys))


@lru_cache(maxsize=REMEMBERED)
def _advertised(body: bytes, api_version: int, keys: tuple[int, ...]) -> bytes:
    no_tags = b"\0" if api_version >= FIRST_FLEXIBLE else b""
    listed, end = _listed(body, api_version)
    return _list(body, api_version, [*listed, *((key, 0, 0, no_tags) for key in keys)], end)


def limited(body: bytes, api_version: int, known: Mapping[int, tuple[int, int]]) -> bytes:
    """An ApiVersions response whose ranges are cut to those that are known; keys of which nothing is left are left out.

    Args:
        body: from the error code on.
        api_version: the layout of the response.

    Raises:
        WireError: it is no such response.
    """
    kept = []
    listed, end = _listed(body, api_version)
    for key, least, greatest, tags in listed:
        lowest, highest = known.get(key, (0, -1))
        if max(least, lowest) <= min(greatest, highest):
            kept.append((key, max(least, lowest), min(greatest, highest), tags))
    return _list(body, api_version, kept, end)


def read_ranges(frame: bytes, api_version: int) -> Mapping[int, tuple[int, int]]:
    """The least and greatest version of each key that an ApiVersions response lists.

    Args:
        api_version: the version that the request had.

    Raises:
        WireError: it is no such response.
    """
    return _ranges(frame[RESPONSE_HEAD.size :], api_version)


@lru_cache(maxsize=REMEMBERED)
def _ranges(body: bytes, api_version: int) -> Mapping[int, tuple[int, int]]:
    return {key: (least, greatest) for key, least, greatest, _ in _listed(body, api_version)[0]}


_Range = tuple[int, int, int, bytes]
"""An api key, its least and greatest version, and its tagged fields as they are written."""


def _listed(body: bytes, api_version: int) -> tuple[list[_Range], int]:
    """What a response lists behind its error code, and where that ends."""
    cursor = Cursor(body, _INT16.size)
    flexible = api_version >= FIRST_FLEXIBLE
    listed = []
    for _ in range(cursor.compact_count() if flexible else cursor.int32()):
        key, least, greatest = _RANGE.unpack(cursor.take(_RANGE.size))
        tags_at = cursor.position
        if flexible:
            cursor.tags()
        listed.append((key, least, greatest, body[tags_at : cursor.position]))
    return listed, cursor.position


def _list(body: bytes, api_version: int, ranges: Sequence[_Range], end: int) -> bytes:
    """The response with these ranges in place of its own, which end there."""
    count = write_uvarint(len(ranges) + 1) if api_version >= FIRST_FLEXIBLE else _INT32.pack(len(ranges))
    entries = b"".join(_RANGE.pack(key, least, greatest) + tags for key, least, greatest, tags in ranges)
    return body[: _INT16.size] + count + entries + body[end:]


def with_body(frame: bytes, body: bytes) -> bytes:
    """A response frame with another body."""
    return framed(frame[LENGTH.size : RESPONSE_HEAD.size] + body)


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
    return framed(body)


def refused_request(correlation_id: int) -> bytes:
    """ApiVersions v3 with an empty name and version: INVALID_REQUEST, which leaves the broker's idea of the client as it was."""
    body = struct.pack(">hhihBBBB", 18, 3, correlation_id, -1, 0, 1, 1, 0)
    return framed(body)
