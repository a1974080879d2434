"""A connection of which nothing is read: TLS that the gateway passes untouched, and any while the gateway is bypassed."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.session.requested import NOTHING
from clientscope.session.state import UNSEEN, Command, Identity, PushAnswer
from clientscope.wire.frames import Passed


class OpaqueSession:
    """What `Session` is to a connection that is read: every byte passes.

    Args:
        identity: the client's identity before, or the one that its listener allows.
        requested: the versions that it requested before.
    """

    __slots__ = ("identity", "requested")

    authenticated = True
    unanswered_pushes = 0
    between_requests = True
    held_bytes = 0
    shown = ()

    def __init__(self, identity: Identity = UNSEEN, requested: frozenset[int] = NOTHING) -> None:
        self.identity = identity
        self.requested = requested

    def forget_requested(self) -> None:
        """What was requested before is over."""
        self.requested = NOTHING

    def look_again(self) -> None:
        """Nothing is looked into."""

    def passes_from_client(self, data: bytes) -> bool:
        """Everything goes to the broker."""
        return True

    def passes_from_broker(self, data: bytes) -> bool:
        """Everything goes to the client."""
        return True

    def from_client(self, data: bytes) -> Iterator[Passed]:
        """Everything goes to the broker."""
        yield Passed(data)

    def from_broker(self, data: bytes) -> Iterator[Passed]:
        """Everything goes to the client."""
        yield Passed(data)

    def end(self) -> None:
        """Nothing is held."""

    def answer(self, token: int, answer: PushAnswer) -> list[Command]:
        """There are no pushes."""
        return []

    def named_by_certificate(self, principal: str) -> list[Command]:
        """Whose certificate it is, only the broker sees."""
        return []
