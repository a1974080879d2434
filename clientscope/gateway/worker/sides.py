"""The two sockets of a connection: back-pressure, EOF, and their end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from clientscope.gateway.worker.lane import Lane

_LINGER_S = 10.0
"""How long what is written already may take to leave a connection that has ended."""
_TLS_UNSENT_BYTES = 64 * 1024

_NONE: frozenset[str] = frozenset()  # one for all: each empty set of its own would take 216 bytes


class Owner(Protocol):
    """Whom the sides report to."""

    def holds(self, side: Side, unsent_bytes: int) -> None:
        """So much of what was written to a side is unsent."""

    def client_connected(self) -> None:
        """The client is there."""

    def broker_connected(self) -> None:
        """The broker is there."""

    def from_client(self, data: bytes) -> None:
        """Bytes from the client."""

    def from_broker(self, data: bytes) -> None:
        """Bytes from the broker."""

    def client_eof(self) -> None:
        """The client sends no more."""

    def broker_eof(self) -> None:
        """The broker sends no more."""

    def end(self, reason: str) -> None:
        """A side is gone."""


class Side(asyncio.Protocol):
    """What the two sides share: back-pressure, EOF, the end."""

    __slots__ = ("_pauses", "ended", "full", "lane", "name", "peer", "relay", "transport")

    def __init__(self, relay: Owner, name: str) -> None:
        self.relay = relay
        self.name = name
        self.transport: asyncio.Transport | None = None
        self.peer: Side
        self.ended = self.full = False
        self.lane: Lane | None = None  # what is held of this side's bytes
        self._pauses = _NONE

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        # Nothing more is read from the one side while anything for the other is unsent; the kernel's buffers keep both busy. In TLS
        # what is left of the handshake counts until something is written, so there that much may be unsent.
        self.transport.set_write_buffer_limits(high=1 if self.half_closes else _TLS_UNSENT_BYTES, low=0)
        asyncio.get_running_loop().call_soon(self._reading_began)

    def _reading_began(self) -> None:
        """uvloop begins to read after `connection_made`, even where that paused it: so what paused it pauses it once more."""
        if self._pauses and self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def pause(self, why: str) -> None:
        """Stops reading from this side until each reason is gone."""
        if not self._pauses and self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()
        self._pauses |= {why}

    def resume(self, why: str) -> None:
        """Takes one reason back."""
        self._pauses = self._pauses - {why} or _NONE
        if not self._pauses and self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def pause_writing(self) -> None:
        self.full = True
        self.peer.pause("full")
        self.relay.holds(self, self.held_bytes)

    def resume_writing(self) -> None:
        self.full = False
        self.relay.holds(self, 0)
        self.peer.resume("full")

    @property
    def held_bytes(self) -> int:
        """What was written to this side and is unsent."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    @property
    def evictable(self) -> bool:
        """Whether this side is a client's, who takes nothing; for a broker that takes nothing no client is to blame."""
        return self.name == "client"

    needs_reading = False

    def evict(self) -> None:
        """Ends the connection, and drops what is unsent."""
        self.relay.end("slow_reader_reset")

    def write(self, data: bytes | memoryview) -> None:
        """Sends to this side."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def write_eof(self) -> None:
        """Says to this side that no more will come."""
        if self.transport is not None and not self.transport.is_closing() and self.transport.can_write_eof():
            self.transport.write_eof()

    @property
    def half_closes(self) -> bool:
        """Whether one direction can end before the other: not so in TLS."""
        return self.transport is None or self.transport.can_write_eof()

    def close(self) -> None:
        """Closes once all is written, or when that takes too long: a peer that reads no more must not hold our memory."""
        assert self.transport is not None
        unsent = self.transport.get_write_buffer_size()
        self.transport.close()
        if unsent:
            asyncio.get_running_loop().call_later(_LINGER_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self.relay.holds(self, 0)
        self.relay.end(f"{self.name}_reset" if exc else f"{self.name}_closed")


class ClientSide(Side):
    """Downstream."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.pause("connecting")
        self.relay.client_connected()

    def data_received(self, data: bytes) -> None:
        self.relay.from_client(data)

    def eof_received(self) -> bool:
        self.relay.client_eof()
        return self.half_closes


class BrokerSide(Side):
    """Upstream."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.relay.broker_connected()

    def data_received(self, data: bytes) -> None:
        self.relay.from_broker(data)

    def eof_received(self) -> bool:
        self.relay.broker_eof()
        return self.half_closes
