"""Interface of a handler of one Kafka message, and requests that wait for the broker's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from clientscope.wire.frames import LENGTH, Treatment

if TYPE_CHECKING:
    from clientscope.session.state import Command, SessionState
    from clientscope.wire.frames import Passed

READ_LIMIT = 64 * 1024
"""A frame longer than this passes unread, PushConfig's apart: no client sends such, and a session's memory stays bounded."""

A = TypeVar("A")
"""What a handler keeps of a request until the answer comes."""


def if_short(head: bytes, otherwise: Treatment = Treatment.PASS) -> Treatment:
    """Reads a frame of up to `READ_LIMIT` bytes."""
    return Treatment.READ if LENGTH.unpack_from(head)[0] <= READ_LIMIT else otherwise


def always(state: SessionState, head: bytes) -> Treatment:
    """Reads every request that is short enough."""
    return if_short(head)


@dataclass(frozen=True, slots=True)
class Handler(Generic[A]):
    """How the requests and answers of one api key are read.

    All three functions are called in the event loop that carries all clients' bytes: they never block, and their work is bounded by the
    bytes that they get. None of them sees a request of another key, or of a version outside ``versions``: those pass.

    Attributes:
        key: the api key; no two handlers have the same.
        versions: the versions whose layout is known; None where every version is read.
        wants: what to do with a request, by its header (`REQUEST_HEAD`). It changes nothing: it is called again where a frame comes in
            parts.
        request: what to do with a whole frame of the client's, its length included; with the head alone where ``wants`` has discarded the
            rest. To have the answer read, it sends the frame on by `SessionState.forward`.
        response: what to do with the broker's answer, the client's own correlation id in it, to what ``request`` asked. It takes an
            answer that it can't read, and passes it on.
    """

    key: int
    versions: range | None
    wants: Callable[[SessionState, bytes], Treatment]
    request: Callable[[SessionState, bytes], list[Command]]
    response: Callable[[SessionState, A, bytes], list[Command]]


class Walk(Protocol):
    """Reader of an answer as it comes."""

    @property
    def held_bytes(self) -> int:
        """How many bytes of it are kept."""

    def feed(self, data: bytes, last: bool) -> Iterator[Command | Passed]:
        """What to do about more of the answer; it begins with the length and the client's own correlation id.

        Raises:
            WireError: the answer can't be read.
        """


class Pending(NamedTuple):
    """A request that awaits its answer.

    Attributes:
        client_id: the correlation id that the client gave it, and that its answer goes back under.
        handler: the handler that reads the answer; None for a carrier whose answer only shows that what the client sent before it is
            settled, and where the answer is read as it comes.
        asked: what the handler keeps of the request.
        walk: what reads the answer as it comes; None where it is read whole.
    """

    client_id: int
    handler: Handler[Any] | None
    asked: Any
    walk: Walk | None = None


class BareTokens(NamedTuple):
    """Reader of frames that have no header but their length, in either direction."""

    request: Callable[[SessionState, bytes], list[Command]]
    response: Callable[[SessionState, bytes], list[Command]]
