"""State of all connections to one broker, and the handling of workers' reports."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from clientscope import __version__
from clientscope.api.gateway import GatewayConnection
from clientscope.clock import now_ms
from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway import tls
from clientscope.gateway.brokers import KnownBrokers
from clientscope.gateway.channel import Tasks
from clientscope.gateway.common import Common
from clientscope.gateway.connection_records import ConnectionRecords
from clientscope.gateway.observed_clients import ObservedClients
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.publisher import Publisher
from clientscope.gateway.quota import PushQuota, rates
from clientscope.gateway.reconfiguring import changes
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.telemetry import TelemetryRecords
from clientscope.gateway.upstream_cluster import other_cluster
from clientscope.gateway.worker.messages import (
    BrokerFound,
    Closed,
    Logged,
    Measured,
    Opened,
    OpenPorts,
    Report,
    Said,
    Standing,
    StandingConnection,
    WorkerPlan,
)
from clientscope.gateway.worker.pool import Workers, listen
from clientscope.model.codec import encode_whole
from clientscope.model.status import BrokerStatus, ProcessStatus
from clientscope.model.topics import CONFIGS, STATUS, TELEMETRY
from clientscope.session.events import Ended, PushAnswered
from clientscope.session.state import Identified, Identity, MetricsPushed, OtherCluster, Pushed, Requested, Shown
from clientscope.wire.codes import PUSH_TELEMETRY

log = logging.getLogger(__name__)

_STUCK_S = 10.0
_ANSWERED_S = 0.1
"""How long before a heartbeat workers are asked what has passed."""


class Gateway:
    """What is known of all connections, and what is done with it; all of it in one event loop.

    Attributes:
        problem: why it has stopped by itself; None where it hasn't.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        place: GatewayPlace,
        common: Common,
        open_ports: OpenPorts | None = None,
        found: Callable[[BrokerFound], None] = lambda found: None,
    ) -> None:
        self._settings = settings
        self.brokers = KnownBrokers(settings, place.broker_id)
        self._alive_s = time.monotonic()
        self._draining = self.bypassed = False
        self.problem: SettingsError | None = None
        self._place = place
        self._common = common
        self._metrics = metrics = common.metrics
        self._open_ports, self._found = open_ports, found
        self.registry = ConnectionRegistry(place, names=common.names, hidden=partial(metrics.count, "names_redacted"))
        self._records = ConnectionRecords(self.registry, common.publisher)
        labels = {"cluster": place.cluster_id, "broker": str(place.broker_id), "listener": place.listener_name}
        self._hide_connections = metrics.show_connections(self.registry.counts, labels)
        self._tasks = Tasks()
        self._observed = ObservedClients(
            self.registry,
            PushQuota(rates(settings)),
            partial(_taken, common.publisher, CONFIGS),
            metrics.count,
            lambda: self.brokers.has_rack,
        )
        self._telemetry = TelemetryRecords(self.registry, self._publish_telemetry, metrics.count)
        self._status = StatusPublisher(self, common.publisher)
        self._workers = Workers(common.template, self)

    async def start(self, *bootstrap: list[socket.socket]) -> None:
        """Takes connections.

        Args:
            bootstrap: more sockets on which connections to this broker are taken, one of each worker.

        Raises:
            EnvironmentProblem: the port is taken.
        """
        await asyncio.to_thread(self.brokers.look)
        sockets = [listen(self._settings.listen, self._settings.workers), *bootstrap]
        await self._workers.start(self._plan(), list(zip(*sockets, strict=True)))
        self._tasks.run(self._beat())
        self._tasks.run(self._watch_time())
        self._tasks.run(self.brokers.watch(self._replan))
        self._tasks.run(self._status.watch())
        self._tasks.run(self._status.watch_broker())

    def _plan(self) -> WorkerPlan:
        return WorkerPlan(0, self._settings, self._place, self.brokers.on_the_wire, self._open_ports)

    def _replan(self) -> None:
        self._workers.replan(self._plan())

    def open(self, open_ports: OpenPorts, upstream: str) -> None:
        """Brokers of the cluster have come or gone, or this one has moved; for connections that are opened from now on."""
        if (open_ports, upstream) != (self._open_ports, self._settings.upstream):
            self._open_ports = open_ports
            self._settings = self._settings.model_copy(update={"upstream": upstream})
            self._replan()

    def bypass(self, on: bool) -> None:
        """Makes it a plain relay, which reads nothing of what passes; or takes that back, for connections that are opened from now on."""
        if on != self.bypassed:
            log.warning("bypassed: every byte passes unread, and new clients have no name" if on else "new connections are read again")
            self.bypassed = on
            self._workers.bypass(on)

    @property
    def upstream(self) -> str:
        """The broker's address."""
        return self._settings.upstream

    def listing(self) -> list[GatewayConnection]:
        """Every open connection. From any thread."""
        return self.registry.listing()

    def instances(self) -> int:
        """Different clients with an instance id that are connected. From any thread."""
        return self.registry.instances()

    def health(self) -> str:
        """What is wrong with this gateway, or nothing: its event loops turn. From any thread."""
        stuck_s = max(time.monotonic() - self._alive_s, self._workers.silent_s())
        return f"an event loop has stood still for {stuck_s:.0f} s" if stuck_s > _STUCK_S else ""

    def readiness(self) -> str:
        """Why no further client should be sent here, or nothing. From any thread."""
        if self._draining:
            return "draining"
        failure = self._workers.upstream_failure()
        return self.health() or (f"the broker took no connection: {failure}" if failure else "")

    async def drain(self, stopping_again: asyncio.Event) -> None:
        """Lets each client have the answers that are under way, and then go; `drain_timeout_ms` at most."""
        self._draining = True
        enough = [asyncio.ensure_future(work) for work in (self._workers.drain(), stopping_again.wait())]
        await asyncio.wait(enough, timeout=self._settings.drain_timeout_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
        for work in enough:
            work.cancel()

    async def _watch_time(self) -> None:
        while True:
            self._alive_s = time.monotonic()
            await asyncio.sleep(1.0)
            self._metrics.lagged("main", max(0.0, time.monotonic() - self._alive_s - 1.0))
            while self._observed.record(time.monotonic()):  # noqa: ASYNC110  others have a turn
                await asyncio.sleep(0)

    async def _beat(self) -> None:
        """Publishes all counts, for as long as the gateway runs, once an interval."""
        while True:
            self._records.heartbeat(now_ms(), self._settings.heartbeat_interval_ms)
            interval_s = self._settings.heartbeat_interval_ms / 1000
            answered_s = min(_ANSWERED_S, interval_s / 2)
            await asyncio.sleep(interval_s - answered_s)
            self._workers.measure()
            await asyncio.sleep(answered_s)

    # What workers report.

    def reported(self, report: Report, mine: range) -> None:
        """Takes a worker's report in; the ids of its connections are ``mine``."""
        for (what, reason), number in report.counts.items():
            self._metrics.count(what, reason, number)
        if report.lag_s is not None:
            self._metrics.lagged("worker", report.lag_s)
        for event in report.events:
            match event:
                case Opened(connection_id, address, identity):
                    self._opened(connection_id, address, identity, report.at_ms)
                case Said(connection_id, Identified(identity)):
                    self._identified(connection_id, identity, report.at_ms)
                case Said(connection_id, Requested(versions)):
                    self._records.publish(self.registry.used(connection_id, versions, report.at_ms))
                case Said(connection_id, Shown(request)):
                    self._observed.showed(connection_id, request, time.monotonic())
                case Said(connection_id, MetricsPushed() as pushed):
                    self._take(connection_id, pushed)
                case Said(connection_id, Pushed() as push):
                    self._tasks.run(self._judge(connection_id, push))
                case Closed(connection_id, reason, requested):
                    self._closed(connection_id, reason, report.at_ms, requested)
                case Logged():
                    if self._common.request_log is not None:
                        self._common.request_log.write(event)
                case BrokerFound():
                    self._found(event)
                case OtherCluster(cluster_id):
                    self._misplaced(cluster_id)
                case Measured(elapsed_ms, passed):
                    if left_out := self._records.traffic.measured(elapsed_ms, passed):
                        self._metrics.count("traffic_unrecorded", "most_connections", left_out)
                case Standing(connections):
                    self._stand(connections, mine, report.at_ms)

    def _misplaced(self, other: str) -> None:
        if self.problem is None:
            self.problem = other_cluster(self._settings.upstream, other, self._place.cluster_id)
            signal.raise_signal(signal.SIGTERM)

    def lost(self, mine: range) -> None:
        """A worker has ended, and its connections with it."""
        lost_ms = now_ms()
        for connection_id in [number for number in self.registry.connections if number in mine]:
            self._closed(connection_id, "gateway_stopping" if self._draining else "worker_lost", lost_ms)

    def _opened(self, connection_id: int, address: str, identity: Identity | None, now_ms: int) -> None:
        self._metrics.count("connections_opened", self._place.listener_name)
        self._records.publish(self.registry.opened(connection_id, address, now_ms, identity))
        self._observed.identified(connection_id, time.monotonic())
        # Each worker holds the limits for itself; here they are held for all together.
        most, settings = self._settings.max_connections_per_ip, self._settings
        if len(self.registry.connections) > settings.max_connections:
            self._refuse(connection_id, "max_connections")
        elif most and self.registry.open_from(address) > most:
            self._refuse(connection_id, "max_connections_per_ip")

    def _refuse(self, connection_id: int, reason: str) -> None:
        self._metrics.count("connections_refused", reason)
        self._workers.tell(connection_id, Ended(reason))

    def _identified(self, connection_id: int, identity: Identity, now_ms: int) -> None:
        self._records.publish(self.registry.identified(connection_id, identity, now_ms))
        self._observed.identified(connection_id, time.monotonic())

    def _closed(self, connection_id: int, reason: str, now_ms: int, requested: bytes | None = None) -> None:
        self._observed.closed(connection_id, time.monotonic())
        self._telemetry.closed(connection_id)
        if (record := self.registry.closed(connection_id, reason, now_ms, requested)) is not None:
            self._metrics.count("connections_closed", reason)
            self._records.publish(record)

    def _stand(self, connections: list[StandingConnection], mine: range, now_ms: int) -> None:
        """Makes good what a worker could not report."""
        open_ids = {each.connection_id for each in connections}
        for connection_id in [number for number in self.registry.connections if number in mine and number not in open_ids]:
            self._closed(connection_id, "unseen", now_ms)
        for connection_id, address, identity, versions, shown in connections:
            if connection_id not in self.registry.connections:
                self._opened(connection_id, address, identity, now_ms)
            elif not self.registry.knows_as(connection_id, identity):
                self._identified(connection_id, identity, now_ms)
            self._records.publish(self.registry.used(connection_id, versions, now_ms))
            for request in shown:
                self._observed.showed(connection_id, request, time.monotonic())

    def _take(self, connection_id: int, pushed: MetricsPushed) -> None:
        now_s = time.monotonic()
        wanted = not (self._settings.ignore_request_settings or self._observed.has_shown(connection_id, PUSH_TELEMETRY))
        if (request := self._telemetry.take(connection_id, pushed, now_s, wanted)) is not None:
            self._observed.showed(connection_id, request, now_s)

    async def _judge(self, connection_id: int, push: Pushed) -> None:
        context = self.registry.context(connection_id, push.correlation_id)
        if (answer := await self._common.judge(push, context)) is not None:
            self._workers.tell(connection_id, PushAnswered(push.token, answer))

    def _publish_telemetry(self, key: str, value: bytes) -> bool:
        publisher = self._common.telemetry
        return publisher is not None and publisher.room > 0 and _taken(publisher, TELEMETRY, key, value)

    def take(self, settings: GatewaySettings) -> None:
        """Applies what may change while it runs, and names what needs a restart."""
        self._settings, applied, fixed = changes(self._settings, settings)
        if applied:
            self._common.change(self._settings)
            self._observed.quota.change(rates(self._settings))
            self._replan()
            log.warning("changed while the gateway runs: %s", ", ".join(applied))
        if fixed:
            log.warning("changed, but only a restart applies it: %s", ", ".join(fixed))
        self._reload_tls(settings)

    def _reload_tls(self, settings: GatewaySettings) -> None:
        """For new connections; established ones keep what they have."""
        if not any(tls.used(self._settings)):
            return
        try:
            tls.reload(self._settings, settings)
        except SettingsError as error:
            log.error("the certificates stay as they were: %s", error)
        else:
            self._settings = self._settings.model_copy(update={name: getattr(settings, name) for name in tls.SETTINGS})
            self._replan()
            log.warning("certificates and keys have been read again; new connections use them")

    def goodbye(self) -> None:
        """Says that there will be no further heartbeat."""
        self._records.heartbeat(now_ms(), 0)

    async def close(self) -> None:
        """Ends every connection."""
        self._status.stopped()
        self._tasks.cancel()
        await self._workers.end()
        self._hide_connections()


def _taken(publisher: Publisher, topic: str, key: str, value: bytes) -> bool:
    """Publishes a record; whether there was room for it."""
    done = publisher.publish(topic, key, value)
    return not (done.done() and done.exception())


# Status of a gateway and its broker, for ``clientscope.status``.

INTERVAL_S = 10.0
BROKER_INTERVAL_S = 60.0
"""Asking a broker is a connection of its own each time."""


class StatusPublisher:
    """Reports a gateway's status every ten seconds, and at once when its health changes; its broker's every minute.

    A status is soon out of date, so none is written while the publisher's queue is half full.
    """

    def __init__(self, gateway: Gateway, publisher: Publisher) -> None:
        self._gateway, self._publisher = gateway, publisher
        self._place = gateway.registry.place
        self._enough = publisher.room // 2
        self._reported_s = -INTERVAL_S
        self._reported: tuple[str, str] = ("", "")

    async def watch(self) -> None:
        """Reports the gateway's status for as long as it runs."""
        while True:
            now = self.process()
            if (now.condition, now.reason) != self._reported or time.monotonic() - self._reported_s >= INTERVAL_S:
                self._publish(now)
                self._reported, self._reported_s = (now.condition, now.reason), time.monotonic()
            await asyncio.sleep(1.0)

    async def watch_broker(self) -> None:
        """Reports the broker's status for as long as the gateway runs."""
        while True:
            status = await asyncio.to_thread(self._gateway.brokers.status, self._place, int(BROKER_INTERVAL_S * 1000))
            self._publish(status)
            await asyncio.sleep(BROKER_INTERVAL_S)

    def stopped(self) -> None:
        """Reports that the gateway was stopped on request."""
        self._publish(replace(self.process(), condition="stopped", reason=""))

    def process(self) -> ProcessStatus:
        """How the gateway is now."""
        gateway = self._gateway
        reason = gateway.readiness() or ("it is bypassed: nothing of what passes is read" if gateway.bypassed else "")
        return ProcessStatus(
            kind="gateway",
            id=self._place.gateway_id,
            condition="warn" if reason else "ok",
            reason=reason,
            release=__version__,
            started_ms=self._place.gateway_epoch,
            told_ms=now_ms(),
            interval_ms=int(INTERVAL_S * 1000),
            last_record_ms=self._publisher.acknowledged_ms,
            figures={
                "broker": self._place.broker_id,
                "open_connections": len(gateway.registry.connections),
                "client_instances": gateway.instances(),
                "unacknowledged_records": self._enough * 2 - self._publisher.room,
            },
        )

    def _publish(self, status: ProcessStatus | BrokerStatus) -> None:
        if self._publisher.room > self._enough:
            self._publisher.publish(STATUS, status.key.decode(), encode_whole(status))
