"""Program of a worker: a process that carries clients' traffic, and nothing else.

Sessions, limits and timeouts are here; what is known of connections, and everything that talks to Kafka, is the main process's. So
neither a policy nor the publisher can take time from the bytes, and what they cost is another core's. A worker never waits for
the main process: reports that it doesn't take are dropped, and made good by a list of all that is open.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import uvloop

from clientscope.bounded import Present, Shared
from clientscope.clock import now_ms
from clientscope.gateway.channel import Channel, Tasks
from clientscope.gateway.worker import memory
from clientscope.gateway.worker.doors import Doors
from clientscope.gateway.worker.messages import (
    BrokerFound,
    Bypass,
    Closed,
    Drain,
    Event,
    Happens,
    Logged,
    Measure,
    Measured,
    Opened,
    Report,
    Said,
    Shutdown,
    Standing,
    StandingConnection,
    WorkerPlan,
)
from clientscope.gateway.worker.observed import Observed, RequestFilter, connection_name
from clientscope.gateway.worker.proxy_protocol import Header
from clientscope.gateway.worker.sides import Budget, ClientSide, Relay
from clientscope.model.requested_versions import pack
from clientscope.session.addresses import BrokerAddresses
from clientscope.session.events import Bypassed, Continue, Draining, Ended, News, PushAnswered, Stop, Tick
from clientscope.session.opaque import OpaqueSession
from clientscope.session.requested import MOST_SETS, Served
from clientscope.session.session import Session
from clientscope.session.shown import MOST_HELD
from clientscope.session.state import Counted, Identified, Identity, MetricsPushed, OtherCluster, PushAnswer, Pushed, RequestFields
from clientscope.session.telemetry import Telemetry, TelemetryPlan
from clientscope.wire.codes import THROTTLING_QUOTA_EXCEEDED

log = logging.getLogger(__name__)

_MOST_BEYOND_BYTES = 16 * 1024 * 1024
"""How far beyond the budget connections may be and a new one is still taken: uvloop reads from each once before it can be stopped."""
_LOOK_S = 0.5
"""How long a client may take nothing while all hold too much."""
_A_TURN = 50
"""Connections that are looked at before others have a turn: to close one takes some 40 µs, and 2,000 may be too slow at once (F08)."""
_BUSY = PushAnswer(THROTTLING_QUOTA_EXCEEDED, "the gateway can't take this push now", 1_000)


def _budget_bytes(plan: WorkerPlan) -> int:
    brokers = len(plan.open_ports.brokers) if plan.open_ports else 1
    return (plan.settings.buffered_max_bytes or memory.default_budget_bytes()) // (plan.settings.workers * max(1, brokers))


class Worker:
    """What the relays of one process share; all of it in one event loop.

    Attributes:
        reporter: tells the main process.
        doors: where connections come from, and where they go.
        budget: of the bytes that are held for all of them.
        tasks: what runs in the background.
    """

    def __init__(self, plan: WorkerPlan, channel: Channel) -> None:
        self._plan = plan
        self.reporter = Reporter(channel, lambda: self.draining.is_set() and not self._relays)
        self.doors = Doors(plan.settings, self)
        self._served, self._versions = Served(), Shared[frozenset[int]](MOST_SETS)
        self._telemetry = Telemetry(TelemetryPlan.of(plan.settings)) if plan.settings.client_telemetry else None
        self._fields = None if plan.settings.ignore_request_settings else Shared[RequestFields](MOST_HELD)
        self._fixed = BrokerAddresses(plan.open_ports.ports, self._found, plan.open_ports.brokers) if plan.open_ports else None
        self._logged = RequestFilter.of(plan.settings)
        self.budget = Budget(
            _budget_bytes(plan), partial(self._all, Stop()), partial(self._all, Continue()), self.reporter.count, memory.give_back
        )
        self._next_id = plan.first_id
        self._relays: dict[int, Relay] = {}
        self._addresses: Present[str] = Present()
        self.tasks = Tasks()
        self._bypassed = False
        self._measured_s = asyncio.get_running_loop().time()
        self.draining = asyncio.Event()

    # What a relay needs.

    def session(self) -> Session | OpaqueSession:
        """A new connection's; without a policy PushConfig is neither advertised nor answered (KIP-1324)."""
        place, settings = self._plan.place, self._plan.settings
        if place.tls or self._bypassed:
            return OpaqueSession(place.identity)
        takes_push = bool(settings.client_config_policy_class_name)
        software, identity = self._plan.software, place.identity
        return Session(
            takes_push,
            settings.client_config_max_bytes,
            place.sasl,
            software,
            self._served,
            identity=identity,
            versions=self._versions,
            fields=self._fields,
            addresses=self._fixed,
            telemetry=self._telemetry,
            cluster_id=place.cluster_id,
        )

    def _found(self, broker_id: int, host: str, port: int) -> None:
        self.reporter.report(BrokerFound(broker_id, host, port))

    def relay(self, header: Header) -> ClientSide:
        """A new connection's, which a load balancer may have described; its side that takes the socket."""
        client = Relay(self).client
        client.source, client.destination = header.source, header.destination
        return client

    def observed(self, relay: Relay) -> Observed | None:
        """The request log of a connection that has been opened; None where it has none."""
        if self._logged is None or not isinstance(relay.connection.session, Session) or not self._logged.takes_address(relay.address):
            return None
        far, near = relay.client.ends
        name = connection_name(near, far, relay.connection_id)

        def write(at_s: float, head: bytes, identity: Identity, total_ms: float | None) -> None:
            if self.reporter.behind:
                self.reporter.count("request_log_dropped", "busy")
            else:
                self.reporter.report(Logged(name, at_s, head, identity, total_ms))

        return Observed(self._logged, lambda: relay.connection.session.identity, write, lambda: relay.connection.observe(None))

    def refusal(self, address: str, waiting: int = 0, waiting_from: int = 0) -> str | None:
        """Why one more connection from this address is not taken (Kafka's max.connections, max.connections.per.ip).

        Args:
            waiting: TLS handshakes under way, which aren't connections yet; ``waiting_from`` those of this address.
        """
        if len(self._relays) + waiting >= self._plan.settings.max_connections:
            return "max_connections"
        if self.budget.total > self.budget.most_bytes + _MOST_BEYOND_BYTES:
            return "budget"
        most = self._plan.settings.max_connections_per_ip
        return "max_connections_per_ip" if most and self._addresses[address] + waiting_from >= most else None

    def opened(self, relay: Relay, address: str) -> int:
        """A client has connected; returns its connection id."""
        connection_id = self._next_id
        self._next_id += 1
        self._relays[connection_id] = relay
        self._addresses[address] += 1
        self.reporter.opened(connection_id, address)
        return connection_id

    def report(self, relay: Relay, news: News) -> None:
        """Takes in what a connection reports; the answer to a push comes as `PushAnswered`."""
        match news:
            case Identified(identity):
                self.reporter.identified(relay.connection_id, identity)
            case Counted(what, reason):
                self.reporter.count(what, reason)
            case OtherCluster():
                self.reporter.report(news)
            case Pushed():
                self._pushed(relay, news)
            case MetricsPushed() if self.reporter.behind:
                self.reporter.count("telemetry_dropped", "busy")
            case _:
                self.reporter.report(Said(relay.connection_id, news))

    def _pushed(self, relay: Relay, push: Pushed) -> None:
        self.reporter.report(Said(relay.connection_id, push))
        if not self.reporter.flush():
            self.reporter.count("pushes_refused", "busy")
            asyncio.get_running_loop().call_soon(relay.handle, PushAnswered(push.token, _BUSY))

    def _all(self, event: Stop | Continue | Bypassed) -> None:
        for relay in list(self._relays.values()):
            relay.handle(event)

    def closed(self, relay: Relay, reason: str, requested: bytes | None) -> None:
        """A connection has ended."""
        del self._relays[relay.connection_id]
        self._addresses.leave(relay.address)
        self.reporter.report(Closed(relay.connection_id, reason, requested))

    # What the main process says.

    def handle(self, message: Any) -> None:
        """Does what a message asks."""
        match message:
            case WorkerPlan():
                self._take(message)
            case Happens(connection_id, event):
                if (relay := self._relays.get(connection_id)) is not None:
                    relay.handle(event)
            case Measure():
                self._measure()
            case Drain():
                self.draining.set()
            case Bypass(on):
                self._bypassed = on
                self._bypass()

    def room(self) -> None:
        """The main process has read on: it gets what is now, for what it missed."""
        self.reporter.room(lambda: [_standing(relay) for relay in self._relays.values()])

    def _measure(self) -> None:
        """Says what has passed; next time, if the main process takes no report now."""
        if self.reporter.behind:
            return
        passed = {}
        for connection_id, relay in self._relays.items():
            if relay.from_client or relay.from_broker:
                passed[connection_id] = relay.from_client, relay.from_broker
                relay.from_client = relay.from_broker = 0
        now_s = asyncio.get_running_loop().time()
        self.reporter.report(Measured(round((now_s - self._measured_s) * 1000), passed))
        self._measured_s = now_s

    # Time.

    async def _watch_time(self) -> None:
        """Ends what overstays, and lets what drains go; and shows that this process is alive."""
        clock = asyncio.get_running_loop().time
        looked_s = clock()
        while True:
            draining = self.draining.is_set()
            unauthenticated_s = self._plan.settings.unauthenticated_timeout_ms / 1000
            idle_s = self._plan.settings.connections_max_idle_ms / 1000
            usual_s = min(1.0, unauthenticated_s / 4, idle_s / 4)
            wanted_s = clock() + (0.05 if draining else _LOOK_S if self.budget.exceeded else usual_s)
            await asyncio.sleep(wanted_s - clock())
            now_s = clock()
            self.reporter.lag_s = max(0.0, now_s - wanted_s)
            if now_s - looked_s >= _LOOK_S:
                looked_s = now_s
                self.budget.look()
            self._bypass()
            event = Draining(now_s) if draining else Tick(now_s, unauthenticated_s, idle_s)
            for number, connection_id in enumerate(list(self._relays), 1):
                relay = self._relays.get(connection_id)
                if relay is None:  # it has ended in another's turn
                    continue
                relay.handle(event)
                if number % _A_TURN == 0:
                    await asyncio.sleep(0)
            self.reporter.flush()

    async def listen(self, listeners: Sequence[socket.socket]) -> None:
        """Takes connections, until it drains."""
        await self.doors.open(listeners, self._plan.settings)
        self.tasks.run(self._stop_listening())
        self.tasks.run(self._watch_time())

    def _take(self, plan: WorkerPlan) -> None:
        """Limits apply at once, the rest to what connects from now on."""
        self._plan = plan
        if self._telemetry is not None:
            self._telemetry.plan = TelemetryPlan.of(plan.settings)
        self.budget.most_bytes = _budget_bytes(plan)
        self.doors.change(plan.settings)
        if self._fixed is not None and plan.open_ports is not None:
            self._fixed.change(plan.open_ports.brokers)

    async def _stop_listening(self) -> None:
        await self.draining.wait()
        self.doors.close()

    async def end(self) -> None:
        """Closes what is open; what is written already goes out."""
        self.doors.close()
        self.tasks.cancel()
        for relay in list(self._relays.values()):
            relay.handle(Ended("gateway_stopping"))
        await asyncio.sleep(0)  # the transports' own last callbacks
        self.reporter.flush()

    def _bypass(self) -> None:
        if self._bypassed:
            self._all(Bypassed())


def _standing(relay: Relay) -> StandingConnection:
    session = relay.connection.session
    return StandingConnection(relay.connection_id, relay.address, session.identity, pack(session.requested), session.shown)


def run(channel: socket.socket, listeners: Sequence[socket.socket]) -> None:
    """The life of a worker, from its first message to `Shutdown`, or to the main process's own end."""
    memory.keep_freed()
    uvloop.run(_run(channel, listeners))


async def _run(ours: socket.socket, listeners: Sequence[socket.socket]) -> None:
    messages = asyncio.Queue[Any]()

    def room() -> None:
        worker.room()

    channel = Channel(messages.put_nowait, lambda: messages.put_nowait(Shutdown()), room)
    await asyncio.get_running_loop().create_unix_connection(lambda: channel, sock=ours)
    if isinstance(plan := await messages.get(), Shutdown):
        return
    worker = Worker(plan, channel)
    await worker.listen(listeners)
    while not isinstance(message := await messages.get(), Shutdown):
        worker.handle(message)
    await worker.end()
    channel.close()
    await asyncio.sleep(0.1)  # what was written last


# Reports of a worker to the main process: events and counts, gathered for a few milliseconds.
#
# It never waits: reports that the main process doesn't take are dropped, and made good by a list of all that is open.

_GATHER_S = 0.02


class Reporter:
    """One worker's reports; in its event loop.

    Args:
        drained: whether no further connection is taken, and none is left.

    Attributes:
        behind: whether reports are dropped, since the main process takes none now.
        lag_s: how much later than asked for the event loop woke up, for the next report; None where it did not sleep.
    """

    def __init__(self, channel: Channel, drained: Callable[[], bool]) -> None:
        self._channel = channel
        self._drained = drained
        self._upstream_failure = ""
        self._events: list[Event] = []
        self._just_opened: dict[int, int] = {}  # connection ids, and where among the events each was opened
        self._counts: Counter[tuple[str, str]] = Counter()
        self._gathering: asyncio.TimerHandle | None = None
        self.behind = False
        self.lag_s: float | None = None

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

    def opened(self, connection_id: int, address: str) -> None:
        """A client has connected."""
        if not self.behind:
            self._just_opened[connection_id] = len(self._events)
        self.report(Opened(connection_id, address))

    def identified(self, connection_id: int, identity: Identity) -> None:
        """A client has identified itself.

        Most do so within a millisecond of connecting, and then that is one event, and one record, instead of two.
        """
        if (index := self._just_opened.get(connection_id)) is None:
            self.report(Said(connection_id, Identified(identity)))
        elif isinstance(opened := self._events[index], Opened):
            self._events[index] = replace(opened, identity=identity)

    def report(self, event: Event) -> None:
        """Something has happened."""
        if not self.behind:
            self._events.append(event)
            self._gather()

    def room(self, connections: Callable[[], list[StandingConnection]]) -> None:
        """The main process has read on: it gets what is now, for what it missed."""
        if self.behind:
            self.behind = False
            self._events = [Standing(connections())]
            self.flush()

    def flush(self) -> bool:
        """Sends what has gathered; False where the main process takes nothing now."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        events, self._events = self._events, []
        self._just_opened.clear()
        report = Report(now_ms(), events, dict(self._counts), self._upstream_failure, self._drained(), self.lag_s)
        if self.behind or not self._channel.send(report):
            self.behind = True
            # No later list makes these good.
            if lost := sum(isinstance(event, Said) and isinstance(event.news, MetricsPushed) for event in events):
                self._counts["telemetry_dropped", "busy"] += lost
            return False
        self._counts.clear()
        self.lag_s = None
        return True

    def _gather(self) -> None:
        if self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(_GATHER_S, self.flush)
