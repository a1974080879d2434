"""Gateway in front of a whole cluster, whose addresses nobody may change: one port for each broker, and one for bootstrap.

Each broker has a `Gateway` of its own, with workers, a registry and an id in records (``<gateway id>/<broker id>``), so counts are per
broker. Workers replace the addresses in answers (`clientscope.session.addresses`). The bootstrap port is shared by all workers: the kernel
gives a connection there to one of them, and so to its broker.

A broker's port opens when the cluster first names it: in its answer to the gateway itself, asked for every 15 s, or in an answer that
passes. It closes once the cluster hasn't named the broker three times in a row and no client is connected to it.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import closing, suppress
from dataclasses import replace

from kafka.errors import KafkaError

from clientscope.api.gateway import GatewayConnection
from clientscope.clock import now_ms
from clientscope.config import GatewaySettings
from clientscope.config_types import split_address
from clientscope.errors import ClientscopeError, EnvironmentProblem, SettingsError
from clientscope.gateway import tls
from clientscope.gateway.brokers import KnownBrokers
from clientscope.gateway.channel import Tasks
from clientscope.gateway.common import Common
from clientscope.gateway.gateway import Gateway
from clientscope.gateway.place import GatewayPlace, next_epoch
from clientscope.gateway.reconfiguring import changes
from clientscope.gateway.worker.messages import BrokerFound, OpenPorts
from clientscope.gateway.worker.pool import listen
from clientscope.kafka.access import KafkaAccess
from clientscope.kafka.admin import connected, describe
from clientscope.session.ports import BrokerPorts

log = logging.getLogger(__name__)

_LOOK_S = 15.0
_ABSENCES = 3
_NO_BROKER = -1


def find_cluster_place(settings: GatewaySettings) -> GatewayPlace:
    """The cluster's place without a broker, from which each broker's is made.

    Raises:
        SettingsError: settings that don't go with ``broker_ports``.
        EnvironmentProblem: no broker answers.
    """
    BrokerPorts.of_settings(settings)
    for name in ("broker_jmx", "broker_id"):
        if getattr(settings, name) != type(settings).model_fields[name].default:
            raise SettingsError(f"{name} is of one broker, but broker_ports serve all of them", f"take {name} out")
    plan = tls.plan(settings, settings.security_protocol or settings.kafka_security_protocol)
    if plan.passes:
        raise SettingsError(
            "addresses can't be rewritten in TLS that passes untouched",
            "set ssl_certificate_location and upstream_ssl_ca_location, so that TLS ends at the gateway",
        )
    return GatewayPlace(
        cluster_id=_described(settings)[0],
        broker_id=_NO_BROKER,
        gateway_id=settings.gateway_id or settings.listen,
        gateway_epoch=now_ms(),
        listener_name=settings.listener_name,
        security_protocol=plan.clients,
        warnings=plan.warnings,
    )


def _described(settings: GatewaySettings) -> tuple[str, dict[int, tuple[str, int]]]:
    """The cluster's id, and host and port of each of its brokers that is up. Blocks.

    Raises:
        EnvironmentProblem: no broker answers.
        KafkaError: one refuses.
    """
    with closing(connected(KafkaAccess.of(settings), "clientscope-gateway-brokers")) as admin:
        cluster = describe(admin)
    return cluster.cluster_id, {broker.id: (broker.host, broker.port) for broker in cluster.brokers if not broker.fenced}


class ClusterGateway:
    """A `Gateway` for each broker of a cluster; all of it in one event loop.

    Args:
        place: the cluster's, as `find_cluster_place` gives it.

    Attributes:
        bypassed: never: without a look at answers, clients would get the brokers' own addresses.
    """

    bypassed = False
    problem = None

    def __init__(self, settings: GatewaySettings, place: GatewayPlace, common: Common) -> None:
        self._settings = settings
        self._place = place
        self._common = common
        self._ports = BrokerPorts.of_settings(settings)
        self._gateways: dict[int, Gateway] = {}
        self._brokers: dict[int, tuple[str, int]] = {}
        self._absences: dict[int, int] = {}
        self._unusable: set[int] = set()
        self._changing = asyncio.Lock()
        self._look_now = asyncio.Event()
        self._tasks = Tasks()
        self._listed = KnownBrokers(settings, _NO_BROKER)
        self._started = self._draining = False

    async def start(self) -> None:
        """Opens the port of each broker, and then the one for bootstrap.

        Raises:
            EnvironmentProblem: no broker answers, or a port is taken.
            SettingsError: no broker's id has a port.
        """
        for listener in listen(self._settings.listen, 1):  # another gateway may have it
            listener.close()
        await self._take(await asyncio.to_thread(self._look))
        if not self._gateways:
            ids = ", ".join(map(str, sorted(self._unusable)))
            raise SettingsError(
                f"no broker has a port: broker_ports {self._settings.broker_ports} have none for {ids}",
                "set broker_ports and first_broker_id so that there is a port for each of them",
            )
        self._started = True
        self._tasks.run(self._watch())

    # What the server asks of a gateway.

    @property
    def upstream(self) -> str:
        """The brokers, in a word or two."""
        return f"{len(self._gateways)} brokers of {self._settings.bootstrap_servers}"

    def listing(self) -> list[GatewayConnection]:
        """Every open connection. From any thread."""
        return [connection for gateway in list(self._gateways.values()) for connection in gateway.listing()]

    def instances(self) -> int:
        """Different clients with an instance id that are connected. From any thread."""
        return len({key for gateway in list(self._gateways.values()) for key in gateway.registry.instance_keys()})

    @property
    def brokers(self) -> KnownBrokers:
        """Every broker's software."""
        return next(iter(self._gateways.values())).brokers if self._gateways else self._listed

    def bypass(self, on: bool) -> None:
        """Refuses."""
        if on:
            log.error("not bypassed: with broker_ports clients would get the addresses of the brokers")

    def health(self) -> str:
        """What is wrong with this gateway, or nothing. From any thread."""
        return next(filter(None, (gateway.health() for gateway in list(self._gateways.values()))), "")

    def readiness(self) -> str:
        """Why no further client should be sent here, or nothing: one broker that takes connections is enough. From any thread."""
        if self._draining:
            return "draining"
        reasons = [gateway.readiness() for gateway in list(self._gateways.values())] or ["no broker is known"]
        return self.health() or ("" if "" in reasons else reasons[0])

    async def drain(self, stopping_again: asyncio.Event) -> None:
        """Lets each client have the answers that are under way, and then go."""
        self._draining = True
        await asyncio.gather(*(gateway.drain(stopping_again) for gateway in self._gateways.values()))

    def take(self, settings: GatewaySettings) -> None:
        """Applies what may change while it runs, and names what needs a restart."""
        self._tasks.run(self._reconfigure(settings))

    async def _reconfigure(self, settings: GatewaySettings) -> None:
        async with self._changing:
            fixed = changes(self._settings, settings).fixed
            if fixed:
                log.warning("changed, but only a restart applies it: %s", ", ".join(fixed))
            self._settings = settings.model_copy(update={name: getattr(self._settings, name) for name in fixed})
            for broker_id, gateway in self._gateways.items():
                gateway.take(self._settings_of(broker_id))

    def goodbye(self) -> None:
        """Says that there will be no further heartbeat."""
        for gateway in self._gateways.values():
            gateway.goodbye()

    async def close(self) -> None:
        """Ends every connection."""
        self._tasks.cancel()
        await asyncio.gather(*(gateway.close() for gateway in self._gateways.values()))

    # Brokers that come and go.

    async def _watch(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._look_now.wait(), _LOOK_S)
            self._look_now.clear()
            try:
                await self._take(await asyncio.to_thread(self._look))
            except (ClientscopeError, KafkaError, OSError) as error:
                log.warning("the cluster's brokers can't be asked for: %s", error)
            await asyncio.sleep(1.0)  # however often answers name what isn't known

    def _look(self) -> dict[int, tuple[str, int]]:
        return _described(self._settings)[1]

    def _found(self, found: BrokerFound) -> None:
        """An answer that passes names a broker that is new; or that has moved, of which the cluster is asked."""
        if found.broker_id in self._brokers:
            self._look_now.set()
        else:
            self._tasks.run(self._learn({found.broker_id: (found.host, found.port)}))

    async def _take(self, brokers: dict[int, tuple[str, int]]) -> None:
        """What the cluster has named now."""
        for broker_id in list(self._gateways):
            self._absences[broker_id] = 0 if broker_id in brokers else self._absences.get(broker_id, 0) + 1
        await self._learn(brokers)
        for broker_id, gateway in list(self._gateways.items()):
            if self._absences.get(broker_id, 0) >= _ABSENCES and not gateway.registry.connections:
                await self._close(broker_id)

    async def _learn(self, brokers: dict[int, tuple[str, int]]) -> None:
        async with self._changing:
            usable = {broker_id: address for broker_id, address in brokers.items() if self._usable(broker_id)}
            self._brokers |= usable
            new = [broker_id for broker_id in usable if broker_id not in self._gateways]
            for opened in await asyncio.gather(*(self._open(broker_id) for broker_id in new), return_exceptions=True):
                if isinstance(opened, EnvironmentProblem) and self._started:
                    log.error("a broker's port stays closed: %s", opened)
                elif isinstance(opened, BaseException):
                    raise opened
            self._replan()

    def _usable(self, broker_id: int) -> bool:
        if self._ports.of(broker_id) is not None:
            return True
        if broker_id not in self._unusable:
            log.error("broker %d has no port in broker_ports %s: clients don't see it", broker_id, self._settings.broker_ports)
            self._unusable.add(broker_id)
        return False

    async def _open(self, broker_id: int) -> None:
        settings = self._settings_of(broker_id)
        epoch = await asyncio.to_thread(next_epoch, KafkaAccess.of(settings), settings.gateway_id, now_ms())
        place = replace(self._place, broker_id=broker_id, gateway_id=settings.gateway_id, gateway_epoch=epoch)
        gateway = Gateway(settings, place, self._common, OpenPorts(self._ports, {}), self._found)
        bootstrap = listen(self._settings.listen, settings.workers, shared=True)
        try:
            await gateway.start(bootstrap)
        except EnvironmentProblem:
            for listener in bootstrap:
                listener.close()
            await gateway.close()
            raise
        self._gateways[broker_id] = gateway
        log.warning("broker %d at %s:%d has port %s", broker_id, *self._brokers[broker_id], settings.listen)

    def _replan(self) -> None:
        """Workers learn which ports are open, and where their broker is."""
        opened = OpenPorts(self._ports, {broker_id: self._brokers[broker_id] for broker_id in self._gateways})
        for broker_id, gateway in self._gateways.items():
            gateway.open(opened, _text(*self._brokers[broker_id]))

    async def _close(self, broker_id: int) -> None:
        async with self._changing:
            gateway = self._gateways.pop(broker_id)
            self._brokers.pop(broker_id, None)
            self._absences.pop(broker_id, None)
            self._replan()
            log.warning("broker %d is gone from the cluster; its port is closed", broker_id)
            await gateway.close()
            gateway.goodbye()

    def _settings_of(self, broker_id: int) -> GatewaySettings:
        """A broker's gateway's own settings."""
        address = self._ports.of(broker_id)
        assert address is not None
        host, _ = split_address(self._settings.listen)
        return self._settings.model_copy(
            update={
                "listen": _text(host, address[1]),
                "upstream": _text(*self._brokers[broker_id]),
                "gateway_id": f"{self._place.gateway_id}/{broker_id}",
            }
        )


def _text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
