"""Accounting of what a connection keeps of the bytes that it has received: halves of frames, and what waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clientscope.session.events import Ended

if TYPE_CHECKING:
    from clientscope.gateway.worker.relay import Relay

_COUNTED_BYTES = 1024


class ReceivedBytes:
    """What one connection has received and keeps, for its worker's budget; what is written and unsent, its two sides count."""

    __slots__ = ("_counted", "_relay")

    evictable = needs_reading = True

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._counted = False

    @property
    def held_bytes(self) -> int:
        """What is kept, where that is worth counting."""
        connection = self._relay.connection
        held = 0 if connection.ended else connection.held_bytes
        return held if held >= _COUNTED_BYTES else 0

    def evict(self) -> None:
        """Ends the connection, and drops what is held."""
        self._relay.handle(Ended("slow_sender_reset"))

    def update(self) -> None:
        """Counts what is kept after an event."""
        relay = self._relay
        held = self.held_bytes
        if held or self._counted:
            self._counted = held > 0
            relay.host.holds(self, held)
        if relay.connection.some_full:
            for side in (relay.client, relay.broker):
                if relay.connection.full(side.side):  # it may have more now than its transport said when it was full first
                    relay.host.holds(side, side.held_bytes)

    def release(self) -> None:
        """Counts nothing any more: the connection has ended."""
        if self._counted:
            self._relay.host.holds(self, 0)
