"""Listener that terminates clients' TLS.

Sockets are accepted here and handed to the loop one by one, rather than by ``create_server(ssl=…)``: that reports no failed handshake,
keeps its certificate for ever, and would let any number of unfinished handshakes past the limits on connections.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections import Counter
from typing import Protocol

from clientscope.errors import WireError
from clientscope.gateway.worker.proxied import Entrance, read_header
from clientscope.gateway.worker.proxy_protocol import Header
from clientscope.gateway.worker.tls_transport import TlsTransport

log = logging.getLogger(__name__)

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
"""Trying again at once would only fill the log; asyncio's own servers pause too."""
_EXHAUSTED_PAUSE_S = 1.0


class ListenerHost(Protocol):
    """What the listener needs of the gateway."""

    def refusal(self, address: str, waiting: int = 0, waiting_from: int = 0) -> str | None:
        """Why one more connection from this address is not taken; None where it is."""

    def count(self, what: str, reason: str) -> None:
        """Adds one to a counter."""


class TlsListener:
    """Accepts, shakes hands, and hands over what has become a connection.

    Args:
        listening: a listening socket, which is closed with this.
        entrance: reads a load balancer's header before TLS, and makes a connection's relay.
        timeout_s: how long a header may take, and then a handshake.

    Attributes:
        context: what the next handshake uses; may be replaced at any time, established connections keep theirs.
    """

    def __init__(
        self, listening: socket.socket, context: ssl.SSLContext, entrance: Entrance, gateway: ListenerHost, timeout_s: float
    ) -> None:
        self.context = context
        self._listening = listening
        listening.setblocking(False)
        self._entrance = entrance
        self._gateway = gateway
        self.timeout_s = timeout_s
        self._handshakes: set[asyncio.Task[None]] = set()
        self._waiting: Counter[str] = Counter()
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        """Accepts no more connections, and ends the handshakes that are under way."""
        self._accepting.cancel()
        self._listening.close()
        for task in self._handshakes:
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
            address = "" if self._entrance.declared(str(peer[0])) else str(peer[0])
            waiting_from = self._waiting[address] if address else 0
            if (reason := self._gateway.refusal(address, self._waiting.total(), waiting_from)) is not None:
                self._gateway.count("connections_refused", reason)
                client.close()
                continue
            self._waiting[address] += 1
            task = loop.create_task(self._take(client, address))
            self._handshakes.add(task)
            task.add_done_callback(self._handshakes.discard)

    async def _take(self, client: socket.socket, address: str) -> None:
        try:
            header = Header() if address else await self._header(client)
            if header is not None:
                await self._shake_hands(client, header)
        finally:
            self._waiting[address] -= 1
            if not self._waiting[address]:
                del self._waiting[address]

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
        self._gateway.count("connections_refused", reason)
        client.close()
        return None

    async def _shake_hands(self, client: socket.socket, header: Header) -> None:
        loop = asyncio.get_running_loop()
        transport = TlsTransport(self.context, self._entrance.relay(header))
        try:
            await loop.connect_accepted_socket(lambda: transport, client)
            async with asyncio.timeout(self.timeout_s):
                await transport.shake_hands()
        except OSError as error:  # SSLError and TimeoutError are
            self._gateway.count("tls_handshakes_failed", failure(error))


def failure(error: OSError) -> str:
    """A handshake's failure in a word, for a counter's label: OpenSSL's own reason, of which there is a fixed number."""
    if isinstance(error, ssl.SSLError):
        return str(getattr(error, "reason", None) or "unknown").lower().replace(" ", "_")
    if isinstance(error, TimeoutError):
        return "timeout"
    return "connection_lost"
