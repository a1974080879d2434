"""Moving one connection's bytes: the client's protocol and the broker's, and the session between them.

What the session holds back of either side's bytes (`Held`) is an iterator that goes on later; until then that side is not read.

Non-obvious, each the scar of a hang:
- uvloop delivers data even when reading was paused in ``connection_made``: what comes before the broker's side is up is kept,
  and flushed in the broker's ``connection_made``, or later data would overtake it.
- Half-close: the one side's EOF becomes the other's ``write_eof``; the connection ends when both have ended. TLS has no half-close:
  where either side is TLS, the first end ends both, once what is written has left.
- While a push's verdict is awaited, what the broker sent after it is kept in order, behind a paused read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from sys import intern
from typing import Any

from clientscope.errors import WireError
from clientscope.gateway.certificates import distinguished_name
from clientscope.gateway.worker.host import Host
from clientscope.gateway.worker.lane import Lane
from clientscope.gateway.worker.observed import Observed
from clientscope.gateway.worker.proxy_protocol import Endpoint, build
from clientscope.gateway.worker.sides import BrokerSide, ClientSide, Side
from clientscope.session.opaque import OpaqueSession
from clientscope.session.session import Out, Session
from clientscope.session.state import Counted, Held, Identified, Identity, Pushed, ToBroker, ToClient, Verdict
from clientscope.wire.frames import RESPONSE_HEAD, Passed

_QUIET_S = 1.0
"""A draining connection's broker has answered all when it says nothing for so long: a Fetch waits half a second by default."""
_IDENTITIES_AT_ONCE = 8
_IDENTITY_EVERY_S = 10.0
"""Who a client is, is reported so many times at once, and then so often: its first request, ApiVersions, SASL and telemetry make four."""
_COUNTED_BYTES = 1024


class Relay:
    """One client connection, from accept to the last byte; thousands of them are idle at a time, so an attribute's size matters."""

    __slots__ = (
        "_active", "_active_s", "_answered", "_awaited", "_broker", "_client", "_counted", "_draining", "_early", "_early_eof", "_ended",
        "_gateway", "_identified", "_identified_s", "_identity_held", "_observed", "_opened_s", "_session", "address", "connection_id",
        "destination", "source",
    )  # fmt: skip

    def __init__(self, gateway: Host) -> None:
        self._gateway = gateway
        self._session = gateway.session()
        self._client = ClientSide(self, "client")
        self._broker = BrokerSide(self, "broker")
        self._client.peer, self._broker.peer = self._broker, self._client
        self._early = b""
        self._early_eof = False
        self._counted = False
        self._identified = 0
        self._identified_s = 0.0
        self._identity_held = False
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
            self._do(iter(self._session.named_by_certificate(f"User:{distinguished_name(certificate)}")), self._client)
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
        if self._gateway.stopped:
            self.stop_reading()
        if self._early_eof:
            self.client_eof()

    def from_client(self, data: bytes) -> None:
        """Bytes from the client."""
        self._active = True
        if self._broker.transport is None:
            self._early += data
            self._count_held()
        else:
            self._requests(data)
        if self._draining and self._session.between_requests:
            self._client.pause("draining")

    def _requests(self, data: bytes) -> None:
        self._take(self._client, self._session.from_client(data), len(data))
        if self._observed is not None:
            self._observed.received(self._session.between_requests)
        self._count_held()

    def from_broker(self, data: bytes) -> None:
        """Bytes from the broker."""
        self._active = self._answered = True
        self._take(self._broker, self._session.from_broker(data), len(data))
        self._free_client()

    def _take(self, side: Side, pieces: Iterator[Out], size: int) -> None:
        """Does what the session made of a side's bytes, unless something before it is held."""
        if side.lane is not None:
            side.lane.add(pieces, size)
        elif (stopped := self._do(pieces, side)) is not None:
            side.lane = Lane(side)
            side.lane.add(pieces, size)
            self._hold(side.lane, stopped)

    def _hold(self, lane: Lane, stopped: Held | Pushed) -> None:
        """A push waits for its verdict, and what the client sends for a time or for the broker's next bytes."""
        if isinstance(stopped, Held):
            if stopped.why:
                self._gateway.count("reads_held", stopped.why)
            if stopped.seconds is not None:
                lane.wait(stopped.seconds, self._go_on)

    def _go_on(self, side: Side) -> None:
        """Goes on with what was held of a side's."""
        if (lane := side.lane) is None:
            return
        while lane.waiting:
            stopped = self._do(lane.waiting[0], side)
            if self._ended:
                return
            if stopped is not None:
                self._hold(lane, stopped)
                break
            lane.waiting.pop(0)
        else:
            side.lane = None
            side.resume("held")
            if lane.eof:
                self._eof(side)
        if side is self._broker:
            self._free_client()
        self._count_held()

    def _free_client(self) -> None:
        """Goes on with what waits for the broker's answers."""
        if (lane := self._client.lane) is not None and not lane.waits_for_time:
            self._go_on(self._client)

    @property
    def held_bytes(self) -> int:
        """What is kept of the client's that the session has not taken, and of frames that aren't whole."""
        lanes = sum(side.lane.held_bytes for side in (self._client, self._broker) if side.lane is not None)
        held = self._session.held_bytes + lanes + len(self._early)
        return 0 if self._ended or held < _COUNTED_BYTES else held

    evictable = needs_reading = True

    def evict(self) -> None:
        """Ends the connection, and drops what is held."""
        self.end("slow_sender_reset")

    def _count_held(self) -> None:
        held = self.held_bytes
        if held or self._counted:
            self._counted = held > 0
            self._gateway.holds(self, held)

    def holds(self, side: Side, unsent_bytes: int) -> None:
        """So much of what was written to a side is unsent."""
        self._gateway.holds(side, unsent_bytes)

    def stop_reading(self) -> None:
        """Reads from neither side."""
        self._client.pause("budget")
        self._broker.pause("budget")

    def read_on(self) -> None:
        """Takes that back."""
        self._client.resume("budget")
        self._broker.resume("budget")

    def observe_no_more(self) -> None:
        """The request log does not ask for this client."""
        self._observed = None
        if isinstance(self._session, Session):
            self._session.observe(None)

    @property
    def session(self) -> Session | OpaqueSession:
        """What its bytes mean."""
        return self._session

    def client_eof(self) -> None:
        """The client sends no more."""
        if self._broker.transport is None:
            self._early_eof = True
        else:
            self._eof(self._client)

    def broker_eof(self) -> None:
        """The broker sends no more."""
        self._eof(self._broker)

    def _eof(self, side: Side) -> None:
        if side.lane is not None:
            side.lane.eof = True
            return
        side.peer.write_eof()
        self._half_ended(side)

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
        self._awaited = None
        self._do(iter(self._session.answer(token, verdict)), self._broker)
        self._go_on(self._broker)

    def _do(self, pieces: Iterator[Out], side: Side) -> Held | Pushed | None:
        """Does what the session made of a side's bytes, up to a push's turn, or to where it holds them: then gives that."""
        try:
            for piece in pieces:
                if isinstance(piece, Passed):
                    side.peer.write(piece.data)
                elif isinstance(piece, ToBroker):
                    self._broker.write(piece.data)
                elif isinstance(piece, ToClient):
                    self._client.write(piece.data)
                    if self._observed is not None and len(piece.data) >= RESPONSE_HEAD.size:
                        self._observed.response(RESPONSE_HEAD.unpack_from(piece.data)[1])  # a push's answer is the gateway's own
                elif isinstance(piece, Identified):
                    self._identify()
                elif isinstance(piece, Held):
                    return piece
                elif isinstance(piece, Counted):
                    self._gateway.count(piece.what, piece.reason)
                elif isinstance(piece, Pushed):
                    self._awaited = piece.token
                    self._gateway.pushed(self, piece)
                    return piece
        except WireError as error:
            self._gateway.count("frames_refused", error.reason)
            self.end(error.reason)
        # A side that was full before has more now than its transport said then.
        for full in (self._client, self._broker):
            if full.full:
                self.holds(full, full.held_bytes)
        return None

    def _identify(self) -> None:
        """Reports who the client is; one that says another name all the time is reported now and then."""
        self._identified += 1
        if self._identified > _IDENTITIES_AT_ONCE:
            self._gateway.count("identity_changes_held", "rate")
            self._identity_held = True
        else:
            self._gateway.identified(self.connection_id, self._session.identity)

    def check_time(self, now_s: float, unauthenticated_s: float, idle_s: float) -> None:
        """Ends a connection that was not accepted by the broker in time, or moved no byte for too long.

        Called often, so moving a byte costs no more than a flag.
        """
        if self._active:
            self._active, self._active_s = False, now_s
        if self._identity_held and now_s - self._identified_s > _IDENTITY_EVERY_S:
            self._identity_held, self._identified_s = False, now_s
            self._gateway.identified(self.connection_id, self._session.identity)
        if not (self._answered and self._session.authenticated) and now_s - self._opened_s > unauthenticated_s:
            self.end("unauthenticated_timeout")
        elif now_s - self._active_s > idle_s:
            self.end("idle")

    def bypass(self) -> None:
        """Reads nothing any more, from the first moment at which nobody notices; call it again until then."""
        if isinstance(self._session, Session) and self._passable:
            if self._observed is not None:
                self._observed.end()
                self._observed = None
            self._session = OpaqueSession(self._session.identity)

    @property
    def _passable(self) -> bool:
        return self._client.lane is None is self._broker.lane and isinstance(self._session, Session) and self._session.passable

    def drain(self, now_s: float) -> None:
        """Takes no further request, and ends once the broker has answered what it has; call it again until then.

        Answers can't be counted, since a produce request with acks=0 has none: silence has to do.
        """
        if not self._draining:
            self._draining, self._active_s = True, now_s
            if self._session.between_requests and self._client.lane is None:
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
        for side in (self._client, self._broker):
            if side.lane is not None:
                side.lane.end()
        if self._counted:
            self._gateway.holds(self, 0)
        if self._observed is not None:
            self._observed.end()
            self._observed = None
        for _ in range(self._session.unanswered_pushes):
            self._gateway.count("pushes_refused", "connection_lost")
        self._gateway.closed(self, reason)
        # A relay and its sides know each other, so what they hold would stay until Python looks for cycles.
        self._session.end()
        self._session = OpaqueSession(self._session.identity)
        self._early = b""
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
