"""A cluster whose brokers advertise their own addresses, a gateway in front of it, and the peers that clients connect to."""

from __future__ import annotations

import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, KafkaError, Producer
from conftest import RunningGateway, running_brokers, running_gateway
from observe import children
from patience import LIMIT_S, until

from clientscope import topics
from clientscope.errors import EnvironmentProblem
from clientscope.local.broker import BrokerPlan, EmbeddedBroker, new_cluster_id
from clientscope.local.process import free_port

NODES = (1, 2, 3)
REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "3",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.num.partitions": "3",
    "auto.leader.rebalance.enable": "false",
}


def plan(node: int, folder: Path, voters: Mapping[int, int], cluster_id: str, extra: Mapping[str, str], direct: bool = True) -> BrokerPlan:
    """A broker whose listener CLIENT advertises its own address, as a managed cluster's does; or, if not ``direct``, a gateway's."""
    port = free_port()
    return BrokerPlan(
        port, free_port(), f"127.0.0.1:{port if direct else free_port()}", folder / str(node), free_port(),
        node_id=node, voters=voters, cluster_id=cluster_id, extra={**REPLICATED, **extra},
    )  # fmt: skip


@dataclass
class FixedCluster:
    """Brokers by node id."""

    folder: Path
    voters: Mapping[int, int]
    cluster_id: str
    brokers: dict[int, EmbeddedBroker] = field(default_factory=dict)
    added: ExitStack = field(default_factory=ExitStack)

    @property
    def ports(self) -> dict[int, int]:
        return {node: broker.plan.port for node, broker in self.brokers.items()}

    @property
    def clients(self) -> str:
        """Bootstrap servers of the listener that clients use, direct."""
        return ",".join(broker.plan.advertised for broker in self.brokers.values())

    @property
    def internal(self) -> str:
        """Bootstrap servers of the listener that only tests use."""
        return ",".join(broker.plan.internal for broker in self.brokers.values())

    def add(self, node: int, extra: Mapping[str, str] | None = None) -> None:
        """Starts one more broker, which is no controller."""
        made = plan(node, self.folder, {**self.voters, node: 0}, self.cluster_id, extra or {})
        only_a_broker = {
            "process.roles": "broker",
            "listeners": f"CLIENT://127.0.0.1:{made.port},INTERNAL://127.0.0.1:{made.internal_port}",
            "controller.quorum.voters": ",".join(f"{voter}@127.0.0.1:{port}" for voter, port in self.voters.items()),
        }
        broker = EmbeddedBroker(replace(made, extra={**made.extra, **only_a_broker}))
        self.brokers[node] = self.added.enter_context(broker)


@contextmanager
def running_cluster(folder: Path, extra: Mapping[str, str] | None = None, direct: bool = True) -> Iterator[FixedCluster]:
    """Three brokers, with clientscope's topics."""
    cluster = FixedCluster(folder, {node: free_port() for node in NODES}, new_cluster_id())
    plans = [plan(node, folder, cluster.voters, cluster.cluster_id, extra or {}, direct) for node in NODES]
    with running_brokers(plans) as brokers, cluster.added:
        cluster.brokers.update(zip(NODES, brokers, strict=True))

        def created() -> bool:
            with suppress(EnvironmentProblem):  # a broker that is asked may not know yet what another one has created
                topics.create(cluster.internal)
                return True
            return False

        until(created)
        yield cluster


def free_ports(number: int) -> range:
    """Ports in a row on which nothing listens."""
    while True:
        first = free_port()
        with suppress(OSError):
            for port in range(first, first + number):
                with socket.socket() as one:
                    one.bind(("127.0.0.1", port))
            return range(first, first + number)


@dataclass(frozen=True)
class InFront:
    """A gateway in front of a cluster, and which port each broker has."""

    gateway: RunningGateway
    ports: range

    def address(self, node: int) -> str:
        """A broker's address, as clients see it."""
        return f"127.0.0.1:{self.ports[node - 1]}"


@contextmanager
def gateway_in_front(bootstrap: str, folder: Path, *flags: str) -> Iterator[InFront]:
    """One gateway for all brokers of a cluster, whose ids begin at 1."""
    ports = free_ports(5)
    wanted = ("--broker-ports", f"{ports[0]}-{ports[-1]}", "--first-broker-id", "1", *flags)
    with running_gateway(bootstrap, "127.0.0.1:1", folder, *wanted) as running:
        yield InFront(running, ports)


@dataclass
class Load:
    """An idempotent producer of numbers, and a group that takes them, each in a thread of its own.

    Attributes:
        acknowledged: number → partition and offset, as the delivery report has them; the offset may be None.
        unsure: numbers whose delivery report is an error: each may be in the log, and if so once.
    """

    bootstrap: str
    topic: str
    partitions: int
    consumers: int = 1
    sent: int = 0
    acknowledged: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    unsure: list[int] = field(default_factory=list)
    fatal: list[str] = field(default_factory=list)
    taken: Counter[int] = field(default_factory=Counter)
    assignments: int = 0

    def __post_init__(self) -> None:
        self._stop_producing, self._stop_consuming = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._producing = threading.Thread(target=self._produce)
        self._consuming = [threading.Thread(target=self._consume) for _ in range(self.consumers)]

    def __enter__(self) -> Load:
        for thread in (self._producing, *self._consuming):
            thread.start()
        return self

    def goes_on(self) -> None:
        """Waits until both sides have made progress."""
        acknowledged, taken = len(self.acknowledged), len(self.taken)
        until(lambda: len(self.acknowledged) > acknowledged + 200 and len(self.taken) > taken + 200)

    def end_producing(self) -> None:
        self._stop_producing.set()
        self._producing.join()

    def __exit__(self, *_: object) -> None:
        self.end_producing()
        self._stop_consuming.set()
        for thread in self._consuming:
            thread.join()

    def _produce(self) -> None:
        def failed(error: KafkaError) -> None:
            if error.fatal():
                self.fatal.append(str(error))

        producer = Producer(
            {"bootstrap.servers": self.bootstrap, "enable.idempotence": True, "acks": "all", "client.id": "numbers", "error_cb": failed}
        )

        def report(number: int) -> Callable[[Any, Any], None]:
            def reported(error: Any, message: Any) -> None:
                if error:
                    self.unsure.append(number)
                else:
                    self.acknowledged[number] = message.partition(), message.offset()

            return reported

        while not self._stop_producing.wait(0.02):
            for _ in range(10):
                producer.produce(self.topic, str(self.sent), partition=self.sent % self.partitions, on_delivery=report(self.sent))
                self.sent += 1
            producer.poll(0)
        producer.flush(LIMIT_S)

    def _consume(self) -> None:
        def assigned(_consumer: Any, _partitions: Any) -> None:
            with self._lock:
                self.assignments += 1

        consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "numbers", "client.id": "taker", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([self.topic], on_assign=assigned)
        while not self._stop_consuming.is_set():
            for message in consumer.consume(500, 0.2):
                if message.error() is None:
                    with self._lock:
                        self.taken[int(message.value())] += 1
        consumer.close()


class Peers:
    """Ports, of a cluster and of the gateway in front of it, that processes have been connected to at any look."""

    def __init__(self, pids: Callable[[], set[int]], cluster: FixedCluster, in_front: InFront) -> None:
        self._pids, self._cluster, self._in_front = pids, cluster, in_front
        self.seen: set[int] = set()

    def look(self) -> None:
        """Looks once: `meanwhile`, and at a moment at which there certainly is a connection."""
        ports = {*self._cluster.ports.values(), *self._in_front.ports}
        for pid in self._pids():
            with suppress(psutil.NoSuchProcess):
                peers = [each.raddr for each in psutil.Process(pid).net_connections("tcp")]
                self.seen |= ports & {each.port for each in peers if each}


def client_pids(cluster: FixedCluster, gateway: RunningGateway) -> set[int]:
    """This process and its children, brokers and gateway apart."""
    others = {broker.pid for broker in cluster.brokers.values()} | {gateway.pid, *children(gateway.pid)}
    return {os.getpid(), *children(os.getpid())} - others
