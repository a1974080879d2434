"""Bytes that clients sent → their requests, as a broker would have logged them.

Only plaintext can be read. Where a capture begins within a connection, or a packet is missing, a stream is read again from the next packet
that begins with a request. A frame is held up to `MOST_FRAME`, and of the body only the fields of `request_fields` are kept; who
authenticates isn't read, so clients that do have no principal.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from clientscope.errors import WireError
from clientscope.logs.packets import MOST_STREAMS, Flow, Sent, address
from clientscope.logs.requests import LoggedRequest, cut
from clientscope.wire.api_versions import read_request
from clientscope.wire.codes import API_VERSIONS
from clientscope.wire.cursor import Cursor
from clientscope.wire.frames import LENGTH, MAX_FRAME_BYTES, SHORTEST_REQUEST
from clientscope.wire.request_fields import VERSIONS, request_fields

MOST_FRAME = 64 * 1024
"""Bytes of a request that are read; of a longer one its first."""
_HEAD = 4 + 10
_HIGHEST_KEY, _HIGHEST_VERSION = 100, 30
_CLIENT_ID = 8
"""Place of the client.id in a frame without its length."""
_SASL_KEYS = 17, 36
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")


class _Connection:
    """One connection.

    Attributes:
        held: the beginning of a frame that isn't whole yet.
        passing: bytes of the frame that are left, and aren't held.
        in_step: whether `held` begins with a frame.
        software: name and version by ApiVersions.
    """

    __slots__ = ("authenticates", "held", "in_step", "number", "passing", "software")

    def __init__(self, number: int) -> None:
        self.number = number
        self.held = b""
        self.passing = 0
        self.in_step = False
        self.authenticates = False
        self.software = "", ""


class CapturedRequests:
    """Requests of one capture.

    Attributes:
        requests: that were read.
        unreadable: packets that begin with no request where one was expected, as with TLS.
    """

    def __init__(self) -> None:
        self.requests = self.unreadable = 0
        self._connections: OrderedDict[Flow, _Connection] = OrderedDict()
        self._count = 0

    def read(self, sent: Sent) -> Iterator[LoggedRequest]:
        """The requests that are complete by these bytes."""
        connection = self._connections.pop(sent.flow, None)
        if connection is None:
            self._count += 1
            connection = _Connection(self._count)
        self._connections[sent.flow] = connection
        if len(self._connections) > MOST_STREAMS:
            self._connections.popitem(last=False)
        data = sent.data
        if sent.begins:
            connection.held, connection.passing, connection.in_step = b"", 0, False
        if not connection.in_step:
            if not _begins_with_request(data):
                self.unreadable += 1
                return
            connection.in_step = True
        if connection.passing:
            passed = min(connection.passing, len(data))
            connection.passing -= passed
            data = data[passed:]
        connection.held += data
        yield from self._frames(connection, sent)

    def _frames(self, connection: _Connection, sent: Sent) -> Iterator[LoggedRequest]:
        data = connection.held
        place = 0
        while len(data) - place >= _HEAD:
            length = int.from_bytes(data[place : place + 4])
            if not _plausible(data, place):
                connection.held, connection.in_step = b"", False
                self.unreadable += 1
                return
            whole = 4 + length
            if len(data) - place < min(whole, MOST_FRAME):
                break
            frame = data[place + 4 : place + min(whole, MOST_FRAME)]
            if (request := self._request(frame, whole <= MOST_FRAME, connection, sent)) is not None:
                self.requests += 1
                yield request
            if len(data) - place < whole:
                connection.passing = whole - (len(data) - place)
                place = len(data)
                break
            place += whole
        connection.held = data[place:]

    def _request(self, frame: bytes, is_whole: bool, connection: _Connection, sent: Sent) -> LoggedRequest | None:
        cursor = Cursor(frame)
        api_key, version, _ = cursor.int16(), cursor.int16(), cursor.int32()
        try:
            client_id = cursor.nullable_string() or ""
        except WireError:
            self.unreadable += 1
            return None
        connection.authenticates |= api_key in _SASL_KEYS
        try:
            found = _fields(api_key, version, frame, is_whole)
        except WireError:
            found = {}
        if name := found.get("clientSoftwareName"):
            connection.software = name, found["clientSoftwareVersion"]
        source, port, destination, listener = sent.flow
        client = address(source)
        return LoggedRequest(
            api_key,
            version,
            datetime.fromtimestamp(sent.at, UTC).strftime("%Y-%m-%d %H:%M:%S"),
            cut(client_id),
            f"{address(destination)}:{listener}-{client}:{port}-{connection.number}",
            client,
            "" if connection.authenticates else "User:ANONYMOUS",
            "",
            "SASL_PLAINTEXT" if connection.authenticates else "PLAINTEXT",
            cut(connection.software[0]),
            cut(connection.software[1]),
            found,
        )


def _fields(api_key: int, version: int, frame: bytes, is_whole: bool) -> Mapping[str, str]:
    if api_key == API_VERSIONS:
        said = read_request(LENGTH.pack(len(frame)) + frame)
        return {"clientSoftwareName": cut(said.software_name or ""), "clientSoftwareVersion": cut(said.software_version or "")}
    if version not in VERSIONS.get(api_key, ()):
        return {}
    return request_fields(api_key, version, frame, _CLIENT_ID, is_whole)


def _plausible(data: bytes, place: int) -> bool:
    length, api_key, version = (int.from_bytes(data[place + at : place + to], signed=True) for at, to in ((0, 4), (4, 6), (6, 8)))
    return SHORTEST_REQUEST <= length <= MAX_FRAME_BYTES and 0 <= api_key <= _HIGHEST_KEY and 0 <= version <= _HIGHEST_VERSION


def _begins_with_request(data: bytes) -> bool:
    """Whether a packet whose place in the stream isn't known begins with a request: a client.id is text, and the length fits."""
    if len(data) < _HEAD or not _plausible(data, 0):
        return False
    try:
        client_id = Cursor(data, 12).nullable_string()
    except WireError:
        return False
    return not (client_id and _UNPRINTABLE.search(client_id))
