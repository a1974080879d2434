"""F14: three brokers, a gateway in front of each, and a rolling restart of all six under load."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from observe import gateway_connections
from patience import LIMIT_S, until

from clientscope import topics
from clientscope.demo.fleet import Fleet
from clientscope.demo.watch import jmx_connections
from clientscope.local.broker import BrokerPlan, EmbeddedBroker, new_cluster_id
from clientscope.local.process import free_port

pytestmark = pytest.mark.faults

NODES = (1, 2, 3)
TOPIC = "test.rolling"
PARTITIONS = 3
CONSUMERS = 2
REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
}


@dataclass(frozen=True)
class Cluster:
    """Three brokers and their gateways, by node id."""

    brokers: dict[int, EmbeddedBroker]
    metrics_urls: dict[int, str]
    gateways: Fleet

    @property
    def internal(self) -> str:
        return ",".join(broker.plan.internal for broker in self.brokers.values())

    @property
    def clients(self) -> str:
        return ",".join(broker.plan.advertised for broker in self.brokers.values())

    def start_gateway(self, node: int) -> None:
        plan = self.brokers[node].plan
        self.gateways.start(
            f"gateway-{node}", "gateway", "--bootstrap-servers", self.internal, "--listen", plan.advertised,
            "--upstream", f"127.0.0.1:{plan.port}", "--broker-id", str(node), "--heartbeat-interval-ms", "1000",
            "--admin-listen", "127.0.0.1:0",
            "--metrics-listen", self.metrics_urls[node].removeprefix("http://").removesuffix("/metrics"),
        )  # fmt: skip
        self.gateways.await_ready(f"gateway-{node}")

    def replicated(self) -> bool:
        """Whether each partition has all of its replicas in sync, so that any one broker may stop."""
        metadata = AdminClient({"bootstrap.servers": self.internal}).list_topics(timeout=LIMIT_S)
        found = [p for topic in metadata.topics.values() for p in topic.partitions.values()]
        return len(metadata.brokers) == len(NODES) and all(len(p.isrs) == len(p.replicas) == len(NODES) for p in found)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    data_dir = tmp_path_factory.mktemp("cluster")
    voters = {node: free_port() for node in NODES}
    cluster_id = new_cluster_id()
    brokers = {
        node: EmbeddedBroker(
            BrokerPlan(
                free_port(), free_port(), f"127.0.0.1:{free_port()}", data_dir / str(node), free_port(),
                node_id=node, voters=voters, cluster_id=cluster_id, extra=REPLICATED,
            )
        )
        for node in NODES
    }  # fmt: skip
    urls = {node: f"http://127.0.0.1:{free_port()}/metrics" for node in NODES}
    started = Cluster(brokers, urls, Fleet(data_dir / "gateways", lambda line: None))
    try:
        for broker in brokers.values():
            broker.launch()
        for broker in brokers.values():
            broker.await_up()
        topics.create(started.internal)
        for node in NODES:
            started.start_gateway(node)
        yield started
    finally:
        started.gateways.stop()
        # At once: the last of a quorum would wait in vain for the others.
        with ThreadPoolExecutor() as pool:
            list(pool.map(EmbeddedBroker.stop, brokers.values()))


@dataclass
class Load:
    """An idempotent producer of numbers, and a group that takes them, each in a thread of its own.

    Attributes:
        acknowledged: number → partition and offset, as the delivery report has them; the offset may be None.
        unsure: numbers whose delivery report is an error: each may be in the log, and if so once.
    """

    bootstrap: str
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
        self._consuming = [threading.Thread(target=self._consume) for _ in range(CONSUMERS)]

    def __enter__(self) -> Load:
        for thread in (self._producing, *self._consuming):
            thread.start()
        return self

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
                producer.produce(TOPIC, str(self.sent), partition=self.sent % PARTITIONS, on_delivery=report(self.sent))
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
        consumer.subscribe([TOPIC], on_assign=assigned)
        while not self._stop_consuming.is_set():
            for message in consumer.consume(500, 0.2):
                if message.error() is None:
                    with self._lock:
                        self.taken[int(message.value())] += 1
        consumer.close()


def read_log(bootstrap: str) -> dict[int, list[tuple[int, int]]]:
    """Partition → its records' offsets and numbers, read from the brokers themselves."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "oracle", "enable.auto.commit": False, "enable.partition.eof": True})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    log: dict[int, list[tuple[int, int]]] = {partition: [] for partition in range(PARTITIONS)}
    ended: set[int] = set()
    deadline = time.monotonic() + 30
    while len(ended) < PARTITIONS and time.monotonic() < deadline:
        for message in consumer.consume(500, 0.5):
            if message.error() is None:
                log[message.partition()].append((message.offset(), int(message.value())))
            elif message.error().code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
    consumer.close()
    assert len(ended) == PARTITIONS
    return log


def test_f14_a_rolling_restart_loses_and_doubles_nothing(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.internal})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, len(NODES))])[TOPIC].result(LIMIT_S)
    restarts = 0
    with Load(cluster.clients) as load:
        until(lambda: len(load.acknowledged) > 500 and sum(load.taken.values()) > 500)
        for node in NODES:
            cluster.gateways.signal(f"gateway-{node}", signal.SIGTERM)
            cluster.start_gateway(node)
            restarts += 1
            went_on(load)
        for broker in cluster.brokers.values():
            until(cluster.replicated)
            broker.stop()
            broker.start()
            restarts += 1
            went_on(load)
        load.end_producing()
        until(lambda: load.acknowledged.keys() <= load.taken.keys())
        log = read_log(cluster.internal)
        for node, broker in cluster.brokers.items():
            until(lambda n=node, b=broker: agree(cluster, n, b), why=node)
        assert sum(sum(gateway_connections(url).values()) for url in cluster.metrics_urls.values()) > 0

    # Every number has a report: acknowledged, or an error that leaves it open.
    assert load.sent == len(load.acknowledged) + len(load.unsure)
    assert load.fatal == []
    # Nothing is there twice, and each partition is in the order in which it was sent.
    for records in log.values():
        numbers = [number for _, number in records]
        assert [number for number, times in Counter(numbers).items() if times > 1] == []
        assert [pair for pair in pairwise(numbers) if pair[0] > pair[1]] == []
    # What was acknowledged is there, and where the report said.  A retry that the broker had taken before is reported as delivered, without
    # an offset (rdkafka.h, rd_kafka_conf_set_dr_msg_cb).
    where = {number: (partition, offset) for partition, records in log.items() for offset, number in records}
    assert load.acknowledged.keys() <= where.keys()
    placed = {number: place for number, place in load.acknowledged.items() if place[1] is not None}
    assert {number: (place, where[number]) for number, place in placed.items() if where[number] != place} == {}
    # The group is at least once; it joined, and at most once more for each restart.
    assert load.acknowledged.keys() <= load.taken.keys()
    assert CONSUMERS <= load.assignments <= CONSUMERS * (2 + restarts)
    print(f"sent {load.sent}, unsure {len(load.unsure)}, taken again {load.taken.total() - len(load.taken)}, assigned {load.assignments}")


def went_on(load: Load) -> None:
    """After a restart both sides make progress again."""
    acknowledged, taken = len(load.acknowledged), len(load.taken)
    until(lambda: len(load.acknowledged) > acknowledged + 200 and len(load.taken) > taken + 200)


def agree(cluster: Cluster, node: int, broker: EmbeddedBroker) -> bool:
    """Whether a gateway's gauges are its broker's own."""
    return gateway_connections(cluster.metrics_urls[node]) == jmx_connections(broker.plan.jmx_port)
