"""The gateway: a listener, an upstream, and what they tell Kafka.

``run`` is the only entry point. Order of life: everything that can fail is tried before the port is opened; at SIGTERM or SIGINT the
port closes first, then the connections, each once its answers are out, then the publisher once it has been acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial

import uvloop
from prometheus_client import make_wsgi_app

from clientscope import pages, tokens, topics
from clientscope.config import GatewaySettings
from clientscope.errors import SettingsError
from clientscope.gateway import tls
from clientscope.gateway.brokers import KnownBrokers
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.place import Place, find_place
from clientscope.gateway.policy.guard import client_of
from clientscope.gateway.policy.metrics import PolicyMetrics
from clientscope.gateway.policy.runner import PolicyRunner
from clientscope.gateway.policy.worker import PolicyPlan
from clientscope.gateway.publisher import Publisher
from clientscope.gateway.quota import PushQuota
from clientscope.gateway.reconfiguring import changes, quotas
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.request_log import RequestLog
from clientscope.gateway.status import StatusTeller
from clientscope.gateway.tasks import Tasks
from clientscope.gateway.untold import Untold
from clientscope.gateway.worker import memory
from clientscope.gateway.worker.messages import Asked, Closed, Logged, Named, Opened, Report, Standing, WorkerPlan
from clientscope.gateway.worker.pool import Workers, listen
from clientscope.gateway.worker.template import Template
from clientscope.kafka_access import KafkaAccess
from clientscope.policy.interface import ClientConfigData
from clientscope.policy.redaction import DigestKey, Names
from clientscope.records.codec import ClientConnectionRecord, Kind, encode
from clientscope.records.topics import CONFIGS, CONNECTIONS, STATUS
from clientscope.session.state import Identity, Verdict
from clientscope.wire.codes import THROTTLING_QUOTA_EXCEEDED

log = logging.getLogger(__name__)

_STUCK_S = 10.0


def run(settings: GatewaySettings, again: Callable[[], GatewaySettings]) -> None:
    """Runs a gateway until SIGTERM or SIGINT.

    Args:
        again: reads the settings again, at SIGHUP.

    Raises:
        ClientscopeError: it can't start; says why and what to do.
    """
    memory.one_arena()
    pages.require_loopback("admin-listen", settings.admin_listen)
    if settings.admin_token_file is not None:
        tokens.read(settings.admin_token_file, "admin_token_file")
    if settings.digest_key_file is not None:
        DigestKey.read(settings.digest_key_file)  # the policy reads it again, and could say only later that it can't
    template = Template()
    try:
        tls.check_files(settings)
        topics.verify(KafkaAccess.of(settings), reads=[CONNECTIONS], writes=[CONFIGS, CONNECTIONS, STATUS])
        place = find_place(settings)
        uvloop.run(_serve(settings, place, template, again))
    finally:
        template.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Gateway:
    """What is known of all connections, and what is done with it; all of it in one event loop."""

    def __init__(
        self, settings: GatewaySettings, place: Place, names: Names, metrics: GatewayMetrics, publisher: Publisher, template: Template
    ) -> None:
        self._settings = settings
        self.brokers = KnownBrokers(settings, place.broker_id)
        self._alive_s = time.monotonic()
        self._draining = self.bypassed = False
        self._place = place
        self.registry = ConnectionRegistry(place, names=names, hidden=partial(metrics.count, "names_redacted"))
        self._metrics = metrics
        self._publisher = publisher
        self._untold = Untold()
        self._request_log = RequestLog.of(settings, place, metrics.count, lambda: self.registry.names)
        self._tasks = Tasks()
        self._policy: PolicyRunner | None = None
        if settings.client_config_policy_class_name:
            shown = PolicyMetrics(metrics.registry, self.registry.instances)
            self._policy = PolicyRunner(PolicyPlan.of(settings), publisher.publish, metrics.count, shown)
        self._quota = PushQuota(**quotas(settings))
        self._status = StatusTeller(place, self.registry, self.brokers, publisher, self.readiness, lambda: self.bypassed)
        self._template = template
        self._workers: Workers | None = None

    async def start(self) -> None:
        """Starts the policy, and then takes connections."""
        await asyncio.to_thread(self.brokers.look)
        if self._policy is not None:
            await self._policy.start()
        self._workers = Workers(self._template, self._plan(), listen(self._settings.listen, self._settings.workers), self)
        await self._workers.start()
        self._tasks.run(self._beat())
        self._tasks.run(self._watch_time())
        self._tasks.run(self.brokers.watch(self._replan))
        self._tasks.run(self._status.watch())
        self._tasks.run(self._status.watch_broker())

    def _plan(self) -> WorkerPlan:
        return WorkerPlan(0, self._settings, self._place, self.brokers.on_the_wire)

    def _replan(self) -> None:
        if self._workers is not None:
            self._workers.replan(self._plan())

    def bypass(self, on: bool) -> None:
        """Makes it a plain relay, which reads nothing of what passes; or takes that back, for connections that are opened from now on."""
        assert self._workers is not None
        if on != self.bypassed:
            log.warning("bypassed: every byte passes unread, and new clients have no name" if on else "new connections are read again")
            self.bypassed = on
            self._workers.bypass(on)

    def health(self) -> str:
        """What is wrong with this gateway, or nothing: its event loops turn. From any thread."""
        stuck_s = max(time.monotonic() - self._alive_s, self._workers.silent_s() if self._workers else 0.0)
        return f"an event loop has stood still for {stuck_s:.0f} s" if stuck_s > _STUCK_S else ""

    def readiness(self) -> str:
        """Why no further client should be sent here, or nothing. From any thread."""
        if self._draining:
            return "draining"
        failure = self._workers.upstream_failure() if self._workers else ""
        return self.health() or (f"the broker took no connection: {failure}" if failure else "")

    async def drain(self, stopping_again: asyncio.Event) -> None:
        """Lets each client have the answers that are under way, and then go; `drain_timeout_ms` at most."""
        assert self._workers is not None
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

    async def _beat(self) -> None:
        """Publishes all counts, for as long as the gateway runs, once an interval."""
        while True:
            self.heartbeat(self._settings.heartbeat_interval_ms)
            await asyncio.sleep(self._settings.heartbeat_interval_ms / 1000)

    # What workers report.

    def reported(self, report: Report, mine: Callable[[int], bool]) -> None:
        """Takes a worker's report in; the ids of its connections are ``mine``."""
        for (what, reason), number in report.counts.items():
            self._metrics.count(what, reason, number)
        if report.lag_s is not None:
            self._metrics.lagged("worker", report.lag_s)
        for event in report.events:
            match event:
                case Opened(connection_id, address, identity):
                    self._opened(connection_id, address, identity, report.at_ms)
                case Named(connection_id, identity):
                    self._publish(self.registry.identified(connection_id, identity, report.at_ms))
                case Closed(connection_id, reason):
                    self._closed(connection_id, reason, report.at_ms)
                case Asked():
                    self._tasks.run(self._judge(event, ClientConfigData(event.configs, event.received_ms)))
                case Logged():
                    if self._request_log is not None:
                        self._request_log.write(event)
                case Standing(connections):
                    self._stand(connections, mine, report.at_ms)

    def lost(self, mine: Callable[[int], bool]) -> None:
        """A worker has ended, and its connections with it."""
        now_ms = _now_ms()
        for connection_id in [number for number in self.registry.connections if mine(number)]:
            self._closed(connection_id, "gateway_stopping" if self._draining else "worker_lost", now_ms)

    def _opened(self, connection_id: int, address: str, identity: Identity | None, now_ms: int) -> None:
        self._metrics.count("connections_opened", self._place.listener_name)
        self._publish(self.registry.opened(connection_id, address, now_ms, identity))
        assert self._workers is not None
        # Each worker holds the limits for itself; here they are held for all together.
        most, settings = self._settings.max_connections_per_ip, self._settings
        if len(self.registry.connections) > settings.max_connections:
            self._workers.refuse(connection_id, "max_connections")
        elif most and self.registry.open_from(address) > most:
            self._workers.refuse(connection_id, "max_connections_per_ip")

    def _closed(self, connection_id: int, reason: str, now_ms: int) -> None:
        if (record := self.registry.closed(connection_id, reason, now_ms)) is not None:
            self._metrics.count("connections_closed", reason)
            self._publish(record)

    def _stand(self, connections: list[tuple[int, str, Identity]], mine: Callable[[int], bool], now_ms: int) -> None:
        """Makes good what a worker could not report."""
        open_ids = {connection_id for connection_id, _, _ in connections}
        for connection_id in [number for number in self.registry.connections if mine(number) and number not in open_ids]:
            self._closed(connection_id, "unseen", now_ms)
        for connection_id, address, identity in connections:
            if connection_id not in self.registry.connections:
                self._opened(connection_id, address, identity, now_ms)
            elif not self.registry.knows_as(connection_id, identity):
                self._publish(self.registry.identified(connection_id, identity, now_ms))

    async def _judge(self, asked: Asked, data: ClientConfigData) -> None:
        context = self.registry.context(asked.connection_id, asked.correlation_id)
        if context is None or self._policy is None or self._workers is None:
            return
        quota = self._quota
        if throttle_ms := quota.take(client_of(context), time.monotonic(), principal=context.principal, address=context.client_address):
            self._metrics.count("pushes_refused", quota.refused_by)
            verdict = Verdict(THROTTLING_QUOTA_EXCEEDED, "over the quota of pushes", throttle_ms)
        else:
            verdict = await self._policy.judge(context, data)
        self._workers.answer(asked.connection_id, asked.token, verdict)

    def hang_up(self, again: Callable[[], GatewaySettings]) -> None:
        """SIGHUP."""
        self._tasks.run(self._reconfigure(again))

    async def _reconfigure(self, again: Callable[[], GatewaySettings]) -> None:
        """Applies what may change while it runs, and names what needs a restart; whatever is wrong with the settings, the old ones stay."""
        try:
            settings = again()
            configs = PolicyPlan.of(settings).configs
        except SettingsError as error:
            log.error("the settings stay as they were: %s", error)
            return
        self._take(settings)
        self._reload_tls(settings)
        if self._policy is not None:
            if not await self._policy.reconfigure(configs):
                return
            log.warning("the policy has taken its settings again")
        try:
            self.registry.names = Names.of(settings.digest_key_file)
        except SettingsError as error:
            log.error("the digest key stays as it was: %s", error)

    def _take(self, settings: GatewaySettings) -> None:
        self._settings, applied, fixed = changes(self._settings, settings)
        if applied:
            self._quota.change(**quotas(self._settings))
            if self._policy is not None:
                self._policy.deadline_s = self._settings.policy_deadline_ms / 1000
            self._replan()
            log.warning("changed while the gateway runs: %s", ", ".join(applied))
        if fixed:
            log.warning("changed, but only a restart applies it: %s", ", ".join(fixed))

    def _reload_tls(self, settings: GatewaySettings) -> None:
        """For new connections; established ones keep what they have."""
        ends_here, upstream = tls.used(self._settings)
        if not (ends_here or upstream):
            return
        try:
            tls.reload(settings, ends_here, upstream)
        except SettingsError as error:
            log.error("the certificates stay as they were: %s", error)
        else:
            self._settings = self._settings.model_copy(update={name: getattr(settings, name) for name in tls.SETTINGS})
            self._replan()
            log.warning("certificates and keys have been read again; new connections use them")

    def heartbeat(self, interval_ms: int) -> None:
        """Publishes all counts; 0 says that there will be no further heartbeat."""
        now_ms = _now_ms()
        for record in (*self.registry.present(now_ms), *self.registry.heartbeat(now_ms, interval_ms)):
            self._publish(record)
        # After the counts, and never more than half of the room, so that what happens now finds some too.
        for record in self._untold.take_closed(self._publisher.room // 2):
            self._publish(record)
        for record in self.registry.again(self._untold.open(self._publisher.room // 2), now_ms):
            self._publish(record)

    async def close(self) -> None:
        """Ends every connection, and lets the policy finish what waits."""
        self._status.stopped()
        self._tasks.cancel()
        if self._workers is not None:
            await self._workers.end()
        if self._request_log is not None:
            await asyncio.to_thread(self._request_log.close)
        if self._policy is not None:
            await self._policy.close()

    def _publish(self, record: ClientConnectionRecord | None) -> None:
        if record is not None:
            done = self._publisher.publish(CONNECTIONS, record.gateway_id, encode(record))
            taken = not (done.done() and done.exception())
            self._untold.published(record, taken)
            if taken and record.kind != Kind.HEARTBEAT:
                done.add_done_callback(partial(self._settled, record, asyncio.get_running_loop()))

    def _settled(self, record: ClientConnectionRecord, loop: asyncio.AbstractEventLoop, done: Future[None]) -> None:
        """What was taken was acknowledged, or given up after all: the topic takes no such record. In the publisher's thread."""
        if done.exception() is not None:
            loop.call_soon_threadsafe(self._given_up, record)

    def _given_up(self, record: ClientConnectionRecord) -> None:
        if record.kind == Kind.CLOSED or record.connection_id in self.registry.connections:
            self._untold.published(record, taken=False)


async def _serve(settings: GatewaySettings, place: Place, template: Template, again: Callable[[], GatewaySettings]) -> None:
    loop = asyncio.get_running_loop()
    names = Names.of(settings.digest_key_file)
    metrics = GatewayMetrics()
    publisher = Publisher(KafkaAccess.of(settings), metrics.count, settings.publish_queue_records)
    gateway = Gateway(settings, place, names, metrics, publisher, template)
    labels = {"cluster": place.cluster_id, "broker": str(place.broker_id), "listener": place.listener_name}
    metrics.show_connections(gateway.registry.counts, labels)
    metrics.show_bypassed(lambda: gateway.bypassed)
    from clientscope.bounded_http import refusals  # noqa: PLC0415  see pages.serve

    refused = refusals(metrics.registry)
    stop_metrics = pages.serve(
        "metrics-listen",
        settings.metrics_listen,
        {"/metrics": make_wsgi_app(metrics.registry), "/healthz": pages.probe(gateway.health), "/readyz": pages.probe(gateway.readiness)},
        refused,
    )
    admin = {
        "/v1/connections": pages.listing(gateway.registry.listing),
        "/v1/brokers": pages.listing(gateway.brokers.listing),
        "/v1/bypass": pages.switch(
            lambda: gateway.bypassed,
            lambda on: loop.call_soon_threadsafe(gateway.bypass, on),
            settings.admin_token_file,
            refused,
        ),
    }
    stop_admin = pages.serve("admin-listen", settings.admin_listen, admin, refused)
    stopping, stopping_again = asyncio.Event(), asyncio.Event()

    def stop() -> None:
        (stopping_again if stopping.is_set() else stopping).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, gateway.hang_up, again)
    for number, on in ((signal.SIGUSR1, True), (signal.SIGUSR2, False)):
        loop.add_signal_handler(number, gateway.bypass, on)
    await gateway.start()
    for warning in place.warnings:
        log.warning("listener %s: %s", place.listener_name, warning)
    print(f"clientscope gateway: ready at {settings.listen}, in front of {settings.upstream}", flush=True)
    await stopping.wait()
    await gateway.drain(stopping_again)
    await gateway.close()
    gateway.heartbeat(0)
    lost = await asyncio.to_thread(publisher.close)
    if lost:
        log.warning("%d records were not acknowledged before the end", lost)
    stop_admin()
    stop_metrics()
