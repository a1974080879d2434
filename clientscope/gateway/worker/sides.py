"""The two sides of a connection, its relay, and what all connections of a worker share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from sys import intern
from typing import TYPE_CHECKING, Any, Protocol, cast

from clientscope.gateway.tls import distinguished_name
from clientscope.gateway.worker.proxy_protocol import Endpoint, build
from clientscope.session.connection import ClientConnection
from clientscope.session.events import (
    BROKER,
    CLIENT,
    Certified,
    Connected,
    ConnectionEvent,
    Disconnected,
    End,
    Ended,
    Eof,
    Free,
    Full,
    HalfClose,
    Pause,
    Received,
    Resume,
    Send,
    Side,
    Stop,
    Wake,
    Woken,
)  # fmt: skip
from clientscope.session.state import Counted, Identified, MetricsPushed, OtherCluster, Pushed, Requested, Shown

if TYPE_CHECKING:
    from clientscope.gateway.worker.process import Worker

_COUNTED_BYTES = 1024


class ReceivedBytes:
    """What one connection has received and keeps, for its worker's budget; what is written and unsent, its two sides count."""

    __slots__ = ("_counted", "_relay")

    evictable = needs_reading = True

    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._counted = False

    @property
    def held_bytes(self) -> int:
        """What is kept, where that is worth counting."""
        connection = self._relay.connection
        held = 0 if connection.ended else connection.held_bytes
        return held if held >= _COUNTED_BYTES else 0

    def evict(self) -> None:
        """Ends the connection, and drops what is held."""
        self._relay.handle(Ended("slow_sender_reset"))

    def update(self) -> None:
        """Counts what is kept after an event."""
        relay = self._relay
        held = self.held_bytes
        if held or self._counted:
            self._counted = held > 0
            relay.host.budget.holds(self, held)
        if relay.connection.some_full:
            for side in (relay.client, relay.broker):
                if relay.connection.full(side.side):  # it may have more now than its transport said when it was full first
                    relay.host.budget.holds(side, side.held_bytes)

    def release(self) -> None:
        """Counts nothing any more: the connection has ended."""
        if self._counted:
            self._relay.host.budget.holds(self, 0)


# Each connection stops reading from one side while anything for the other is unsent, so it holds one read of the socket at most, 256
# KB. Ten thousand slow readers are still gigabytes. Where all connections together hold more than the budget, nothing is read from any
# of them until three quarters are left. Clients that take nothing meanwhile, or next to nothing, lose their connection, those that hold
# most first. Halves of frames can't become fewer while nothing is read, so they cost a connection only where they alone are too much. A
# broker that takes nothing does not cost its clients theirs. Envoy's overload manager acts likewise.
_RESUME_AT = 0.75

_LEAST_TAKEN = 0.1
"""How much of what it had a client must take between two looks: so a stop is short, however slowly clients read."""

_TRIM_FROM_BYTES = 32 * 1024 * 1024


class Holder(Protocol):
    """Something that holds bytes for a connection."""

    @property
    def held_bytes(self) -> int:
        """How many it holds now."""

    @property
    def evictable(self) -> bool:
        """Whether it is the client's doing that they are still here."""

    @property
    def needs_reading(self) -> bool:
        """Whether they become fewer only by more that is read."""

    def evict(self) -> None:
        """Ends the connection, whose bytes are dropped."""


class Budget:
    """The bytes that all connections of one process hold. No I/O; called in one event loop.

    Args:
        most_bytes: the bound.
        stop: stops reading from every connection; ``resume`` takes that back.
        count: adds one to a counter: what, and the reason.
        give_back: gives freed memory back to the system.
    """

    def __init__(
        self,
        most_bytes: int,
        stop: Callable[[], None],
        resume: Callable[[], None],
        count: Callable[[str, str], None],
        give_back: Callable[[], None],
    ) -> None:
        self.most_bytes = most_bytes
        self._stop = stop
        self._resume = resume
        self._count = count
        self._give_back = give_back
        self._held: dict[Holder, int] = {}
        self._before: dict[Holder, int] = {}
        self._peak = 0
        self.total = 0
        self.exceeded = False

    def holds(self, holder: Holder, held_bytes: int) -> None:
        """A holder has so many bytes now."""
        self.total += held_bytes - self._held.get(holder, 0)
        if held_bytes:
            self._held[holder] = held_bytes
        else:
            self._held.pop(holder, None)
        self._peak = max(self._peak, self.total)
        if not self.exceeded:
            if self.total > self.most_bytes:
                self.exceeded = True
                self._before = {}  # a client that took all and was sent as much again just now is not slow
                self._count("reads_held", "budget")
                self._stop()
        elif self.total <= self.most_bytes * _RESUME_AT:
            self.exceeded = False
            self._resume()

    def look(self) -> None:
        """Ends connections whose clients have taken next to nothing since the last look, while there is too much.

        Called once a second, and more often while there is.
        """
        for holder in list(self._held):
            self.holds(holder, holder.held_bytes)
        if self.exceeded:
            self._relieve()
        self._before = dict(self._held) if self.exceeded else {}
        if self._peak >= _TRIM_FROM_BYTES and self.total < self._peak // 4:
            self._peak = self.total
            self._give_back()

    def _relieve(self) -> None:
        """The slow readers first, as many as it takes; then halves of frames, if they alone are too much."""
        most_left = {holder: held * (1 - _LEAST_TAKEN) for holder, held in self._before.items() if holder.evictable}
        slow = [holder for holder, held in self._held.items() if not holder.needs_reading and held > most_left.get(holder, held)]
        self._evict(slow, self.total)
        halves = [holder for holder in self._held if holder.needs_reading]
        self._evict(halves, sum(self._held[holder] for holder in halves))

    def _evict(self, holders: list[Holder], total: int) -> None:
        """Ends the connections that hold most of a total, until little enough of it is left."""
        for holder in sorted(holders, key=lambda holder: -self._held[holder]):
            if total <= self.most_bytes * _RESUME_AT:
                break
            total -= self._held[holder]
            self._count("connections_evicted", "budget")
            holder.evict()
            self.holds(holder, 0)


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
        self.relay.host.budget.holds(self, 0)
        self.relay.handle(Free(self.side))

    def connection_lost(self, exc: Exception | None) -> None:
        self.relay.host.budget.holds(self, 0)
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


class Relay:
    """One client connection, from accept to the last byte; thousands of them are idle at a time, so an attribute's size matters.

    Attributes:
        from_client, from_broker: bytes that were received since they were last taken.
    """

    __slots__ = ("address", "broker", "client", "connection", "connection_id", "from_broker", "from_client", "host", "received")

    def __init__(self, host: Worker) -> None:
        self.host = host
        self.connection = ClientConnection(host.session())
        self.client, self.broker = ClientSide(self), BrokerSide(self)
        self.received = ReceivedBytes(self)
        self.connection_id = -1
        self.address = ""
        self.from_client = self.from_broker = 0

    def client_connected(self) -> None:
        """The client is there: count it, and connect upstream."""
        self.address = intern(self.client.address)
        if (reason := self.host.refusal(self.address)) is not None:
            self.host.reporter.count("connections_refused", reason)
            self.handle(Ended(reason))
            self.client.close(at_once=True)
            return
        self.connection_id = self.host.opened(self, self.address)
        self.handle(Connected(CLIENT, self.client.half_closes, asyncio.get_running_loop().time()))
        self.connection.observe(self.host.observed(self))
        if (principal := self.client.certified_principal) is not None:
            self.handle(Certified(principal))
        self.host.tasks.run(self._connect())

    async def _connect(self) -> None:
        failure = await self.host.doors.upstream.connect(self.broker)
        self.host.reporter.reached(failure)
        if failure:
            self.handle(Ended("upstream_unreachable"))

    def broker_connected(self) -> None:
        """The broker is there: a load balancer's header comes before all else."""
        if self.connection.ended:
            self.broker.close(at_once=True)
            return
        if self.host.doors.upstream.takes_proxy_header:
            self.broker.send(build(*self.client.ends))
        self.handle(Connected(BROKER, self.broker.half_closes))
        if self.host.budget.exceeded:
            self.handle(Stop())

    def handle(self, event: ConnectionEvent) -> None:
        """Does what an event asks for."""
        for command in self.connection.handle(event):
            match command:
                case Send(side, data):
                    (self.client if side is CLIENT else self.broker).send(data)
                case Identified() | Requested() | Shown() | Counted() | MetricsPushed() | OtherCluster() | Pushed():
                    self.host.report(self, command)
                case End(reason, reset):
                    self._end(reason, reset)
                case _:
                    (self.client if command.side is CLIENT else self.broker).do(command)
        if not self.connection.ended:
            self.received.update()

    def _end(self, reason: str, reset: bool) -> None:
        self.received.release()
        if self.connection_id >= 0:
            self.host.closed(self, reason, self.connection.unreported)
        for side in (self.client, self.broker):
            side.close(reset)
