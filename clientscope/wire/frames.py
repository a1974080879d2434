"""Cutting a byte stream into frames: what passes untouched, and the few frames that are read.

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
FRAMES_PER_TURN = 64
"""How many frames are looked at before other connections have their turn: a tenth of a millisecond's."""


_NOTHING = bytearray()
"""What every scanner holds between frames, rather than an empty one of its own; never written to."""


class Treatment(Enum):
    """What becomes of a frame, decided by its first bytes."""

    PASS = "pass"  # noqa: S105  not a password
    READ = "read"
    DISCARD = "discard"


@dataclass(frozen=True)
class Passed:
    """Bytes to send on as they are."""

    data: bytes | memoryview


@dataclass(frozen=True)
class Frame:
    """One whole frame, its length included."""

    data: bytes


@dataclass(frozen=True)
class Discarded:
    """The first bytes of a frame whose rest is thrown away as it comes."""

    head: bytes


@dataclass(frozen=True)
class Turn:
    """`FRAMES_PER_TURN` frames have been looked at: others may go first."""


_TURN = Turn()

Piece = Passed | Frame | Discarded | Turn


def _passes(_: bytes) -> Treatment:
    return Treatment.PASS


class FrameScanner:
    """Cuts one direction of one connection; feed it what was received, in order.

    Args:
        head_size: how many first bytes ``treat`` needs, the length included; a shorter frame passes.
            An attribute, like ``shortest``: the bare SASL tokens of SaslHandshake v0 have no head but their length.
        treat: decides by a frame's head; it is asked again when a frame came in parts. May be replaced at any time.
        shortest: the least length that is taken.
        longest: the greatest.
    """

    __slots__ = ("_discarding", "_held", "_longest", "_needed", "_passing", "head_size", "shortest", "treat")

    def __init__(self, head_size: int, treat: Callable[[bytes], Treatment], shortest: int, longest: int = MAX_FRAME_BYTES) -> None:
        self.head_size = head_size
        self.treat = treat
        self.shortest = shortest
        self._longest = longest
        self._passing = 0
        self._discarding = 0
        self._held = _NOTHING
        self._needed = 0

    @property
    def between_frames(self) -> bool:
        """Whether what was fed so far ends where a frame ends."""
        return not (self._passing or self._discarding or self._held)

    @property
    def held_bytes(self) -> int:
        """How many bytes of a frame that isn't whole yet are kept."""
        return len(self._held)

    @property
    def holds(self) -> bool:
        """Whether bytes of the last frame are held here, or its rest is thrown away."""
        return bool(self._discarding or self._held)

    def end(self) -> None:
        """Drops what is held, and whoever decides: nothing more is fed."""
        self._held = _NOTHING
        self.treat = _passes

    def feed(self, received: bytes) -> Iterator[Piece]:  # noqa: PLR0915  one loop: each call would cost every frame
        """The pieces that ``received`` completes, in order.

        Raises:
            WireError: ``bad_length``: this is no Kafka protocol, or a frame that no broker would take.  The stream is lost.
        """
        if self._held:
            self._held += received
            if len(self._held) < self._needed:
                return
            data = bytes(self._held)
            self._held = _NOTHING
        else:
            data = received
        view, end = memoryview(data), len(data)
        run = position = frames = 0  # data[run:position] passes
        while position < end:
            if remaining := self._passing or self._discarding:
                position += (step := min(remaining, end - position))
                if self._passing:
                    self._passing -= step
                else:
                    self._discarding -= step
                    run = position
                continue
            if frames == FRAMES_PER_TURN:
                if run < position:
                    yield Passed(view[run:position])
                    run = position
                frames = 0
                yield _TURN
            frames += 1
            whole = self._frame_size(data, position)
            if whole is None:
                self._needed = LENGTH.size
                break
            if (needed := min(whole, self.head_size)) > end - position:
                self._needed = needed
                break
            treatment = self.treat(data[position : position + self.head_size]) if whole >= self.head_size else Treatment.PASS
            if treatment is Treatment.PASS:
                self._passing = whole
                continue
            if run < position:
                yield Passed(view[run:position])
                run = position
            if treatment is Treatment.DISCARD:
                self._discarding = whole
                yield Discarded(data[position : position + self.head_size])
                continue
            if whole > end - position:
                self._needed = whole
                break
            yield Frame(data[position : position + whole])
            run = position = position + whole
        if run < position:
            yield Passed(view[run:position])
        if position < end:
            self._held = bytearray(view[position:])

    def _frame_size(self, data: bytes, position: int) -> int | None:
        """The size of the frame that begins here, its length field included; None while that field isn't whole."""
        if len(data) - position < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(data, position)
        if not self.shortest <= length <= self._longest:
            raise WireError("bad_length", f"{length} bytes")
        return LENGTH.size + int(length)
