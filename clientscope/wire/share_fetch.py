"""ShareFetch answers (key 78, KIP-932), whose NodeEndpoints come after the records and are replaced while the answer passes.

The answer's length goes before all of it, so it can't change: what the new addresses don't need is filled by a tagged field that no
reader knows, which KIP-482 has it skip. Where they need more than there is, or where nothing fills the difference exactly, the list is
left empty. A client that is sent no endpoints uses those of its last Metadata (Kafka's ``Metadata.updatePartitionLeadership``).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from clientscope.errors import WireError
from clientscope.wire.addresses import Rewriting, Translate, node_endpoints
from clientscope.wire.cursor import Cursor, write_tags, write_uvarint
from clientscope.wire.frames import RESPONSE_HEAD

MOST_HELD_BYTES = 1024 * 1024
"""The longest piece between two sets of records, such as the list of what was acquired; it is held until it is whole."""
_FILLERS = (16_383, 16_384)
"""Tags of the field that fills: of two bytes and of three, since neither alone can fill every number of bytes."""

Piece = Callable[[Cursor], int]
_Pieces = Generator[Piece | int, int, None]


class ShareFetchWalk:
    """One answer, fed as it comes.

    Args:
        left_out: called where the list of endpoints is left empty for want of room.
    """

    def __init__(self, translate: Translate, left_out: Callable[[], None]) -> None:
        self._translate = translate
        self._left_out = left_out
        self._pieces = _pieces()
        self._wanted: Piece | int | None = next(self._pieces)
        self._held = b""

    @property
    def held_bytes(self) -> int:
        """How many bytes are kept."""
        return len(self._held)

    def feed(self, data: bytes, last: bool) -> Iterator[bytes]:
        """What to send on.

        Args:
            last: whether the answer ends with these bytes.

        Raises:
            WireError: it is no such answer, or ``long_answer``: one of its pieces is longer than `MOST_HELD_BYTES`.
        """
        held = self._held + data if self._held else data
        done = 0
        while self._wanted is not None and (size := self._walked(held, done)):
            done += size
        if done:
            yield held[:done]
        self._held = held[done:]
        if last:
            if self._wanted is not None:
                raise WireError("truncated")
            yield self._endpoints(self._held)
        elif len(self._held) > MOST_HELD_BYTES:
            raise WireError("long_answer")

    def _walked(self, data: bytes, position: int) -> int:
        """How many bytes the piece that is wanted takes here, or as many of them as there are; 0 if none of them can pass yet."""
        if isinstance(self._wanted, int):  # records
            size = min(self._wanted, len(data) - position)
            self._wanted -= size
            if not self._wanted:
                self._next(0)
            return size
        assert self._wanted is not None
        cursor = Cursor(data, position)
        try:
            value = self._wanted(cursor)
        except WireError as error:
            if error.reason == "truncated":
                return 0
            raise
        self._next(value)
        return cursor.position - position

    def _next(self, value: int) -> None:
        try:
            self._wanted = self._pieces.send(value)
            while self._wanted == 0:
                self._wanted = self._pieces.send(0)
        except StopIteration:
            self._wanted = None

    def _endpoints(self, tail: bytes) -> bytes:
        """The last bytes of the answer, with other addresses and the same length."""
        rewriting = Rewriting(tail, 0, True, self._translate)
        node_endpoints(rewriting)
        endpoints = rewriting.upto_cursor()
        cursor = rewriting.cursor
        at = cursor.position
        tags = cursor.tags()
        if cursor.position != len(tail):
            raise WireError("trailing_bytes")
        if len(endpoints) == at:
            return endpoints + tail[at:]
        if (filled := _filled(endpoints, tags, len(tail))) is None:
            self._left_out()
            filled = _filled(write_uvarint(1), tags, len(tail))
        if filled is None:
            raise WireError("endpoints")
        return filled


def _filled(endpoints: bytes, tags: list[tuple[int, bytes]], size: int) -> bytes | None:
    """The endpoints and the tagged fields in so many bytes; None if that can't be."""
    for tag in _FILLERS:
        spare = size - len(endpoints) - len(write_tags([*tags, (tag, b"")]))
        for length in range(max(0, spare - 4), spare + 1):
            filled = endpoints + write_tags([*tags, (tag, bytes(length))])
            if len(filled) == size:
                return filled
    return None


def _pieces() -> _Pieces:
    """The pieces of an answer up to its endpoints, in order: what reads one, or a number of bytes of records."""
    for _ in range((yield _head)):
        for _ in range((yield _topic)):
            yield (yield _partition)
            yield _acquired
        yield _tags


def _head(cursor: Cursor) -> int:
    """Everything before the first topic; returns the number of topics."""
    cursor.take(RESPONSE_HEAD.size)
    cursor.tags()
    cursor.take(6)  # ThrottleTimeMs, ErrorCode
    cursor.compact_nullable_string()
    cursor.int32()  # AcquisitionLockTimeoutMs
    return cursor.compact_count()


def _topic(cursor: Cursor) -> int:
    """A topic up to its first partition; returns the number of partitions."""
    cursor.take(16)
    return cursor.compact_count()


def _partition(cursor: Cursor) -> int:
    """A partition up to its records; returns their size."""
    cursor.take(6)  # PartitionIndex, ErrorCode
    cursor.compact_nullable_string()
    cursor.int16()  # AcknowledgeErrorCode
    cursor.compact_nullable_string()
    cursor.take(8)  # CurrentLeader
    cursor.tags()
    return max(0, cursor.compact_count())


def _acquired(cursor: Cursor) -> int:
    """The rest of a partition."""
    for _ in range(cursor.compact_count()):
        cursor.take(18)  # FirstOffset, LastOffset, DeliveryCount
        cursor.tags()
    cursor.tags()
    return 0


def _tags(cursor: Cursor) -> int:
    """The rest of a topic."""
    cursor.tags()
    return 0
