"""Relay of one connection's bytes: socket events go into a `ClientConnection`, and its commands are carried out here."""

from __future__ import annotations

import asyncio
from sys import intern

from clientscope.gateway.certificates import distinguished_name
from clientscope.gateway.worker.host import Host
from clientscope.gateway.worker.proxy_protocol import build
from clientscope.gateway.worker.sides import BrokerSide, ClientSide
from clientscope.gateway.worker.tls_transport import TlsTransport
from clientscope.session.connection import ClientConnection
from clientscope.session.events import (
    BROKER,
    CLIENT,
    Certified,
    Connected,
    ConnectionEvent,
    End,
    Ended,
    HalfClose,
    Pause,
    Resume,
    Send,
    Stop,
    Wake,
)  # fmt: skip
from clientscope.session.state import Counted, Identified, Identity, Pushed

_COUNTED_BYTES = 1024


class Relay:
    """One client connection, from accept to the last byte; thousands of them are idle at a time, so an attribute's size matters."""

    __slots__ = ("_counted", "address", "broker", "client", "connection", "connection_id", "host")

    evictable = needs_reading = True

    def __init__(self, host: Host) -> None:
        self.host = host
        self.connection = ClientConnection(host.session())
        self.client, self.broker = ClientSide(self), BrokerSide(self)
        self.connection_id = -1
        self.address = ""
        self._counted = False

    @property
    def identity(self) -> Identity:
        """The client's identity, as far as it is known."""
        return self.connection.session.identity

    def client_connected(self) -> None:
        """The client is there: count it, and connect upstream."""
        assert self.client.transport is not None
        source = self.client.far_end
        self.address = intern(source[0]) if source else ""
        if (reason := self.host.refusal(self.address)) is not None:
            self.host.count("connections_refused", reason)
            self.handle(Ended(reason))
            self.client.transport.abort()
            return
        self.connection_id = self.host.opened(self, self.address)
        self.handle(Connected(CLIENT, self.client.half_closes, asyncio.get_running_loop().time()))
        self.connection.observe(self.host.observed(self))
        if certificate := self.client.transport.get_extra_info("peercert"):
            self.handle(Certified(f"User:{distinguished_name(certificate)}"))
        self.host.run(self._connect())

    async def _connect(self) -> None:
        upstream = self.host.upstream
        host, port = upstream.address
        try:
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(upstream.timeout_s):
                if upstream.tls is None:
                    await loop.create_connection(lambda: self.broker, host, port)
                else:
                    tls = TlsTransport(upstream.tls, self.broker, host)
                    await loop.create_connection(lambda: tls, host, port)
                    await tls.shake_hands()
        except (OSError, TimeoutError) as error:
            self.host.reached(type(error).__name__)
            self.handle(Ended("upstream_unreachable"))
        else:
            self.host.reached()

    def broker_connected(self) -> None:
        """The broker is there: a load balancer's header comes before all else."""
        assert self.broker.transport is not None
        if self.connection.ended:
            self.broker.transport.abort()
            return
        if self.host.upstream.takes_proxy_header:
            self.broker.transport.write(build(*self.client.ends))
        self.handle(Connected(BROKER, self.broker.half_closes))
        if self.host.stopped:
            self.handle(Stop())

    def handle(self, event: ConnectionEvent) -> None:
        """Does what an event asks for."""
        for command in self.connection.handle(event):
            if isinstance(command, Send):
                (self.client if command.side is CLIENT else self.broker).send(command.data)
            else:
                self._do(command)
        if not self.connection.ended:
            self._count_held()

    def _do(self, command: Pause | Resume | HalfClose | Wake | Identified | Counted | Pushed | End) -> None:
        if isinstance(command, Identified):
            self.host.identified(self.connection_id, command.identity)
        elif isinstance(command, Counted):
            self.host.count(command.what, command.reason)
        elif isinstance(command, Pushed):
            self.host.pushed(self, command)
        elif isinstance(command, End):
            self._end(command)
        else:
            (self.client if command.side is CLIENT else self.broker).do(command)

    def _end(self, command: End) -> None:
        if self._counted:
            self.host.holds(self, 0)
        if self.connection_id >= 0:
            self.host.closed(self, command.reason)
        for socket in (self.client, self.broker):
            socket.close(command.reset)

    @property
    def held_bytes(self) -> int:
        """What is kept of what was received, where that is worth counting."""
        held = 0 if self.connection.ended else self.connection.held_bytes
        return held if held >= _COUNTED_BYTES else 0

    def evict(self) -> None:
        """Ends the connection, and drops what is held."""
        self.handle(Ended("slow_sender_reset"))

    def _count_held(self) -> None:
        held = self.held_bytes
        if held or self._counted:
            self._counted = held > 0
            self.host.holds(self, held)
        if self.connection.some_full:
            for socket in (self.client, self.broker):
                if self.connection.full(socket.side):  # it may have more now than its transport said when it was full first
                    self.host.holds(socket, socket.held_bytes)
