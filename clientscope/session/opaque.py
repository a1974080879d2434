"""A connection of which nothing can be read: TLS that the gateway passes on untouched."""

from __future__ import annotations

from collections.abc import Iterator

from clientscope.session.state import Command, Identity, Verdict
from clientscope.wire.frames import Passed


class OpaqueSession:
    """What `Session` is to a readable connection: every byte passes, and nobody is known."""

    __slots__ = ()

    identity = Identity()
    authenticated = True
    unanswered_pushes = 0
    between_requests = True

    def from_client(self, data: bytes) -> Iterator[Passed]:
        """Everything goes to the broker."""
        yield Passed(data)

    def from_broker(self, data: bytes) -> Iterator[Passed]:
        """Everything goes to the client."""
        yield Passed(data)

    def answer(self, token: int, verdict: Verdict) -> list[Command]:
        """There are no pushes."""
        return []
