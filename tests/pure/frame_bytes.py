"""Frames of Kafka's protocol, byte by byte, for requests and answers that no client makes."""

from __future__ import annotations

import struct

from clientscope.wire.cursor import write_uvarint


def in_frame(*parts: bytes) -> bytes:
    """Their length, and they."""
    body = b"".join(parts)
    return struct.pack(">i", len(body)) + body


def head(key: int, version: int, correlation_id: int, client_id: bytes | None = None) -> bytes:
    """A request's header, without the tags that a flexible version has."""
    name = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id)) + client_id
    return struct.pack(">hhi", key, version, correlation_id) + name


def request_frame(key: int, version: int, correlation_id: int, *body: bytes, client_id: bytes | None = None) -> bytes:
    """A whole request."""
    return in_frame(head(key, version, correlation_id, client_id), *body)


def answer(correlation_id: int, size: int = 0) -> bytes:
    """A whole answer, of which only its id and its length matter."""
    return in_frame(struct.pack(">i", correlation_id), bytes(size))


def renumbered(answer: bytes, correlation_id: int) -> bytes:
    """The same answer to another request."""
    return answer[:4] + struct.pack(">i", correlation_id) + answer[8:]


def compact(text: bytes) -> bytes:
    """A string of a flexible version."""
    return write_uvarint(len(text) + 1) + text
