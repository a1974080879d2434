"""Splitting of a byte stream into frames: those that pass untouched, and the few that are read.

A frame is an int32 length and that many bytes.  Nothing is allocated by a claimed length: a frame that passes is counted off as
its bytes come, and one that is read is held only up to a bound.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from clientscope.errors import WireError

LENGTH = struct.Struct(">i")
REQUEST_HEAD = struct.Struct(">ihhi")
"""Length, api_key, api_version, correlation_id: what every request frame begins with."""
RESPONSE_HEAD = struct.Struct(">ii")
"""Length, correlation_id: what every response frame begins with."""

MAX_FRAME_BYTES = 100 * 1024 * 1024
"""Kafka's default of ``socket.request.max.bytes``."""
SHORTEST_REQUEST = REQUEST_HEAD.size - LENGTH.size
MOST_PEEKED = 16 * 1024
"""Bytes that are copied of a frame that is looked into as it passes."""
FRAMES_PER_TURN = 64
"""How many frames are looked at before other connections have their turn: a tenth of a millisecond's."""


def framed(body: bytes) -> bytes:
    """A frame of these bytes."""
    return LENGTH.pack(len(body)) + body


_LENGTH_SIZE, _length_at = LENGTH.size, LENGTH.unpack_from
_NOTHING = bytearray()
"""What every scanner holds between frames, rather than an empty one of its own; never written to."""


class Treatment(Enum):
    """What to do with a frame, decided by its first bytes."""

    PASS = "pass"  # noqa: S105  not a password
    PEEK = "peek"
    READ = "read"
    DISCARD = "discard"
    PARTS = "parts"


@dataclass(slots=True)
class Passed:
    """Bytes to send on as they are."""

    data: bytes | memoryview


@dataclass(slots=True)
class Peeked:
    """The beginning of a frame that passes all the same: what of it has come by now, at most `MOST_PEEKED` bytes.

    Attributes:
        whole: whether that is all of it.
    """

    data: bytes
    whole: bool


@dataclass(slots=True)
class Frame:
    """One whole frame, its length included."""

    data: bytes


@dataclass(slots=True)
class Discarded:
    """The first bytes of a frame whose rest is thrown away as it comes."""

    head: bytes


@dataclass(slots=True)
class Part:
    """Bytes of a frame that is read as it comes, never whole.

    Attributes:
        first: whether the frame begins here; then its head is whole.
        last: whether it ends here.
    """

    data: bytes
    first: bool
    last: bool


@dataclass(frozen=True)
class Turn:
    """`FRAMES_PER_TURN` frames have been looked at: others may go first."""


_TURN = Turn()

Piece = Passed | Peeked | Frame | Discarded | Part | Turn


class FrameScanner:
    """Cuts one direction of one connection; feed it what was received, in order.

    Args:
        head_size: how many first bytes `feed`'s ``treat`` needs, the length included; a shorter frame passes.
            An attribute, like ``shortest``: the bare SASL tokens of SaslHandshake v0 have no head but their length.
        shortest: the least length that is taken.
        longest: the greatest.

    Attributes:
        held: the bytes that are kept of a frame that isn't whole yet.
    """

    __slots__ = ("_discarding", "_longest", "_needed", "_parting", "_passing", "head_size", "held", "shortest")

    def __init__(self, head_size: int, shortest: int, longest: int = MAX_FRAME_BYTES) -> None:
        self.head_size = head_size
        self.shortest = shortest
        self._longest = longest
        self._passing = 0
        self._discarding = self._parting = 0
        self.held = _NOTHING
        self._needed = 0

    @property
    def between_frames(self) -> bool:
        """Whether what was fed so far ends where a frame ends."""
        return not (self._passing or self._discarding or self._parting or self.held)

    @property
    def holds(self) -> bool:
        """Whether bytes of the last frame are held here, or its rest is thrown away or read as it comes."""
        return bool(self._discarding or self._parting or self.held)

    def end(self) -> None:
        """Drops what is held: nothing more is fed."""
        self.held = _NOTHING

    def skip(self, received: bytes, passes: Callable[[bytes, int], bool]) -> bool:
        """Whether all that was received passes, and nothing of it is to be looked at again; if not, nothing has changed: `feed` it.

        This is what the traffic of a connection is, so it costs no object for a piece.

        Args:
            passes: whether the frame that begins at this place passes; changes nothing.
        """
        position, end = self._passing, len(received)
        if position < end:
            if self.held or self._discarding or self._parting:
                return False
            head_size, shortest, longest = self.head_size, self.shortest, self._longest
            for _ in range(FRAMES_PER_TURN):
                if end - position < head_size:
                    return False
                (length,) = _length_at(received, position)
                if not shortest <= length <= longest or length < head_size - _LENGTH_SIZE or not passes(received, position):
                    return False
                position += _LENGTH_SIZE + length
                if position >= end:
                    break
            else:
                return False
        self._passing = position - end
        return True

    def feed(self, received: bytes, treat: Callable[[bytes], Treatment]) -> Iterator[Piece]:  # noqa: PLR0915  one loop: each call would cost every frame
        """The pieces that ``received`` completes, in order.

        Args:
            treat: decides by a frame's head; it is asked again when a frame came in parts.

        Raises:
            WireError: ``bad_length``: this is no Kafka protocol, or a frame that no broker would take.  The stream is lost.
        """
        if self.held:
            self.held += received
            if len(self.held) < self._needed:
                return
            data = bytes(self.held)
            self.held = _NOTHING
        else:
            data = received
        view, end = memoryview(data), len(data)
        run = position = frames = 0  # data[run:position] passes
        while position < end:
            if remaining := self._passing or self._discarding or self._parting:
                position += (step := min(remaining, end - position))
                if self._passing:
                    self._passing -= step
                    continue
                run = position
                if self._discarding:
                    self._discarding -= step
                else:
                    self._parting -= step
                    yield Part(data[position - step : position], False, not self._parting)
                continue
            if frames == FRAMES_PER_TURN:
                if run < position:
                    yield Passed(view[run:position])
                    run = position
                frames = 0
                yield _TURN
            frames += 1
            if end - position < _LENGTH_SIZE:
                self._needed = _LENGTH_SIZE
                break
            (length,) = _length_at(data, position)
            if not self.shortest <= length <= self._longest:
                raise WireError("bad_length", f"{length} bytes")
            whole = _LENGTH_SIZE + length
            if (needed := min(whole, self.head_size)) > end - position:
                self._needed = needed
                break
            treatment = treat(data[position : position + self.head_size]) if whole >= self.head_size else Treatment.PASS
            if treatment is Treatment.PASS:
                self._passing = whole
                continue
            if treatment is Treatment.PEEK:
                self._passing = whole
                seen = data[position : min(position + min(whole, MOST_PEEKED), end)]
                yield Peeked(seen, len(seen) == whole)
                continue
            if run < position:
                yield Passed(view[run:position])
                run = position
            if treatment is Treatment.DISCARD:
                self._discarding = whole
                yield Discarded(data[position : position + self.head_size])
                continue
            if treatment is Treatment.PARTS:
                self._parting = whole - (step := min(whole, end - position))
                run = position = position + step
                yield Part(data[position - step : position], True, not self._parting)
                continue
            if whole > end - position:
                self._needed = whole
                break
            yield Frame(data[position : position + whole])
            run = position = position + whole
        if run < position:
            yield Passed(view[run:position])
        if position < end:
            self.held = bytearray(view[position:])
