"""Frames of a hostile client: expensive to read, and sent as fast as they are taken."""

from __future__ import annotations

import selectors
import socket
import ssl
import time

from frame_bytes import compact, request_frame

from clientscope.wire.cursor import write_tags, write_uvarint


def api_versions(name: bytes, tags: int = 0, correlation_id: int = 1) -> bytes:
    unknown = write_tags([(2_000 + number, b"") for number in range(tags)])
    return request_frame(18, 3, correlation_id, b"\0", compact(name), compact(b"1"), unknown)


def push(entries: int) -> bytes:
    settings = b"".join(b"\5%04d\2b\1\0\0" % number for number in range(entries))
    return request_frame(1324, 0, 7, b"\0", write_uvarint(entries + 1), settings, b"\0")


REFUSED = request_frame(1324, 7, 9)


def flood(sockets: list[socket.socket], data: bytes, seconds: float) -> int:
    """Sends ``data`` over and over on each, as fast as they take it, and reads nothing; how many bytes went."""
    selector = selectors.DefaultSelector()
    left: dict[socket.socket, memoryview] = {}
    for each in sockets:
        each.setblocking(False)
        selector.register(each, selectors.EVENT_WRITE)
        left[each] = memoryview(data)
    end, sent = time.monotonic() + seconds, 0
    while time.monotonic() < end and left:
        for key, _ in selector.select(0.1):
            each = key.fileobj
            assert isinstance(each, socket.socket)
            try:
                size = each.send(left[each])
            except (BlockingIOError, ssl.SSLWantWriteError):
                continue
            except OSError:
                selector.unregister(each)
                del left[each]
                continue
            sent += size
            left[each] = left[each][size:] or memoryview(data)
    return sent
