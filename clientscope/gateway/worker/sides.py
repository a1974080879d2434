"""The two sockets of a connection, as asyncio protocols: socket callbacks become events."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from clientscope.gateway.certificates import distinguished_name
from clientscope.gateway.worker.proxy_protocol import Endpoint
from clientscope.session.events import (
    BROKER,
    CLIENT,
    Disconnected,
    Ended,
    Eof,
    Free,
    Full,
    HalfClose,
    Pause,
    Received,
    Resume,
    Side,
    Wake,
    Woken,
)  # fmt: skip

if TYPE_CHECKING:
    from clientscope.gateway.worker.relay import Relay

LINGER_S = 10.0
"""How long what is written already may take to leave a connection that has ended."""


class _Socket(asyncio.Protocol):
    """What the two have in common."""

    __slots__ = ("relay", "timer", "transport")

    side: Side
    needs_reading = False

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        self.transport: asyncio.Transport | None = None
        self.timer: asyncio.TimerHandle | None = None

    @property
    def open(self) -> asyncio.Transport | None:
        """Its transport, where that takes anything."""
        return None if self.transport is None or self.transport.is_closing() else self.transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        # Nothing more is read from the one side while anything for the other is unsent; the kernel's buffers keep both busy.
        self.transport.set_write_buffer_limits(high=1, low=0)
        asyncio.get_running_loop().call_soon(self._reading_began)

    def _reading_began(self) -> None:
        """uvloop begins to read after `connection_made`, even where that paused it: so what paused it pauses it once more."""
        if self.open is not None and self.relay.connection.paused(self.side):
            self.open.pause_reading()

    def send(self, data: bytes | memoryview) -> None:
        """Sends, if it still takes anything."""
        if (transport := self.open) is not None:
            transport.write(data)

    def do(self, command: Pause | Resume | HalfClose | Wake) -> None:
        """What the connection says of this side."""
        if isinstance(command, Wake):
            self.timer = asyncio.get_running_loop().call_later(command.seconds, self.relay.handle, Woken(self.side))
        elif (transport := self.open) is None:
            return
        elif isinstance(command, Pause):
            transport.pause_reading()
        elif isinstance(command, Resume):
            transport.resume_reading()
        elif transport.can_write_eof():
            transport.write_eof()

    def eof_received(self) -> bool:
        self.relay.handle(Eof(self.side))
        return self.half_closes

    def pause_writing(self) -> None:
        self.relay.handle(Full(self.side))

    def resume_writing(self) -> None:
        self.relay.host.holds(self, 0)
        self.relay.handle(Free(self.side))

    def connection_lost(self, exc: Exception | None) -> None:
        self.relay.host.holds(self, 0)
        self.relay.handle(Disconnected(self.side, exc is not None))

    @property
    def held_bytes(self) -> int:
        """What was written to this side and is unsent."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    @property
    def evictable(self) -> bool:
        """Whether this side is a client that takes nothing; if a broker takes nothing, no client is to blame."""
        return self.side is CLIENT

    def evict(self) -> None:
        """Ends the connection, and drops what is unsent."""
        self.relay.handle(Ended("slow_reader_reset"))

    @property
    def half_closes(self) -> bool:
        """Whether one direction can end before the other: not so in TLS."""
        return self.transport is None or self.transport.can_write_eof()

    def close(self, at_once: bool) -> None:
        """Closes once all is written, or when that takes too long: a peer that reads no more must not hold our memory."""
        if self.timer is not None:
            self.timer.cancel()
        if (transport := self.transport) is None:
            return
        if at_once:
            transport.abort()
        else:
            transport.close()
            if transport.get_write_buffer_size():  # TLS's own last word, too, or what it has closed by itself already
                asyncio.get_running_loop().call_later(LINGER_S, transport.abort)


class ClientSide(_Socket):
    """Downstream.

    Attributes:
        source, destination: the client's own ends of its connection, where a load balancer's header says them; set before it is made.
    """

    __slots__ = ("destination", "source")

    side = CLIENT

    def __init__(self, relay: Relay) -> None:
        super().__init__(relay)
        self.source: Endpoint | None = None
        self.destination: Endpoint | None = None

    @property
    def far_end(self) -> Endpoint | None:
        """The client's end of its connection: as a load balancer says, or the socket."""
        assert self.transport is not None
        return self.source or _endpoint(self.transport.get_extra_info("peername"))

    @property
    def address(self) -> str:
        """The client's address; empty where the socket has none."""
        return end[0] if (end := self.far_end) else ""

    @property
    def certified_principal(self) -> str | None:
        """The subject of the certificate that the client has shown, in Kafka's spelling; None without one."""
        assert self.transport is not None
        certificate = self.transport.get_extra_info("peercert")
        return f"User:{distinguished_name(certificate)}" if certificate else None

    @property
    def ends(self) -> tuple[Endpoint | None, Endpoint | None]:
        """The client's end of its connection, and the other."""
        assert self.transport is not None
        return self.far_end, self.destination or _endpoint(self.transport.get_extra_info("sockname"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.relay.client_connected()

    def data_received(self, data: bytes) -> None:
        relay = self.relay
        relay.from_client += len(data)
        if relay.connection.passes_from_client(data):
            relay.broker.send(data)
        else:
            relay.handle(Received(CLIENT, data))


class BrokerSide(_Socket):
    """Upstream."""

    __slots__ = ()

    side = BROKER

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.relay.broker_connected()

    def data_received(self, data: bytes) -> None:
        relay = self.relay
        relay.from_broker += len(data)
        if relay.connection.passes_from_broker(data):
            relay.client.send(data)
        else:
            relay.handle(Received(BROKER, data))


def _endpoint(name: tuple[Any, ...] | None) -> Endpoint | None:
    return (str(name[0]), int(name[1])) if name else None
