"""Listener of a worker for connections that don't begin at once: a load balancer's header comes first, or a TLS handshake, or both.

What is not from a declared network sends no header: one that it sends all the same is no Kafka protocol, and is refused as such. A relay
takes over once the header is whole and the handshake done, and never knows.

Sockets are accepted here and handed to the loop one by one, rather than by ``create_server(ssl=…)``: that reports no failed
handshake, keeps its certificate for ever, and would let any number of unfinished handshakes past the limits on connections.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clientscope.bounded import Present
from clientscope.config_types import Network, is_within
from clientscope.errors import WireError
from clientscope.gateway.worker.proxy_protocol import MOST_BYTES, Header, header_in
from clientscope.gateway.worker.tls_transport import TlsTransport

if TYPE_CHECKING:
    from clientscope.gateway.worker.process import Worker

log = logging.getLogger(__name__)

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Trying again at once would only fill the log; asyncio's own servers pause too."""

_EXHAUSTED_PAUSE_S = 1.0


class Listener:
    """Accepts, reads the header, shakes hands, and hands over what has become a connection.

    Args:
        listening: a listening socket, which is closed with this.
        networks: from where each connection begins with a header, and from nowhere else.
        timeout_s: how long a header may take, and then a handshake.

    Attributes:
        context: what the next handshake uses; may be replaced at any time, established connections keep theirs. None is no TLS.
    """

    def __init__(
        self,
        listening: socket.socket,
        context: ssl.SSLContext | None,
        networks: Sequence[Network],
        gateway: Worker,
        timeout_s: float,
    ) -> None:
        self.context = context
        self._listening = listening
        listening.setblocking(False)
        self._networks = networks
        self._gateway = gateway
        self.timeout_s = timeout_s
        self._beginning: set[asyncio.Task[None]] = set()
        self._waiting: Present[str] = Present()
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        """Accepts no more connections, and ends the headers and handshakes that are under way."""
        self._accepting.cancel()
        self._listening.close()
        for task in self._beginning:
            task.cancel()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, peer = await loop.sock_accept(self._listening)
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    log.error("a connection can't be accepted: %s", error.strerror)
                    await asyncio.sleep(_EXHAUSTED_PAUSE_S)
                continue
            # A load balancer's own address has no limit; its client's has, once that is known.
            address = "" if is_within(str(peer[0]), self._networks) else str(peer[0])
            waiting_from = self._waiting[address] if address else 0
            if (reason := self._gateway.refusal(address, self._waiting.total(), waiting_from)) is not None:
                self._gateway.reporter.count("connections_refused", reason)
                client.close()
                continue
            self._waiting[address] += 1
            task = loop.create_task(self._take(client, address))
            self._beginning.add(task)
            task.add_done_callback(self._beginning.discard)

    async def _take(self, client: socket.socket, address: str) -> None:
        try:
            header = Header() if address else await self._header(client)
            if header is not None:
                await self._begin(client, header)
        finally:
            self._waiting.leave(address)

    async def _header(self, client: socket.socket) -> Header | None:
        """A load balancer's header; None, counted and closed, where it doesn't come as it should."""
        try:
            async with asyncio.timeout(self.timeout_s):
                return await read_header(client)
        except WireError as error:
            reason = error.reason
        except TimeoutError:
            reason = "proxy_header_timeout"
        except OSError:
            reason = "proxy_header_missing"
        self._gateway.reporter.count("connections_refused", reason)
        client.close()
        return None

    async def _begin(self, client: socket.socket, header: Header) -> None:
        loop, side = asyncio.get_running_loop(), self._gateway.relay(header)
        if self.context is None:
            await loop.connect_accepted_socket(lambda: side, client)
            return
        transport = TlsTransport(self.context, side)
        try:
            await loop.connect_accepted_socket(lambda: transport, client)
            async with asyncio.timeout(self.timeout_s):
                await transport.shake_hands()
        except OSError as error:  # SSLError and TimeoutError are
            self._gateway.reporter.count("tls_handshakes_failed", failure(error))


def failure(error: OSError) -> str:
    """A handshake's failure in a word, for a counter's label: OpenSSL's own reason, of which there is a fixed number."""
    if isinstance(error, ssl.SSLError):
        return str(getattr(error, "reason", None) or "unknown").lower().replace(" ", "_")
    if isinstance(error, TimeoutError):
        return "timeout"
    return "connection_lost"


async def read_header(client: socket.socket) -> Header:
    """Reads a header off a socket, and no byte of what follows: TLS, or a relay, has to see that itself.

    Raises:
        WireError: ``proxy_header_invalid``, or ``proxy_header_missing`` where the connection ends instead.
        OSError: the connection is lost.
    """
    held = b""
    while True:
        await _readable(client)
        try:
            begun = client.recv(MOST_BYTES, socket.MSG_PEEK)
        except BlockingIOError:
            continue
        if not begun:
            raise WireError("proxy_header_invalid" if held else "proxy_header_missing")
        if found := header_in(held + begun):
            header, length = found
            client.recv(length - len(held))
            return header
        held += client.recv(len(begun))


async def _readable(client: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(client, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(client)
