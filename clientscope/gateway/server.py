"""The gateway: a listener, an upstream, and what they tell Kafka.

``run`` is the only entry point. Order of life: everything that can fail is tried before the port is opened; at SIGTERM or SIGINT the
port closes first, then the connections, each once its answers are out, then the publisher once it has been acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable, Coroutine
from typing import Any

import uvloop
from prometheus_client import make_wsgi_app

from clientscope import topics
from clientscope.config import GatewaySettings, split_address
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.gateway import pages
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.place import Place, find_place
from clientscope.gateway.policy_guard import client_of
from clientscope.gateway.policy_metrics import PolicyMetrics
from clientscope.gateway.policy_runner import PolicyRunner
from clientscope.gateway.policy_worker import PolicyPlan
from clientscope.gateway.publisher import Publisher
from clientscope.gateway.quota import PushQuota, Rate
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.relay import Relay
from clientscope.policy.interface import ClientConfigData
from clientscope.records.codec import ClientConnectionRecord, encode
from clientscope.records.topics import CONFIGS, CONNECTIONS
from clientscope.session.opaque import OpaqueSession
from clientscope.session.session import Session
from clientscope.session.state import Identity, Pushed, Verdict
from clientscope.wire.codes import THROTTLING_QUOTA_EXCEEDED
from clientscope.wire.describe_cluster import BrokerSoftware

log = logging.getLogger(__name__)

_STUCK_S = 10.0


def run(settings: GatewaySettings, again: Callable[[], GatewaySettings]) -> None:
    """Runs a gateway until SIGTERM or SIGINT.

    Args:
        again: reads the settings again, at SIGHUP; what the policy lets change then changes.

    Raises:
        ClientscopeError: it can't start; says why and what to do.
    """
    pages.require_loopback("admin-listen", settings.admin_listen)
    topics.verify(settings.bootstrap_servers, [CONFIGS, CONNECTIONS])
    place = find_place(settings)
    uvloop.run(_serve(settings, place, again))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Gateway:
    """What the relays of one process share; all of it in one event loop."""

    connect_timeout_s = 10.0

    def __init__(self, settings: GatewaySettings, place: Place, metrics: GatewayMetrics, publisher: Publisher) -> None:
        self.upstream = split_address(settings.upstream)
        self._settings = settings
        name, version = settings.broker_software_name, settings.broker_software_version
        self._software = BrokerSoftware(name or None, version or None) if name or version else None
        self._alive_s = time.monotonic()
        self._upstream_failure = ""
        self.draining = False
        self._place = place
        self.registry = ConnectionRegistry(place)
        self._metrics = metrics
        self._publisher = publisher
        self._relays: dict[int, Relay] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._policy: PolicyRunner | None = None
        if settings.client_config_policy_class_name:
            shown = PolicyMetrics(metrics.registry, self.registry.instances)
            self._policy = PolicyRunner(PolicyPlan.of(settings), publisher.publish, metrics.count, shown)
        self._quota = PushQuota(
            Rate(settings.push_rate_per_client, settings.push_burst_per_client), Rate(settings.push_rate, settings.push_burst)
        )

    def session(self) -> Session | OpaqueSession:
        """A new connection's; without a policy PushConfig is neither advertised nor answered (KIP-1324)."""
        if self._place.tls:
            return OpaqueSession()
        return Session(self._policy is not None, self._settings.client_config_max_bytes, self._place.sasl, self._software)

    def refusal(self, address: str) -> str | None:
        """Why one more connection from this address is not taken (Kafka's max.connections, max.connections.per.ip)."""
        if len(self.registry.connections) >= self._settings.max_connections:
            return "max_connections"
        most = self._settings.max_connections_per_ip
        return "max_connections_per_ip" if most and self.registry.open_from(address) >= most else None

    async def watch_time(self) -> None:
        """Ends, for as long as the gateway runs, what overstays."""
        unauthenticated_s = self._settings.unauthenticated_timeout_ms / 1000
        idle_s = self._settings.connections_max_idle_ms / 1000
        while True:
            await asyncio.sleep(min(1.0, unauthenticated_s / 4, idle_s / 4))
            self._alive_s = time.monotonic()
            now_s = asyncio.get_running_loop().time()
            for relay in list(self._relays.values()):
                relay.check_time(now_s, unauthenticated_s, idle_s)

    def health(self) -> str:
        """What is wrong with this process, or nothing: its event loop turns. From any thread."""
        stuck_s = time.monotonic() - self._alive_s
        return f"the event loop has stood still for {stuck_s:.0f} s" if stuck_s > _STUCK_S else ""

    def readiness(self) -> str:
        """Why no further client should be sent here, or nothing. From any thread."""
        if self.draining:
            return "draining"
        return self.health() or (f"the broker took no connection: {self._upstream_failure}" if self._upstream_failure else "")

    def reached(self, failure: str = "") -> None:
        """The broker took a connection, or failed to."""
        self._upstream_failure = failure
        if failure:
            self.count("upstream_failures", failure)

    async def drain(self, stopping_again: asyncio.Event) -> None:
        """Lets each client have the answers that are under way, and then go; `drain_timeout_ms` at most."""
        self.draining = True
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + self._settings.drain_timeout_ms / 1000
        while self._relays and (now_s := loop.time()) < deadline_s and not stopping_again.is_set():
            for relay in list(self._relays.values()):
                relay.drain(now_s)
            await asyncio.sleep(0.05)

    async def beat(self) -> None:
        """Publishes all counts, for as long as the gateway runs, once an interval."""
        while True:
            self.heartbeat(self._settings.heartbeat_interval_ms)
            await asyncio.sleep(self._settings.heartbeat_interval_ms / 1000)

    def count(self, what: str, reason: str) -> None:
        """Adds one to a counter."""
        self._metrics.count(what, reason)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine in the background, and holds on to it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a task failed: %s", type(error).__name__, exc_info=error)

    def opened(self, relay: Relay, address: str) -> int:
        """A client has connected; returns its connection id."""
        connection_id, record = self.registry.opened(address, _now_ms())
        self._relays[connection_id] = relay
        self.count("connections_opened", self._place.listener_name)
        self._publish(record)
        return connection_id

    def identified(self, connection_id: int, identity: Identity) -> None:
        """A client has said who it is."""
        self._publish(self.registry.identified(connection_id, identity, _now_ms()))

    def closed(self, relay: Relay, reason: str) -> None:
        """A connection has ended."""
        self._relays.pop(relay.connection_id, None)
        self.count("connections_closed", reason)
        self._publish(self.registry.closed(relay.connection_id, reason, _now_ms()))

    def pushed(self, relay: Relay, push: Pushed) -> None:
        """A client has pushed: to the policy with it, and its verdict back to the relay."""
        self.run(self._judge(relay, push, ClientConfigData(push.configs, _now_ms())))

    async def _judge(self, relay: Relay, push: Pushed, data: ClientConfigData) -> None:
        context = self.registry.context(relay.connection_id)
        if context is None or self._policy is None:
            return
        if throttle_ms := self._quota.take(client_of(context), time.monotonic()):
            self.count("pushes_refused", "quota")
            relay.answer(push.token, Verdict(THROTTLING_QUOTA_EXCEEDED, "over the quota of pushes", throttle_ms))
        else:
            relay.answer(push.token, await self._policy.judge(context, data))

    async def start(self) -> None:
        """Starts the policy."""
        if self._policy is not None:
            await self._policy.start()

    async def reconfigure(self, again: Callable[[], GatewaySettings]) -> None:
        """Hands the policy its settings as they are now; whatever is wrong with them, the old ones stay."""
        try:
            configs = PolicyPlan.of(again()).configs
        except SettingsError as error:
            log.error("the settings stay as they were: %s", error)
            return
        if self._policy is not None and await self._policy.reconfigure(configs):
            log.warning("the policy has taken its settings again")

    def heartbeat(self, interval_ms: int) -> None:
        """Publishes all counts; 0 says that there will be no further heartbeat."""
        now_ms = _now_ms()
        for record in (*self.registry.present(now_ms), *self.registry.heartbeat(now_ms, interval_ms)):
            self._publish(record)

    def stop_tasks(self) -> None:
        """Cancels what runs in the background."""
        for task in self._tasks:
            task.cancel()

    def close_connections(self) -> None:
        """Ends every connection."""
        for relay in list(self._relays.values()):
            relay.end("gateway_stopping")

    async def close(self) -> None:
        """Lets the policy finish what waits."""
        if self._policy is not None:
            await self._policy.close()

    def _publish(self, record: ClientConnectionRecord | None) -> None:
        if record is not None:
            self._publisher.publish(CONNECTIONS, record.gateway_id, encode(record))


async def _serve(settings: GatewaySettings, place: Place, again: Callable[[], GatewaySettings]) -> None:
    loop = asyncio.get_running_loop()
    metrics = GatewayMetrics()
    publisher = Publisher(settings.bootstrap_servers, metrics.count)
    gateway = Gateway(settings, place, metrics, publisher)
    await gateway.start()
    labels = {"cluster": place.cluster_id, "broker": str(place.broker_id), "listener": place.listener_name}
    metrics.show_connections(gateway.registry.counts, labels)
    stop_metrics = pages.serve(
        "metrics-listen",
        settings.metrics_listen,
        {"/metrics": make_wsgi_app(metrics.registry), "/healthz": pages.probe(gateway.health), "/readyz": pages.probe(gateway.readiness)},
    )
    stop_admin = pages.serve("admin-listen", settings.admin_listen, {"/v1/connections": pages.listing(gateway.registry.listing)})
    stopping, stopping_again = asyncio.Event(), asyncio.Event()

    def stop() -> None:
        (stopping_again if stopping.is_set() else stopping).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, lambda: gateway.run(gateway.reconfigure(again)))
    host, port = split_address(settings.listen)
    try:
        server = await loop.create_server(lambda: Relay(gateway).protocol, host, port, backlog=1024)
    except OSError as error:
        raise EnvironmentProblem(
            f"listen: cannot listen on {settings.listen}: {error.strerror}", "stop what listens there, or choose another with --listen"
        ) from None
    if place.tls:
        log.warning("listener %s speaks TLS, which passes untouched: its clients are counted by address alone", place.listener_name)
    gateway.run(gateway.watch_time())
    gateway.run(gateway.beat())
    print(f"clientscope gateway: ready at {settings.listen}, in front of {settings.upstream}", flush=True)
    await stopping.wait()
    server.close()
    await gateway.drain(stopping_again)
    gateway.stop_tasks()
    gateway.close_connections()
    await asyncio.sleep(0)  # the transports' own last callbacks
    await gateway.close()
    gateway.heartbeat(0)
    lost = await asyncio.to_thread(publisher.close)
    if lost:
        log.warning("%d records were not acknowledged before the end", lost)
    stop_admin()
    stop_metrics()
