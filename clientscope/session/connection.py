"""A client's connection through the gateway, without I/O: events of two sides in, commands for them out.

Four nouns: a *side* is the client's or the broker's end; an *event* is what happened there, or what time, the policy or the gateway's
own state brings; a *command* is what the transport is to do; a *lane* is what the session has made of one side's bytes and does not do
yet. `playbook.py` writes and compares transcripts of them.

Bytes that aren't read take no event and no command: if `passes_from_client` or `passes_from_broker` takes them, they must be sent to the
other side unchanged. `handle` would say the same, and costs several times as much.

Non-obvious, each the scar of a hang:
- Bytes come from a client before the broker's side is connected: uvloop delivers even where reading was paused in ``connection_made``.
  They wait in a lane, or later bytes would overtake them.
- Half-close: the one side's EOF becomes the other's; the connection ends when both have ended. TLS has no half-close: where either
  side is TLS, the first end ends both, once what is written has left.
- While a push's answer is awaited, what the broker sent after it is kept in order, behind a paused read; so is its EOF.
- A side may be paused for several reasons, and is read again when the last of them is gone.
- What a suspended iterator holds stays until Python looks for cycles, so the end of a connection drops lanes and session.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from clientscope.errors import WireError
from clientscope.model.requested_versions import pack
from clientscope.session.events import (
    BROKER,
    CLIENT,
    Bypassed,
    Certified,
    Connected,
    ConnectionCommand,
    ConnectionEvent,
    Continue,
    Disconnected,
    Draining,
    End,
    Ended,
    Eof,
    Free,
    Full,
    HalfClose,
    Pause,
    PushAnswered,
    Received,
    Resume,
    Send,
    Side,
    Stop,
    Tick,
    Wake,
    Woken,
)  # fmt: skip
from clientscope.session.opaque import OpaqueSession
from clientscope.session.requested import NOTHING
from clientscope.session.session import Log, Out, Session
from clientscope.session.state import Counted, Held, Identified, Pushed, Requested, ToBroker, ToClient
from clientscope.wire.frames import RESPONSE_HEAD, Passed

_QUIET_S = 1.0
"""A draining connection's broker has answered all when it says nothing for so long: a Fetch waits half a second by default."""


_CONNECTING = frozenset({"connecting"})


class ClientConnection:
    """Feed it events; do what it yields, in order and at once: the state is as if each command were done when it is yielded.

    Args:
        session: what the bytes mean.

    Attributes:
        ended: whether `End` was yielded; nothing comes after it.
        session: replaced by an `OpaqueSession` where nothing is read any more.
    """

    __slots__ = (
        "_active", "_active_s", "_answered", "_broker", "_client", "_connected", "_draining", "_half_closes", "_log", "_opened_s",
        "_reports", "ended", "session",
    )  # fmt: skip

    def __init__(self, session: Session | OpaqueSession) -> None:
        self.session = session
        self._client = Flow(CLIENT, _CONNECTING)
        self._broker = Flow(BROKER)
        self._connected = False
        self._half_closes = True
        self._reports = ClientReports()
        self._draining = self._answered = self.ended = False
        self._active = True
        self._opened_s = self._active_s = 0.0
        self._log: Log | None = None

    def handle(self, event: ConnectionEvent) -> Iterator[ConnectionCommand]:
        """What is to be done about an event; the iterator has to be gone through, to its end."""
        return _ON[type(event)](self, event) if not self.ended else iter(())

    def passes_from_client(self, data: bytes) -> bool:
        """Whether these bytes of the client's go to the broker as they are; if so, that is all there is to do about them."""
        if self._connected and self._quiet and self.session.passes_from_client(data):
            self._active = True
            return True
        return False

    def passes_from_broker(self, data: bytes) -> bool:
        """The same of the broker's."""
        if self._quiet and self.session.passes_from_broker(data):
            self._active = self._answered = True
            return True
        return False

    def paused(self, side: Side) -> bool:
        """Whether a side is not to be read now."""
        return bool(self._flow(side).pauses)

    @property
    def _quiet(self) -> bool:
        """Whether nothing is to be done about bytes but to pass them."""
        client, broker = self._client, self._broker
        return not (client.lane or broker.lane or client.full or broker.full or self._draining or self.ended)

    @property
    def some_full(self) -> bool:
        """Whether anything that was sent to either side is unsent."""
        return self._client.full or self._broker.full

    def full(self, side: Side) -> bool:
        """Whether anything that was sent to this side is unsent."""
        return self._flow(side).full

    @property
    def held_bytes(self) -> int:
        """What is kept of what was received: of frames that aren't whole, and of what is not done yet."""
        held = self.session.held_bytes
        for lane in (self._client.lane, self._broker.lane):
            if lane is not None:
                held += lane.held_bytes
        return held

    def observe(self, log: Log | None) -> None:
        """Shows each request to a log; None ends that."""
        self._log = log
        if isinstance(self.session, Session):
            self.session.observe(log)

    # What an event changes.

    def _on_connected(self, event: Connected) -> Iterator[ConnectionCommand]:
        flow = self._flow(event.side)
        self._half_closes &= event.half_closes
        if flow is self._client:
            self._opened_s = self._active_s = event.now_s
            self._reports.begin(event.now_s)
        else:
            self._connected = True
        if flow.pauses:
            yield Pause(flow.side)
        if flow is self._broker:
            yield from self._take_up(self._client)
            yield from self._client.resume("connecting")

    def _on_certified(self, event: Certified) -> Iterator[ConnectionCommand]:
        yield from self._do(iter(self.session.named_by_certificate(event.principal)), self._client)

    def _on_received(self, event: Received) -> Iterator[ConnectionCommand]:
        self._active = True
        if event.side is BROKER:
            self._answered = True
            flow, pieces = self._broker, self.session.from_broker(event.data)
        else:
            flow, pieces = self._client, self.session.from_client(event.data)
        if flow.lane is None and self._connected:
            if (stopped := (yield from self._do(pieces, flow))) is not None and not self.ended:
                yield from self._hold(flow, stopped)
        elif flow.lane is None:
            yield from self._open_lane(flow)
        if flow.lane is not None:  # something before these is held, or they are
            flow.lane.add(pieces, len(event.data))
        if flow is self._broker:
            if self._client.lane is not None:
                yield from self._free_client()
            return
        if self._log is not None:
            self._log.received(self.session.between_requests)
        if self._draining and self.session.between_requests:
            yield from self._client.pause("draining")

    def _open_lane(self, flow: Flow) -> Iterator[ConnectionCommand]:
        flow.lane = Lane()
        yield from flow.pause("held")

    def _hold(self, flow: Flow, stopped: Held | Pushed) -> Iterator[ConnectionCommand]:
        """A push waits for its answer, and what the client sends for a time or for the broker's next bytes."""
        if flow.lane is None:
            yield from self._open_lane(flow)
        if isinstance(stopped, Held) and not self.ended:
            if stopped.why:
                yield Counted("reads_held", stopped.why)
            if stopped.seconds is not None and flow.lane is not None:
                flow.lane.waits_for_time = True
                yield Wake(flow.side, stopped.seconds)

    def _on_woken(self, event: Woken) -> Iterator[ConnectionCommand]:
        flow = self._flow(event.side)
        if flow.lane is not None:
            flow.lane.waits_for_time = False
            yield from self._take_up(flow)

    def _take_up(self, flow: Flow) -> Iterator[ConnectionCommand]:
        """Continues with the bytes of a side that were held."""
        if (lane := flow.lane) is None:
            return
        while lane.waiting:
            stopped = yield from self._do(lane.waiting[0], flow)
            if self.ended:
                return
            if stopped is not None:
                yield from self._hold(flow, stopped)
                break
            lane.waiting.pop(0)
        else:
            flow.lane = None
            yield from flow.resume("held")
            if lane.eof:
                yield from self._end_of(flow)
        if flow is self._broker:
            yield from self._free_client()

    def _free_client(self) -> Iterator[ConnectionCommand]:
        """Continues with the client's bytes that wait for the broker's answers."""
        if (lane := self._client.lane) is not None and not lane.waits_for_time:
            yield from self._take_up(self._client)

    def _do(self, pieces: Iterator[Out], flow: Flow) -> Generator[ConnectionCommand, None, Held | Pushed | None]:
        """Says what to do about what the session made of a side's bytes, up to a push's turn, or to where it holds them: returns that."""
        try:
            for piece in pieces:
                if isinstance(piece, Passed):
                    yield Send(BROKER if flow is self._client else CLIENT, piece.data)
                elif isinstance(piece, ToBroker):
                    yield Send(BROKER, piece.data)
                elif isinstance(piece, ToClient):
                    yield Send(CLIENT, piece.data)
                    if self._log is not None and len(piece.data) >= RESPONSE_HEAD.size:
                        self._log.response(RESPONSE_HEAD.unpack_from(piece.data)[1])  # a push's answer is the gateway's own
                elif isinstance(piece, Held):
                    return piece
                elif isinstance(piece, Identified):
                    yield self._reports.identify(self.session)
                else:
                    yield piece
                    if isinstance(piece, Pushed):
                        return piece
        except WireError as error:
            yield Counted("frames_refused", error.reason)
            yield from self._end(error.reason)
        return None

    def _on_push_answered(self, event: PushAnswered) -> Iterator[ConnectionCommand]:
        if commands := self.session.answer(event.token, event.answer):
            yield from self._do(iter(commands), self._broker)
            yield from self._take_up(self._broker)

    def _on_eof(self, event: Eof) -> Iterator[ConnectionCommand]:
        flow = self._flow(event.side)
        if flow.lane is None and not self._connected:
            yield from self._open_lane(flow)
        if flow.lane is not None:
            flow.lane.eof = True
        else:
            yield from self._end_of(flow)

    def _end_of(self, flow: Flow) -> Iterator[ConnectionCommand]:
        peer = self._broker if flow is self._client else self._client
        yield HalfClose(peer.side)
        flow.ended = True
        if peer.ended:
            yield from self._end(f"{peer.side.value}_closed")
        elif not self._half_closes:
            yield from self._end(f"{flow.side.value}_closed")

    def _on_disconnected(self, event: Disconnected) -> Iterator[ConnectionCommand]:
        yield from self._end(f"{event.side.value}_{'reset' if event.reset else 'closed'}")

    def _on_full(self, event: Full) -> Iterator[ConnectionCommand]:
        """Stops reading from one side while bytes for the other are unsent."""
        self._flow(event.side).full = True
        yield from (self._broker if event.side is CLIENT else self._client).pause("full")

    def _on_free(self, event: Free) -> Iterator[ConnectionCommand]:
        self._flow(event.side).full = False
        yield from (self._broker if event.side is CLIENT else self._client).resume("full")

    def _on_stop(self, _: Stop) -> Iterator[ConnectionCommand]:
        for flow in (self._client, self._broker):
            yield from flow.pause("budget")

    def _on_continue(self, _: Continue) -> Iterator[ConnectionCommand]:
        for flow in (self._client, self._broker):
            yield from flow.resume("budget")

    def _on_tick(self, event: Tick) -> Iterator[ConnectionCommand]:
        """Comes often, so moving a byte costs no more than a flag."""
        if self._active:
            self._active, self._active_s = False, event.now_s
        yield from self._reports.tick(self.session, event.now_s)
        if not (self._answered and self.session.authenticated) and event.now_s - self._opened_s > event.unauthenticated_s:
            yield from self._end("unauthenticated_timeout")
        elif event.now_s - self._active_s > event.idle_s:
            yield from self._end("idle")

    def _on_drain(self, event: Draining) -> Iterator[ConnectionCommand]:
        """Answers can't be counted, since a produce request with acks=0 has none: silence has to do."""
        if not self._draining:
            self._draining, self._active_s = True, event.now_s
        if self.session.between_requests and self._client.lane is None:
            yield from self._client.pause("draining")
        if self._active:
            self._active, self._active_s = False, event.now_s
        elif event.now_s - self._active_s > _QUIET_S and not self.session.unanswered_pushes:
            yield from self._end("drained")

    def _on_bypass(self, _: Bypassed) -> Iterator[ConnectionCommand]:
        session = self.session
        if isinstance(session, Session) and session.passable and self._client.lane is None is self._broker.lane:
            self._end_log()
            self.session = OpaqueSession(session.identity, session.requested)
        yield from ()

    def _on_ended(self, event: Ended) -> Iterator[ConnectionCommand]:
        yield from self._end(event.reason)

    def _end(self, reason: str) -> Iterator[ConnectionCommand]:
        if self.ended:
            return
        self.ended = True
        self._end_log()
        for flow in (self._client, self._broker):
            if flow.lane is not None:
                flow.lane.waiting.clear()
                flow.lane = None
        session, lost = self.session, self.session.unanswered_pushes
        # A transport, its connection and the session know each other, so what they hold would stay until Python looks for cycles.
        self.session = OpaqueSession(session.identity, session.requested)
        session.end()
        for _ in range(lost):
            yield Counted("pushes_refused", "connection_lost")
        yield End(reason, reason.endswith("_reset"))

    def _end_log(self) -> None:
        if (log := self._log) is not None:
            self._log = None
            log.end()

    def _flow(self, side: Side) -> Flow:
        return self._client if side is CLIENT else self._broker

    @property
    def unreported(self) -> bytes | None:
        """The versions that the client has requested, also once the connection has ended; None if the last `Requested` still holds."""
        return self._reports.unreported(self.session)


_ON: dict[type[Any], Callable[[ClientConnection, Any], Iterator[ConnectionCommand]]] = {
    Connected: ClientConnection._on_connected,
    Certified: ClientConnection._on_certified,
    Received: ClientConnection._on_received,
    Eof: ClientConnection._on_eof,
    Disconnected: ClientConnection._on_disconnected,
    Full: ClientConnection._on_full,
    Free: ClientConnection._on_free,
    PushAnswered: ClientConnection._on_push_answered,
    Woken: ClientConnection._on_woken,
    Tick: ClientConnection._on_tick,
    Draining: ClientConnection._on_drain,
    Bypassed: ClientConnection._on_bypass,
    Stop: ClientConnection._on_stop,
    Continue: ClientConnection._on_continue,
    Ended: ClientConnection._on_ended,
}


# Flow of one side of a connection: whether it is read, and which of its bytes wait.


class Lane:
    """One side's bytes that wait; exists only while some do, since thousands of connections hold nothing.

    Attributes:
        waiting: iterators of the session, the next one first.
        held_bytes: number of bytes that they were made of.
        eof: whether that side sends no more; takes effect once they are done.
        waits_for_time: whether a `Wake` is under way.
    """

    __slots__ = ("eof", "held_bytes", "waiting", "waits_for_time")

    def __init__(self) -> None:
        self.waiting: list[Iterator[Out]] = []
        self.held_bytes = 0
        self.eof = self.waits_for_time = False

    def add(self, pieces: Iterator[Out], size: int) -> None:
        """More comes behind them."""
        self.waiting.append(pieces)
        self.held_bytes += size


_NONE: frozenset[str] = frozenset()  # one for all: each empty set of its own would take 216 bytes


class Flow:
    """What is known of one side: whether its bytes are read, and whether it takes any."""

    __slots__ = ("ended", "full", "lane", "pauses", "side")

    def __init__(self, side: Side, pauses: frozenset[str] = _NONE) -> None:
        self.side = side
        self.lane: Lane | None = None
        self.pauses = pauses
        self.ended = self.full = False

    def pause(self, why: str) -> Iterator[Pause]:
        """Stops reading until each reason is gone."""
        if not self.pauses:
            yield Pause(self.side)
        self.pauses |= {why}

    def resume(self, why: str) -> Iterator[Resume]:
        """Takes one reason back."""
        if why in self.pauses:
            self.pauses = self.pauses - {why} or _NONE
            if not self.pauses:
                yield Resume(self.side)


# When a connection reports who its client is and which versions it requests, and when its requests are looked into.
#
# No I/O; times are seconds of one clock.

_IDENTITIES_AT_ONCE = 8
_IDENTITY_EVERY_S = 10.0
"""Reports of a client's identity that are sent at once, and the interval of later ones: its first request, ApiVersions, SASL and telemetry
make four.
"""
_REQUESTED_EVERY_S = 5.0
"""How long new versions that a client requests are gathered: it starts with a dozen."""
_PERIOD_S = 5.5 * 3600
"""After that the versions count anew, so that readers know when a client last used each: within the six hours after which a connection is
recorded again in any case."""
_PERIOD_BEGINS_S = 60.0
"""How long a new period gathers versions before its first report."""
_LOOK_EVERY_S = 60.0
"""The interval at which one more request of each kind is looked into for settings."""


class ClientReports:
    """One connection's reports."""

    __slots__ = ("_identified", "_identified_s", "_identity_held", "_looked_s", "_period_s", "_requested", "_requested_s")

    def __init__(self) -> None:
        self._identified = 0
        self._identified_s = 0.0
        self._identity_held = False
        self._requested: frozenset[int] | None = NOTHING  # as last reported; None where the next report is due whatever it says
        self._requested_s = self._period_s = self._looked_s = 0.0

    def begin(self, now_s: float) -> None:
        """The client has connected."""
        self._requested_s = self._period_s = self._looked_s = now_s

    def identify(self, session: Session | OpaqueSession) -> Identified | Counted:
        """Reports the client's identity; a client that changes its name all the time is reported at intervals."""
        self._identified += 1
        if self._identified > _IDENTITIES_AT_ONCE:
            self._identity_held = True
            return Counted("identity_changes_held", "rate")
        return Identified(session.identity)

    def tick(self, session: Session | OpaqueSession, now_s: float) -> Iterator[Identified | Requested]:
        """What is due now. Comes often."""
        if self._identity_held and now_s - self._identified_s > _IDENTITY_EVERY_S:
            self._identity_held, self._identified_s = False, now_s
            yield Identified(session.identity)
        if now_s - self._looked_s >= _LOOK_EVERY_S:
            self._looked_s = now_s
            session.look_again()
        if session.requested is not self._requested or now_s - self._period_s > _PERIOD_S:
            yield from self._report_requested(session, now_s)

    def unreported(self, session: Session | OpaqueSession) -> bytes | None:
        """The versions that the client has requested, as `Requested` has them; None if the last report still holds."""
        return None if session.requested == self._requested else pack(session.requested)

    def _report_requested(self, session: Session | OpaqueSession, now_s: float) -> Iterator[Requested]:
        if session.authenticated and now_s - self._requested_s >= _REQUESTED_EVERY_S:  # before it, the client is another one
            if (versions := self.unreported(session)) is not None:
                self._requested_s = now_s
                yield Requested(versions)
            self._requested = session.requested
        if now_s - self._period_s > _PERIOD_S:
            session.forget_requested()
            self._requested, self._period_s = None, now_s
            self._requested_s = now_s + _PERIOD_BEGINS_S - _REQUESTED_EVERY_S
