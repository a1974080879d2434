"""Moving one connection's bytes: the client's protocol and the broker's, and the session between them.

Non-obvious, each the scar of a hang:
- uvloop delivers data even when reading was paused in ``connection_made``: what comes before the broker's side is up is kept,
  and flushed in the broker's ``connection_made``, or later data would overtake it.
- Half-close: the one side's EOF becomes the other's ``write_eof``; the connection ends when both have ended. TLS has no half-close:
  where either side is TLS, the first end ends both, once what is written has left.
- While a push's verdict is awaited, what the broker sent after it is kept in order, behind a paused read.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Coroutine, Iterator
from sys import intern
from typing import Any, Protocol

from clientscope.errors import WireError
from clientscope.gateway.certificates import distinguished_name
from clientscope.gateway.worker.observed import Observed
from clientscope.gateway.worker.proxy_protocol import Endpoint, build
from clientscope.gateway.worker.sides import BrokerSide, ClientSide, Side
from clientscope.session.opaque import OpaqueSession
from clientscope.session.session import Out, Session
from clientscope.session.state import Counted, Identified, Identity, Pushed, ToBroker, ToClient, Verdict
from clientscope.wire.frames import RESPONSE_HEAD, Passed

_QUIET_S = 1.0
"""A draining connection's broker has answered all when it says nothing for so long: a Fetch waits half a second by default."""


class Host(Protocol):
    """What a relay needs of the gateway that it belongs to."""

    upstream: tuple[str, int]
    upstream_ssl: ssl.SSLContext | None
    connect_timeout_s: float
    upstream_takes_proxy_header: bool

    def session(self) -> Session | OpaqueSession:
        """A new connection's."""

    def refusal(self, address: str, waiting: int = 0, waiting_from: int = 0) -> str | None:
        """Why one more connection from this address is not taken; None where it is."""

    def observed(self, relay: Relay) -> Observed | None:
        """The request log of a connection that has been opened; None where it has none."""

    def count(self, what: str, reason: str) -> None:
        """Adds one to a counter."""

    def reached(self, failure: str = "") -> None:
        """The broker took a connection, or failed to."""

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine in the background."""

    def opened(self, relay: Relay, address: str) -> int:
        """A client has connected; returns its connection id."""

    def identified(self, connection_id: int, identity: Identity) -> None:
        """A client has said who it is."""

    def pushed(self, relay: Relay, push: Pushed) -> None:
        """A client has pushed: the verdict comes by `Relay.answer`."""

    def closed(self, relay: Relay, reason: str) -> None:
        """A connection has ended."""


class Relay:
    """One client connection, from accept to the last byte; thousands of them are idle at a time, so an attribute's size matters."""

    __slots__ = (
        "_active", "_active_s", "_answered", "_awaited", "_backlog", "_broker", "_broker_eof_waits", "_client", "_draining", "_early",
        "_early_eof", "_ended", "_gateway", "_observed", "_opened_s", "_session", "address", "connection_id", "destination", "source",
    )  # fmt: skip

    def __init__(self, gateway: Host) -> None:
        self._gateway = gateway
        self._session = gateway.session()
        self._client = ClientSide(self, "client")
        self._broker = BrokerSide(self, "broker")
        self._client.peer, self._broker.peer = self._broker, self._client
        self._early = b""
        self._early_eof = False
        self._backlog: list[Iterator[Out]] = []
        self._broker_eof_waits = False
        self._awaited: int | None = None
        self._ended = False
        self._answered = False
        self._draining = False
        self._opened_s = self._active_s = 0.0
        self._active = True
        self._observed: Observed | None = None
        self.connection_id = -1
        self.address = ""
        # The client's own ends of its connection, where a load balancer's header says them; set before the connection is made.
        self.source: Endpoint | None = None
        self.destination: Endpoint | None = None

    @property
    def identity(self) -> Identity:
        """Who the client is, as far as it is known."""
        return self._session.identity

    @property
    def ends(self) -> tuple[Endpoint | None, Endpoint | None]:
        """The client's end of its connection, and the other: as a load balancer says, or the socket."""
        assert self._client.transport is not None
        return (
            self.source or _endpoint(self._client.transport.get_extra_info("peername")),
            self.destination or _endpoint(self._client.transport.get_extra_info("sockname")),
        )

    @property
    def protocol(self) -> ClientSide:
        """What the listener hands the accepted socket to."""
        return self._client

    def client_connected(self) -> None:
        """The client is there: count it, and connect upstream."""
        assert self._client.transport is not None
        source, _ = self.ends
        self.address = intern(source[0]) if source else ""
        if (reason := self._gateway.refusal(self.address)) is not None:
            self._gateway.count("connections_refused", reason)
            self._ended = True
            self._client.transport.abort()
            return
        self._opened_s = self._active_s = asyncio.get_running_loop().time()
        self.connection_id = self._gateway.opened(self, self.address)
        self._observed = self._gateway.observed(self)
        if certificate := self._client.transport.get_extra_info("peercert"):
            self._do(iter(self._session.named_by_certificate(f"User:{distinguished_name(certificate)}")))
        self._gateway.run(self._connect())

    async def _connect(self) -> None:
        host, port = self._gateway.upstream
        tls = self._gateway.upstream_ssl
        try:
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(self._gateway.connect_timeout_s):
                await loop.create_connection(lambda: self._broker, host, port, ssl=tls, server_hostname=host if tls else None)
        except (OSError, TimeoutError) as error:
            self._gateway.reached(type(error).__name__)
            self.end("upstream_unreachable")
        else:
            self._gateway.reached()

    def broker_connected(self) -> None:
        """The broker is there: flush what came early, in order, before any more is read."""
        if self._ended:
            self._abort(self._broker)
            return
        if self._gateway.upstream_takes_proxy_header:
            self._broker.write(build(*self.ends))
        early, self._early = self._early, b""
        if early:
            self._requests(early)
        self._client.resume("connecting")
        if self._early_eof:
            self._broker.write_eof()

    def from_client(self, data: bytes) -> None:
        """Bytes from the client."""
        self._active = True
        if self._broker.transport is None:
            self._early += data
        else:
            self._requests(data)
        if self._draining and self._session.between_requests:
            self._client.pause("draining")

    def _requests(self, data: bytes) -> None:
        self._do(self._session.from_client(data))
        if self._observed is not None:
            self._observed.received(self._session.between_requests)

    def observe_no_more(self) -> None:
        """The request log does not ask for this client."""
        self._observed = None
        if isinstance(self._session, Session):
            self._session.observe(None)

    @property
    def session(self) -> Session | OpaqueSession:
        """What its bytes mean."""
        return self._session

    def from_broker(self, data: bytes) -> None:
        """Bytes from the broker."""
        self._active = self._answered = True
        pieces = self._session.from_broker(data)
        if self._awaited is not None:
            self._backlog.append(pieces)
        else:
            self._do_broker(pieces)

    def client_eof(self) -> None:
        """The client sends no more."""
        if self._broker.transport is None:
            self._early_eof = True
        else:
            self._broker.write_eof()
        self._half_ended(self._client)

    def broker_eof(self) -> None:
        """The broker sends no more."""
        if self._awaited is not None:
            self._broker_eof_waits = True
            return
        self._client.write_eof()
        self._half_ended(self._broker)

    def _half_ended(self, side: Side) -> None:
        side.ended = True
        if side.peer.ended:
            self.end(f"{side.peer.name}_closed")
        elif not (side.half_closes and side.peer.half_closes):
            self.end(f"{side.name}_closed")

    def answer(self, token: int, verdict: Verdict) -> None:
        """The verdict on a push is there; goes on with what waited behind it."""
        if self._awaited != token or self._ended:
            return
        self._do(iter(self._session.answer(token, verdict)))
        self._awaited = None
        while self._backlog and self._awaited is None:
            self._do_broker(self._backlog.pop(0))
        if self._awaited is None:
            self._broker.resume("verdict")
            if self._broker_eof_waits:
                self._broker_eof_waits = False
                self.broker_eof()

    def _do_broker(self, pieces: Iterator[Out]) -> None:
        self._do(pieces, from_broker=True)
        if self._awaited is not None:
            # The iterator stands behind the awaited answer; it goes on from there.
            self._backlog.insert(0, pieces)
            self._broker.pause("verdict")

    def _do(self, pieces: Iterator[Out], from_broker: bool = False) -> None:
        try:
            for piece in pieces:
                if isinstance(piece, Passed):
                    (self._client if from_broker else self._broker).write(piece.data)
                elif isinstance(piece, ToBroker):
                    self._broker.write(piece.data)
                elif isinstance(piece, ToClient):
                    self._client.write(piece.data)
                    if self._observed is not None and len(piece.data) >= RESPONSE_HEAD.size:
                        self._observed.response(RESPONSE_HEAD.unpack_from(piece.data)[1])  # a push's answer is the gateway's own
                elif isinstance(piece, Identified):
                    self._gateway.identified(self.connection_id, piece.identity)
                elif isinstance(piece, Counted):
                    self._gateway.count(piece.what, piece.reason)
                elif isinstance(piece, Pushed):
                    self._awaited = piece.token
                    self._gateway.pushed(self, piece)
                    return
        except WireError as error:
            self._gateway.count("frames_refused", error.reason)
            self.end(error.reason)

    def check_time(self, now_s: float, unauthenticated_s: float, idle_s: float) -> None:
        """Ends a connection that was not accepted by the broker in time, or moved no byte for too long.

        Called often, so moving a byte costs no more than a flag.
        """
        if self._active:
            self._active, self._active_s = False, now_s
        if not (self._answered and self._session.authenticated) and now_s - self._opened_s > unauthenticated_s:
            self.end("unauthenticated_timeout")
        elif now_s - self._active_s > idle_s:
            self.end("idle")

    def bypass(self) -> None:
        """Reads nothing any more, from the first moment at which nobody notices; call it again until then."""
        if isinstance(self._session, Session) and self._awaited is None and not self._backlog and self._session.passable:
            if self._observed is not None:
                self._observed.end()
                self._observed = None
            self._session = OpaqueSession(self._session.identity)

    def drain(self, now_s: float) -> None:
        """Takes no further request, and ends once the broker has answered what it has; call it again until then.

        Answers can't be counted, since a produce request with acks=0 has none: silence has to do.
        """
        if not self._draining:
            self._draining, self._active_s = True, now_s
            if self._session.between_requests:
                self._client.pause("draining")
        if self._active:
            self._active, self._active_s = False, now_s
        elif now_s - self._active_s > _QUIET_S and not self._session.unanswered_pushes:
            self.end("drained")

    def end(self, reason: str) -> None:
        """Ends both sides, once."""
        if self._ended:
            return
        self._ended = True
        if self._observed is not None:
            self._observed.end()
            self._observed = None
        for _ in range(self._session.unanswered_pushes):
            self._gateway.count("pushes_refused", "connection_lost")
        self._gateway.closed(self, reason)
        for side in (self._client, self._broker):
            # What is written already still goes out; a reset need not wait for a peer that reads no more.
            if side.transport is not None and not side.transport.is_closing():
                side.transport.abort() if reason.endswith("_reset") else side.close()

    @staticmethod
    def _abort(side: Side) -> None:
        if side.transport is not None:
            side.transport.abort()


def _endpoint(name: tuple[Any, ...] | None) -> Endpoint | None:
    return (str(name[0]), int(name[1])) if name else None
