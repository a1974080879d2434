"""A worker: a process that carries clients' traffic, and nothing else.

Sessions, limits and timeouts are here; what is known of connections, and everything that talks to Kafka, is the main process's. So
neither a policy nor the publisher can take time from the bytes, and what they cost is another core's. A worker never waits for
the main process: reports that it doesn't take are dropped, and made good by a list of all that is open.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import uvloop

from clientscope.config_types import split_address, split_networks
from clientscope.errors import SettingsError
from clientscope.gateway import tls
from clientscope.gateway.channel import Channel
from clientscope.gateway.tasks import Tasks
from clientscope.gateway.worker import memory
from clientscope.gateway.worker.budget import Budget, Holder
from clientscope.gateway.worker.messages import (
    Answer,
    Asked,
    Bypass,
    Closed,
    Drain,
    End,
    Event,
    Logged,
    Named,
    Opened,
    Refuse,
    Report,
    Standing,
    WorkerPlan,
)
from clientscope.gateway.worker.observed import Observed, RequestFilter, connection_name
from clientscope.gateway.worker.proxied import Entrance
from clientscope.gateway.worker.proxy_protocol import Header
from clientscope.gateway.worker.relay import Relay
from clientscope.gateway.worker.sides import ClientSide
from clientscope.gateway.worker.tls_listener import TlsListener
from clientscope.session.opaque import OpaqueSession
from clientscope.session.served import Served
from clientscope.session.session import Session
from clientscope.session.state import Identity, Pushed, Verdict
from clientscope.wire.codes import THROTTLING_QUOTA_EXCEEDED

log = logging.getLogger(__name__)

_GATHER_S = 0.005
_MOST_BEYOND_BYTES = 16 * 1024 * 1024
"""How far beyond the budget connections may be and a new one is still taken: uvloop reads from each once before it can be stopped."""
_LOOK_S = 0.5
"""How long a client may take nothing while all hold too much."""
_BUSY = Verdict(THROTTLING_QUOTA_EXCEEDED, "the gateway can't take this push now", 1_000)


def _budget_bytes(plan: WorkerPlan) -> int:
    return (plan.settings.buffered_max_bytes or memory.default_budget_bytes()) // plan.settings.workers


class Worker:
    """What the relays of one process share; all of it in one event loop."""

    connect_timeout_s = 10.0

    def __init__(self, plan: WorkerPlan, channel: Channel) -> None:
        self.upstream = split_address(plan.settings.upstream)
        self.upstream_ssl: ssl.SSLContext | None = None
        self.upstream_takes_proxy_header = plan.settings.upstream_proxy_protocol
        self._served = Served()
        self._logged = RequestFilter.of(plan.settings)
        self._entrance = Entrance(
            split_networks(plan.settings.proxy_protocol_from),
            plan.settings.max_connections,
            plan.settings.unauthenticated_timeout_ms / 1000,
            self._relay,
            lambda reason: self.count("connections_refused", reason),
        )
        self._listener: asyncio.Server | TlsListener | None = None
        self.draining = asyncio.Event()
        self._plan = plan
        self._settings = plan.settings
        self._budget = Budget(_budget_bytes(plan), self._stop_reading, self._read_on, self.count, memory.give_back)
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._next_id = plan.first_id
        self._relays: dict[int, Relay] = {}
        self._addresses: Counter[str] = Counter()
        self._tasks = Tasks()
        self._upstream_failure = ""
        self._events: list[Event] = []
        self._just_opened: dict[int, int] = {}  # connection ids, and where among the events each was opened
        self._counts: Counter[tuple[str, str]] = Counter()
        self._gathering: asyncio.TimerHandle | None = None
        self._behind = False
        self._bypassed = False
        self._lag_s: float | None = None

    # What a relay needs.

    def session(self) -> Session | OpaqueSession:
        """A new connection's; without a policy PushConfig is neither advertised nor answered (KIP-1324)."""
        place, settings = self._plan.place, self._settings
        if place.tls or self._bypassed:
            return OpaqueSession()
        takes_push = bool(settings.client_config_policy_class_name)
        return Session(takes_push, settings.client_config_max_bytes, place.sasl, self._plan.software, self._served)

    def _relay(self, header: Header) -> ClientSide:
        relay = Relay(self)
        relay.source, relay.destination = header.source, header.destination
        return relay.protocol

    def observed(self, relay: Relay) -> Observed | None:
        """The request log of a connection that has been opened; None where it has none."""
        session = relay.session
        if self._logged is None or not isinstance(session, Session) or not self._logged.takes_address(relay.address):
            return None
        far, near = relay.ends
        name = connection_name(near, far, relay.connection_id)

        def write(at_s: float, head: bytes, identity: Identity, total_ms: float | None) -> None:
            if self._behind:
                self.count("request_log_dropped", "busy")
            else:
                self._report(Logged(name, at_s, head, identity, total_ms))

        observed = Observed(self._logged, lambda: session.identity, write, relay.observe_no_more)
        session.observe(observed)
        return observed

    def refusal(self, address: str, waiting: int = 0, waiting_from: int = 0) -> str | None:
        """Why one more connection from this address is not taken (Kafka's max.connections, max.connections.per.ip).

        Args:
            waiting: TLS handshakes under way, which aren't connections yet; ``waiting_from`` those of this address.
        """
        if len(self._relays) + waiting >= self._settings.max_connections:
            return "max_connections"
        if self._budget.total > self._budget.most_bytes + _MOST_BEYOND_BYTES:
            return "budget"
        most = self._settings.max_connections_per_ip
        return "max_connections_per_ip" if most and self._addresses[address] + waiting_from >= most else None

    def count(self, what: str, reason: str) -> None:
        """Adds one to a counter."""
        self._counts[what, reason] += 1
        self._gather()

    def reached(self, failure: str = "") -> None:
        """The broker took a connection, or failed to."""
        if failure:
            self.count("upstream_failures", failure)
        if failure != self._upstream_failure:
            self._upstream_failure = failure
            self._gather()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine in the background."""
        self._tasks.run(work)

    def opened(self, relay: Relay, address: str) -> int:
        """A client has connected; returns its connection id."""
        connection_id = self._next_id
        self._next_id += 1
        self._relays[connection_id] = relay
        self._addresses[address] += 1
        if not self._behind:
            self._just_opened[connection_id] = len(self._events)
        self._report(Opened(connection_id, address))
        return connection_id

    def identified(self, connection_id: int, identity: Identity) -> None:
        """A client has said who it is.

        Most do so within a millisecond of connecting, and then that is one event, and one record, instead of two.
        """
        if (index := self._just_opened.get(connection_id)) is None:
            self._report(Named(connection_id, identity))
        elif isinstance(opened := self._events[index], Opened):
            self._events[index] = replace(opened, identity=identity)

    def pushed(self, relay: Relay, push: Pushed) -> None:
        """A client has pushed; the verdict comes by `Relay.answer`."""
        self._report(Asked(relay.connection_id, push.token, push.configs, push.correlation_id, push.received_ms))
        if not self._flush():
            self.count("pushes_refused", "busy")
            self._loop.call_soon(relay.answer, push.token, _BUSY)

    def holds(self, holder: Holder, held_bytes: int) -> None:
        """So many bytes are held for a connection."""
        self._budget.holds(holder, held_bytes)

    @property
    def stopped(self) -> bool:
        """Whether nothing is read from any connection now, since all hold too much."""
        return self._budget.exceeded

    def _stop_reading(self) -> None:
        for relay in self._relays.values():
            relay.stop_reading()

    def _read_on(self) -> None:
        for relay in self._relays.values():
            relay.read_on()

    def closed(self, relay: Relay, reason: str) -> None:
        """A connection has ended."""
        del self._relays[relay.connection_id]
        self._addresses[relay.address] -= 1
        if not self._addresses[relay.address]:
            del self._addresses[relay.address]
        self._report(Closed(relay.connection_id, reason))

    # What the main process says.

    def told(self, message: Any) -> None:
        """Does what a message asks."""
        match message:
            case WorkerPlan():
                self._take(message)
            case Answer(connection_id, token, verdict):
                if (relay := self._relays.get(connection_id)) is not None:
                    relay.answer(token, verdict)
            case Refuse(connection_id, reason):
                if (relay := self._relays.get(connection_id)) is not None:
                    self.count("connections_refused", reason)
                    relay.end(reason)
            case Drain():
                self.draining.set()
            case Bypass(on):
                self._bypassed = on
                self._bypass()

    def room(self) -> None:
        """The main process has read on: it gets what is now, for what it missed."""
        if self._behind:
            self._behind = False
            self._events = [Standing([(number, relay.address, relay.identity) for number, relay in self._relays.items()])]
            self._flush()

    # Time.

    async def _watch_time(self) -> None:
        """Ends what overstays, and lets what drains go; and shows that this process is alive."""
        looked_s = self._loop.time()
        while True:
            draining = self.draining.is_set()
            unauthenticated_s = self._settings.unauthenticated_timeout_ms / 1000
            idle_s = self._settings.connections_max_idle_ms / 1000
            usual_s = min(1.0, unauthenticated_s / 4, idle_s / 4)
            wanted_s = self._loop.time() + (0.05 if draining else _LOOK_S if self._budget.exceeded else usual_s)
            await asyncio.sleep(wanted_s - self._loop.time())
            now_s = self._loop.time()
            self._lag_s = max(0.0, now_s - wanted_s)
            if now_s - looked_s >= _LOOK_S:
                looked_s = now_s
                self._budget.look()
            self._bypass()
            for relay in list(self._relays.values()):
                if draining:
                    relay.drain(now_s)
                else:
                    relay.check_time(now_s, unauthenticated_s, idle_s)
            self._flush()

    async def listen(self, listener: socket.socket) -> None:
        """Takes connections, until it drains."""
        contexts = tls.load(self._settings)
        self.upstream_ssl = contexts.upstream
        if contexts.server is None:
            self._listener = await self._loop.create_server(self._entrance.accept, sock=listener, backlog=1024)
        else:
            timeout_s = self._settings.unauthenticated_timeout_ms / 1000
            self._listener = TlsListener(listener, contexts.server, self._entrance, self, timeout_s)
        self.run(self._stop_listening())
        self.run(self._watch_time())

    def _take(self, plan: WorkerPlan) -> None:
        """Limits apply at once, the rest to what connects from now on; files may have changed since the main process looked at them."""
        self._plan, self._settings = plan, plan.settings
        self._budget.most_bytes = _budget_bytes(plan)
        self._entrance.most = plan.settings.max_connections
        self._entrance.timeout_s = plan.settings.unauthenticated_timeout_ms / 1000
        if isinstance(self._listener, TlsListener):
            self._listener.timeout_s = self._entrance.timeout_s
        try:
            contexts = tls.load(plan.settings)
        except SettingsError as error:
            log.error("a worker keeps its certificates: %s", error)
            return
        self.upstream_ssl = contexts.upstream
        if isinstance(self._listener, TlsListener) and contexts.server is not None:
            self._listener.context = contexts.server

    async def _stop_listening(self) -> None:
        await self.draining.wait()
        self._close_listener()

    def _close_listener(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._entrance.close()

    async def end(self) -> None:
        """Closes what is open; what is written already goes out."""
        self._close_listener()
        self._tasks.cancel()
        for relay in list(self._relays.values()):
            relay.end("gateway_stopping")
        await asyncio.sleep(0)  # the transports' own last callbacks
        self._flush()

    def _bypass(self) -> None:
        if self._bypassed:
            for relay in self._relays.values():
                relay.bypass()

    def _report(self, event: Event) -> None:
        if not self._behind:
            self._events.append(event)
            self._gather()

    def _gather(self) -> None:
        if self._gathering is None:
            self._gathering = self._loop.call_later(_GATHER_S, self._flush)

    def _flush(self) -> bool:
        """Sends what has gathered; False where the main process takes nothing now."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        events, self._events = self._events, []
        self._just_opened.clear()
        drained = self.draining.is_set() and not self._relays
        report = Report(time.time_ns() // 1_000_000, events, dict(self._counts), self._upstream_failure, drained, self._lag_s)
        if self._behind or not self._channel.send(report):
            self._behind = True
            return False
        self._counts.clear()
        self._lag_s = None
        return True


def run(channel: socket.socket, listener: socket.socket) -> None:
    """The life of a worker, from its first message to `End`, or to the main process's own end."""
    memory.keep_freed()
    uvloop.run(_run(channel, listener))


async def _run(ours: socket.socket, listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    early: list[Any] = []
    begun, over = asyncio.Event(), asyncio.Event()
    worker: Worker | None = None

    def received(message: Any) -> None:
        begun.set()
        if isinstance(message, End):
            over.set()
        elif worker is None:
            early.append(message)
        else:
            worker.told(message)

    def gone() -> None:
        begun.set()
        over.set()

    def room() -> None:
        if worker is not None:
            worker.room()

    _, channel = await loop.create_unix_connection(lambda: Channel(received, gone, room), sock=ours)
    await begun.wait()
    if not early:
        return
    worker = Worker(early.pop(0), channel)
    for message in early:
        worker.told(message)
    await worker.listen(listener)
    await over.wait()
    await worker.end()
    channel.close()
    await asyncio.sleep(0.1)  # what was written last
