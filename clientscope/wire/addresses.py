"""Addresses of brokers in answers, replaced on raw bytes: FindCoordinator, Produce and ShareAcknowledge.

Every other byte is the broker's, so fields that a later release tags survive. An answer is read to the end of its last address at least,
and only in versions whose layout is known. Source of the layouts: Kafka's ``common/message/*.json``, as in the jar of 4.4.0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from clientscope.errors import WireError
from clientscope.wire.cursor import Body, Cursor, write_tags, write_uvarint
from clientscope.wire.frames import LENGTH, RESPONSE_HEAD, framed

Translate = Callable[[int, str, int], tuple[str, int] | None]
"""Id, host and port of a broker → what clients are to see; None leaves the broker out."""

_ENDPOINTS_TAG = 0
"""NodeEndpoints of Produce v10 and later (KIP-951), a tagged field of the answer itself."""
_COORDINATOR_NOT_AVAILABLE = 15
"""Retriable: a client asks again, as it does while a coordinator moves."""
_NO_ID = -1
_NOTHING_MORE = b"\x01\x00\x00"
"""No RecordErrors, a null ErrorMessage and no tagged fields: the end of a partition in nearly every Produce answer."""

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


def unchanged(broker_id: int, host: str, port: int) -> tuple[str, int]:
    """Leaves each address as it is."""
    return host, port


class Rewriting(Body):
    """Copy of an answer in which addresses are replaced, from its first field on.

    Args:
        flexible: whether strings and arrays are compact, and structures have tagged fields (KIP-482).
    """

    def __init__(self, data: bytes, position: int, flexible: bool, translate: Translate) -> None:
        super().__init__(Cursor(data, position), flexible)
        self.translate = translate
        self._copied = 0
        self._pieces: list[bytes] = []

    def brokers(self, rest: Callable[[], None]) -> None:
        """An array of id, host, port and what ``rest`` reads.

        Raises:
            WireError: this is no such array.
        """
        start, entries = self.cursor.position, list[bytes]()
        for _ in range(self.count()):
            at = self.cursor.position
            _, address = self._node()
            rest_at = self.cursor.position
            rest()
            if address is not None:
                entries.append(self.cursor.data[at : at + _INT32.size] + address + self.cursor.data[rest_at : self.cursor.position])
        count = write_uvarint(len(entries) + 1) if self.flexible else _INT32.pack(len(entries))
        self.replace(start, count + b"".join(entries))

    def coordinator(self) -> bool:
        """Id, host and port of a coordinator; one that is left out has no id and no host then. Returns whether it is left out."""
        start = self.cursor.position
        node_id, address = self._node()
        if address is not None:
            self.replace(start, _INT32.pack(node_id) + address)
        else:
            self.replace(start, _INT32.pack(_NO_ID) + self._address("", -1))
        return address is None

    def _node(self) -> tuple[int, bytes | None]:
        """A broker's id, and its address as it is to be; an id below zero is no broker's, and its address stays."""
        node_id = self.cursor.int32()
        at = self.cursor.position
        host = self.text()
        port = self.cursor.int32()
        if host is None:
            raise WireError("null")
        if node_id < 0:
            return node_id, self.cursor.data[at : self.cursor.position]
        address = self.translate(node_id, host, port)
        return node_id, None if address is None else self._address(*address)

    def _address(self, host: str, port: int) -> bytes:
        text = host.encode()
        return (write_uvarint(len(text) + 1) if self.flexible else _INT16.pack(len(text))) + text + _INT32.pack(port)

    def replace(self, start: int, new: bytes) -> None:
        """Writes this in place of everything from ``start`` to where the cursor is."""
        self._pieces += (self.cursor.data[self._copied : start], new)
        self._copied = self.cursor.position

    def upto_cursor(self) -> bytes:
        """What has been read, as it is now."""
        return b"".join(self._pieces) + self.cursor.data[self._copied : self.cursor.position]

    def frame(self) -> bytes:
        """The whole answer, its length included.

        Raises:
            WireError: ``trailing_bytes``: more follows than was read.
        """
        if self.cursor.position != len(self.cursor.data):
            raise WireError("trailing_bytes")
        body = self.upto_cursor()[LENGTH.size :]
        return framed(body)


def begin(frame: bytes, flexible: bool, translate: Translate) -> Rewriting:
    """A rewriting that has read the answer's header."""
    rewriting = Rewriting(frame, RESPONSE_HEAD.size, flexible, translate)
    rewriting.tags()
    return rewriting


def find_coordinator(frame: bytes, version: int, translate: Translate) -> bytes:
    """A FindCoordinator answer (v0 to v6). A coordinator that is left out is COORDINATOR_NOT_AVAILABLE.

    Raises:
        WireError: it is no such answer.
    """
    answer = begin(frame, version >= 3, translate)
    cursor = answer.cursor
    if version >= 1:
        cursor.int32()  # ThrottleTimeMs
    if version < 4:
        return _one_coordinator(answer, version)
    for _ in range(answer.count()):
        answer.text()  # Key
        left_out = answer.coordinator()
        error_at = cursor.position
        cursor.int16()  # ErrorCode
        if left_out:
            answer.replace(error_at, _INT16.pack(_COORDINATOR_NOT_AVAILABLE))
        answer.text()  # ErrorMessage
        answer.tags()
    answer.tags()
    return answer.frame()


def _one_coordinator(answer: Rewriting, version: int) -> bytes:
    error_at = answer.cursor.position
    answer.cursor.int16()  # ErrorCode
    error_end = answer.cursor.position
    if version >= 1:
        answer.text()  # ErrorMessage
    left_out = answer.coordinator()
    answer.tags()
    frame = answer.frame()
    return frame[:error_at] + _INT16.pack(_COORDINATOR_NOT_AVAILABLE) + frame[error_end:] if left_out else frame


def produce(frame: bytes, version: int, translate: Translate) -> bytes:
    """A Produce answer of v10 to v13 (KIP-951): its NodeEndpoints, which it has where a partition's leader is another broker.

    Raises:
        WireError: it is no such answer.
    """
    answer = begin(frame, True, translate)
    cursor = answer.cursor
    for _ in range(cursor.compact_count()):
        if version >= 13:
            cursor.take(16)  # TopicId
        else:
            answer.text()  # Name
        for _ in range(cursor.compact_count()):
            cursor.take(30)  # Index, ErrorCode, BaseOffset, LogAppendTimeMs, LogStartOffset
            if cursor.data.startswith(_NOTHING_MORE, cursor.position):
                cursor.position += len(_NOTHING_MORE)
                continue
            for _ in range(cursor.compact_count()):
                cursor.int32()  # BatchIndex
                answer.text()  # BatchIndexErrorMessage
                answer.tags()
            answer.text()  # ErrorMessage
            answer.tags()
        answer.tags()
    cursor.int32()  # ThrottleTimeMs
    return endpoints_in_tags(answer)


def endpoints_in_tags(answer: Rewriting) -> bytes:
    """An answer whose tagged fields come next, which hold NodeEndpoints.

    Raises:
        WireError: they don't end the answer, or hold another thing.
    """
    start = answer.cursor.position
    tags = answer.cursor.tags()
    if any(tag == _ENDPOINTS_TAG for tag, _ in tags):
        answer.replace(start, write_tags([(tag, _endpoints(value, answer) if tag == _ENDPOINTS_TAG else value) for tag, value in tags]))
    return answer.frame()


def _endpoints(value: bytes, answer: Rewriting) -> bytes:
    field = Rewriting(value, 0, True, answer.translate)
    node_endpoints(field)
    if field.cursor.position != len(value):
        raise WireError("trailing_bytes")
    return field.upto_cursor()


def node_endpoints(answer: Rewriting) -> None:
    """The array NodeEndpoints, at the cursor."""

    def rest() -> None:
        answer.text()  # Rack
        answer.tags()

    answer.brokers(rest)


def share_acknowledge(frame: bytes, version: int, translate: Translate) -> bytes:
    """A ShareAcknowledge answer of v1 or v2 (KIP-932).

    Raises:
        WireError: it is no such answer.
    """
    answer = begin(frame, True, translate)
    cursor = answer.cursor
    cursor.take(6)  # ThrottleTimeMs, ErrorCode
    answer.text()  # ErrorMessage
    if version >= 2:
        cursor.int32()  # AcquisitionLockTimeoutMs
    for _ in range(cursor.compact_count()):
        cursor.take(16)  # TopicId
        for _ in range(cursor.compact_count()):
            cursor.take(6)  # PartitionIndex, ErrorCode
            answer.text()  # ErrorMessage
            cursor.take(8)  # CurrentLeader
            answer.tags()
            answer.tags()
        answer.tags()
    node_endpoints(answer)
    answer.tags()
    return answer.frame()
