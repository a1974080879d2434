"""Endpoints of a worker's connections: its listeners, the broker's address, and the TLS of both."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clientscope.config import GatewaySettings
from clientscope.config_types import split_address, split_networks
from clientscope.errors import SettingsError
from clientscope.gateway import tls
from clientscope.gateway.worker.listener import Listener
from clientscope.gateway.worker.messages import BACKLOG
from clientscope.gateway.worker.proxy_protocol import Header
from clientscope.gateway.worker.tls_transport import TlsTransport

if TYPE_CHECKING:
    from clientscope.gateway.worker.process import Worker

log = logging.getLogger(__name__)


_CONNECT_S = 10.0
"""How long a connection to the broker may take."""


@dataclass(slots=True)
class Upstream:
    """The broker, for connections that are opened from now on.

    Attributes:
        address: host and port.
        tls: None where its listener speaks none.
        takes_proxy_header: whether a load balancer's header goes before each connection's bytes.
    """

    address: tuple[str, int]
    tls: ssl.SSLContext | None = None
    takes_proxy_header: bool = False

    async def connect(self, side: asyncio.Protocol) -> str:
        """Connects this side to the broker; returns how that failed, or an empty text."""
        loop = asyncio.get_running_loop()
        host, port = self.address
        try:
            async with asyncio.timeout(_CONNECT_S):
                if self.tls is None:
                    await loop.create_connection(lambda: side, host, port)
                else:
                    transport = TlsTransport(self.tls, side, host)
                    await loop.create_connection(lambda: transport, host, port)
                    await transport.shake_hands()
        except (OSError, TimeoutError) as error:
            return type(error).__name__
        return ""


class Doors:
    """The listeners and the upstream of one worker.

    Args:
        gateway: whose limits hold for headers and handshakes, too.
    """

    def __init__(self, settings: GatewaySettings, gateway: Worker) -> None:
        self.upstream = Upstream(split_address(settings.upstream), takes_proxy_header=settings.upstream_proxy_protocol)
        self._gateway = gateway
        self._networks = split_networks(settings.proxy_protocol_from)
        self._listeners: list[asyncio.Server | Listener] = []

    async def open(self, listeners: Sequence[socket.socket], settings: GatewaySettings) -> None:
        """Takes connections."""
        contexts = tls.load(settings)
        self.upstream.tls = contexts.upstream
        for listener in listeners:
            if contexts.server is None and not self._networks:
                loop = asyncio.get_running_loop()
                server = await loop.create_server(lambda: self._gateway.relay(Header()), sock=listener, backlog=BACKLOG)
                self._listeners.append(server)
            else:
                timeout_s = settings.unauthenticated_timeout_ms / 1000
                made = Listener(listener, contexts.server, self._networks, self._gateway, timeout_s)
                self._listeners.append(made)

    def change(self, settings: GatewaySettings) -> None:
        """For what connects from now on; files may have changed since the main process looked at them."""
        self.upstream.address = split_address(settings.upstream)
        own = [listener for listener in self._listeners if isinstance(listener, Listener)]
        for listener in own:
            listener.timeout_s = settings.unauthenticated_timeout_ms / 1000
        try:
            contexts = tls.load(settings)
        except SettingsError as error:
            log.error("a worker keeps its certificates: %s", error)
            return
        self.upstream.tls = contexts.upstream
        for listener in own:
            listener.context = contexts.server or listener.context

    def close(self) -> None:
        """Takes no further connection."""
        for listener in self._listeners:
            listener.close()
