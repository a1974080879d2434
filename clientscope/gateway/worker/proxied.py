"""Listener for load balancers: reads the PROXY protocol's header before a connection begins.

What is not from a declared network goes straight to its relay, and a header that it may send is no Kafka protocol: it is refused as such.
A relay takes over once the header is whole, and never knows.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import cast

from clientscope.errors import WireError
from clientscope.gateway.worker.proxy_protocol import MOST_BYTES, Header, HeaderReader
from clientscope.gateway.worker.sides import ClientSide

Network = IPv4Network | IPv6Network


_PAUSE_S = 0.05


class Entrance:
    """Makes the protocol of each connection that is accepted.

    Args:
        networks: from where each connection begins with a header, and from nowhere else.
        most: connections that may wait for their header at a time; those beyond are refused.
        timeout_s: how long a header may take.
        relay: makes the relay of a connection with this header; its side that takes the socket.
        refused: called with the reason of each connection that ended before its header was accepted.
    """

    def __init__(
        self,
        networks: Sequence[Network],
        most: int,
        timeout_s: float,
        relay: Callable[[Header], ClientSide],
        refused: Callable[[str], None],
    ) -> None:
        self._networks = networks
        self.most = most
        self.timeout_s = timeout_s
        self.relay = relay
        self.refused = refused
        self.waiting: set[asyncio.Transport] = set()

    def accept(self) -> asyncio.Protocol:
        """What the listener hands a new socket to."""
        return _Arrival(self) if self._networks else self.relay(Header())

    def declared(self, address: str) -> bool:
        """Whether a connection from this address begins with a header."""
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        ip = getattr(ip, "ipv4_mapped", None) or ip
        return any(ip in network for network in self._networks)

    def close(self) -> None:
        """Ends those that still wait."""
        for transport in list(self.waiting):
            transport.abort()


class _Arrival(asyncio.Protocol):
    """A connection whose header has not come yet."""

    def __init__(self, entrance: Entrance) -> None:
        self._entrance = entrance
        self._reader = HeaderReader()
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = self._transport.get_extra_info("peername")
        if not self._entrance.declared(str(peer[0]) if peer else ""):
            self._hand_over(Header())
        elif len(self._entrance.waiting) >= self._entrance.most:
            self._refuse("max_connections")
        else:
            self._entrance.waiting.add(self._transport)
            self._timer = asyncio.get_running_loop().call_later(self._entrance.timeout_s, self._refuse, "proxy_header_timeout")

    def data_received(self, data: bytes) -> None:
        try:
            header = self._reader.feed(data)
        except WireError as error:
            self._refuse(error.reason)
            return
        if header is not None:
            self._leave()
            self._hand_over(header)

    def eof_received(self) -> None:
        self._refuse("proxy_header_invalid" if self._reader.began else "proxy_header_missing")

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport in self._entrance.waiting:
            self._refuse("proxy_header_invalid" if self._reader.began else "proxy_header_missing")

    def _hand_over(self, header: Header) -> None:
        side = self._entrance.relay(header)
        self._transport.set_protocol(side)
        side.connection_made(self._transport)
        if self._reader.rest and not self._transport.is_closing():
            side.data_received(self._reader.rest)

    def _refuse(self, reason: str) -> None:
        self._leave()
        self._entrance.refused(reason)
        self._transport.abort()

    def _leave(self) -> None:
        self._entrance.waiting.discard(self._transport)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def read_header(client: socket.socket) -> Header:
    """Reads a header off a socket, and no byte of what follows: TLS has to see that itself.

    Raises:
        WireError: ``proxy_header_invalid``, or ``proxy_header_missing`` where the connection ends instead.
        OSError: the connection is lost.
    """
    while True:
        await _readable(client)
        try:
            begun = client.recv(MOST_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            continue
        if not begun:
            raise WireError("proxy_header_missing")
        reader = HeaderReader()
        header = reader.feed(begun)
        if header is not None:
            client.recv(len(begun) - len(reader.rest))
            return header
        await asyncio.sleep(_PAUSE_S)  # what was only looked at leaves the socket readable


async def _readable(client: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(client, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(client)
