"""Main process of the gateway: its parts, its start and its end.

``run`` is the only entry point. Order of life: everything that can fail is tried before the port is opened; at SIGTERM or SIGINT the
port closes first, then the connections, each once its answers are out, then the publisher once it has been acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from dataclasses import asdict

import uvloop

from clientscope import pages, tokens, topics
from clientscope.api.gateway import GATEWAY_CONNECTIONS
from clientscope.config import GatewaySettings
from clientscope.digest import DigestKey
from clientscope.gateway import tls
from clientscope.gateway.channel import Tasks
from clientscope.gateway.cluster import ClusterGateway, find_cluster_place
from clientscope.gateway.common import Common
from clientscope.gateway.gateway import Gateway
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.place import GatewayPlace, find_place
from clientscope.gateway.publisher import Publisher
from clientscope.gateway.reconfiguring import read_again
from clientscope.gateway.template import Template
from clientscope.gateway.upstream_cluster import require_same_cluster
from clientscope.gateway.worker import memory
from clientscope.kafka.access import KafkaAccess
from clientscope.model.topics import used_by

log = logging.getLogger(__name__)


def run(load: Callable[[], GatewaySettings]) -> None:
    """Runs a gateway until SIGTERM or SIGINT.

    Args:
        load: reads the settings; again, at SIGHUP.

    Raises:
        ClientscopeError: it can't start; says why and what to do.
    """
    memory.one_arena()
    template = Template()
    try:
        settings = load()
        _check(settings)
        place = find_cluster_place(settings) if settings.broker_ports else find_place(settings)
        require_same_cluster(settings, place)
        uvloop.run(_serve(settings, place, template, load))
    finally:
        template.close()


def _check(settings: GatewaySettings) -> None:
    pages.require_loopback("admin-listen", settings.admin_listen)
    if settings.admin_token_file is not None:
        tokens.read(settings.admin_token_file, "admin_token_file")
    if settings.digest_key_file is not None:
        DigestKey.read(settings.digest_key_file)  # the policy reads it again, and could say only later that it can't
    tls.load(settings)
    topics.verify(KafkaAccess.of(settings), *used_by("gateway", settings.client_telemetry))


async def _serve(settings: GatewaySettings, place: GatewayPlace, template: Template, again: Callable[[], GatewaySettings]) -> None:
    loop = asyncio.get_running_loop()
    metrics = GatewayMetrics()
    publisher = Publisher(KafkaAccess.of(settings), metrics.count, settings.publish_queue_records)
    common = Common.of(settings, place, template, metrics, publisher, lambda: gateway.instances())  # noqa: PLW0108  made below
    gateway = ClusterGateway(settings, place, common) if settings.broker_ports else Gateway(settings, place, common)
    metrics.show_bypassed(lambda: gateway.bypassed)
    from clientscope.bounded_http import refusals  # noqa: PLC0415  see pages.serve

    refused = refusals(metrics.registry)
    stop_metrics = pages.serve(
        "metrics-listen",
        settings.metrics_listen,
        {"/metrics": pages.metrics(metrics.registry), "/healthz": pages.probe(gateway.health), "/readyz": pages.probe(gateway.readiness)},
        refused,
    )
    admin = {
        "/v1/connections": pages.listing(lambda: GATEWAY_CONNECTIONS.dump_python(gateway.listing(), by_alias=True)),
        "/v1/brokers": pages.listing(lambda: [asdict(broker) for broker in gateway.brokers.listing()]),
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

    tasks = Tasks()

    def hang_up() -> None:
        """Whatever is wrong with the settings, the old ones stay."""
        if (settings := read_again(again)) is not None:
            gateway.take(settings)
            tasks.run(common.reconfigure(settings))

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    loop.add_signal_handler(signal.SIGHUP, hang_up)
    for number, on in ((signal.SIGUSR1, True), (signal.SIGUSR2, False)):
        loop.add_signal_handler(number, gateway.bypass, on)
    if common.policy is not None:
        await common.policy.start()
    await gateway.start()
    for warning in place.warnings:
        log.warning("listener %s: %s", place.listener_name, warning)
    print(f"clientscope gateway: ready at {settings.listen}, in front of {gateway.upstream}", flush=True)
    await stopping.wait()
    if gateway.problem is None:
        await gateway.drain(stopping_again)
    await gateway.close()
    await common.close()
    gateway.goodbye()
    lost = await asyncio.to_thread(common.last_records)
    if lost:
        log.warning("%d records were not acknowledged before the end", lost)
    stop_admin()
    stop_metrics()
    if gateway.problem is not None:
        raise gateway.problem
