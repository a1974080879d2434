"""A cluster behind one gateway changes while clients run: a broker stops, another one comes, leaders move, an id has no port."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial

import confluent_kafka
import kafka
import pytest
from clients.java import JavaClient, _each
from confluent_kafka.admin import AdminClient
from fixed_cluster import NODES, FixedCluster, InFront, Peers, client_pids, gateway_in_front, running_cluster
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.admin import ElectionType
from observe import answers, connection_records, metrics, page
from patience import LIMIT_S, eventually, until

from clientscope.records.enums import Kind

pytestmark = pytest.mark.matrix

TOPIC = "fixed.moving"
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FixedCluster]:
    with running_cluster(tmp_path_factory.mktemp("moving-cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def in_front(cluster: FixedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InFront]:
    with gateway_in_front(cluster, tmp_path_factory.mktemp("moving-gateway")) as running:
        yield running


def create(cluster: FixedCluster, topic: str) -> None:
    with kafka.KafkaAdminClient(bootstrap_servers=cluster.internal) as admin:
        admin.create_topics({topic: {"num_partitions": PARTITIONS, "replication_factor": 3}}, wait_for_metadata=True)


def leaders(cluster: FixedCluster, topic: str) -> dict[int, int]:
    found = AdminClient({"bootstrap.servers": cluster.internal}).list_topics(topic, timeout=LIMIT_S).topics[topic].partitions
    return {number: partition.leader for number, partition in found.items()}


def lead(cluster: FixedCluster, topic: str, replicas: list[int]) -> None:
    """Has the first of these brokers lead every partition."""
    with kafka.KafkaAdminClient(bootstrap_servers=cluster.internal) as admin:
        partitions = [kafka.TopicPartition(topic, number) for number in range(PARTITIONS)]
        admin.alter_partition_reassignments(dict.fromkeys(partitions, replicas))

        def moved() -> bool:
            admin.elect_leaders(ElectionType.PREFERRED, {topic: list(range(PARTITIONS))}, raise_errors=False)
            return set(leaders(cluster, topic).values()) == {replicas[0]}

        until(moved)


class Load:
    """An idempotent producer of numbers, and a group of one that takes them."""

    def __init__(self, address: str) -> None:
        self.acknowledged: set[int] = set()
        self.taken: Counter[int] = Counter()
        self.sent = 0
        self._address = address
        self._produced, self._over = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._produce), threading.Thread(target=self._consume)]

    def _produce(self) -> None:
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": self._address, "enable.idempotence": True, "linger.ms": 5, "delivery.timeout.ms": 120_000}
        )
        while not self._produced.is_set():
            number = self.sent
            self.sent += 1
            producer.produce(
                TOPIC, str(number).encode(), partition=number % PARTITIONS,
                on_delivery=lambda error, message, number=number: None if error else self.acknowledged.add(number),
            )  # fmt: skip
            producer.poll(0.005)
        producer.flush(LIMIT_S)
        producer.close()

    def _consume(self) -> None:
        settings = {"bootstrap.servers": self._address, "group.id": "moving", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = confluent_kafka.Consumer(settings)
        consumer.subscribe([TOPIC])
        while not self._over.is_set():
            message = consumer.poll(0.1)
            if message is not None and not message.error():
                self.taken[int(message.value())] += 1
        consumer.close()

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def more(self, number: int) -> bool:
        """Whether so many more are acknowledged in time."""
        wanted = len(self.acknowledged) + number
        return eventually(lambda: len(self.acknowledged) >= wanted)

    def all_taken(self) -> bool:
        """Whether all that was sent is acknowledged and taken, in time."""
        self._produced.set()
        self._threads[0].join()
        return len(self.acknowledged) == self.sent and eventually(lambda: self.taken.keys() == self.acknowledged)

    def __exit__(self, *_: object) -> None:
        self._produced.set()
        self._over.set()
        for thread in self._threads:
            thread.join()


def connections(in_front: InFront) -> Counter[int]:
    """Clients of librdkafka at each broker."""
    found: Counter[int] = Counter()
    for labels, value in metrics(in_front.gateway.metrics_url).items():
        if labels[0] == "clientscope_gateway_client_connections" and "confluent" in labels[2]:
            found[int(labels[1])] += int(value)
    return found


@pytest.mark.timeout(500)
def test_brokers_come_and_go_while_clients_run(cluster: FixedCluster, in_front: InFront) -> None:
    create(cluster, TOPIC)
    lead(cluster, TOPIC, [3, 1, 2])
    everywhere = lambda: {*cluster.ports.values(), *in_front.ports}  # noqa: E731
    with Peers(lambda: client_pids(cluster, in_front.gateway), everywhere) as peers, Load(in_front.gateway.address) as load:
        assert load.more(200)
        until(lambda: connections(in_front)[3])

        cluster.brokers[3].stop()
        assert load.more(200)

        assert not answers(in_front.ports[3])
        cluster.add(4, {})
        lead(cluster, TOPIC, [4, 1, 2])
        assert load.more(200)
        until(lambda: connections(in_front)[4])

        cluster.add(9, {})  # beyond the ports
        through = AdminClient({"bootstrap.servers": in_front.gateway.address})
        direct = AdminClient({"bootstrap.servers": cluster.brokers[1].plan.internal})
        until(direct.list_topics(timeout=LIMIT_S).brokers.keys, {1, 2, 4, 9})
        until(through.list_topics(timeout=LIMIT_S).brokers.keys, {1, 2, 4})
        no_port = ("clientscope_gateway_addresses_left_out_total", "no_port")
        until(lambda: metrics(in_front.gateway.metrics_url).get(no_port, 0) > 0)
        assert load.more(200)

        until(lambda: not answers(in_front.ports[2]), why="the port of the broker that stopped is closed")
        said = connection_records(cluster.internal, f"{in_front.gateway.address}/3")
        assert said[-1].kind == Kind.HEARTBEAT and said[-1].heartbeat_interval_ms == 0, "its gauges have ended"
        cluster.brokers[3].start()
        lead(cluster, TOPIC, [3, 1, 2])
        assert load.more(200)
        until(lambda: connections(in_front)[3], why="and opened again")
        assert load.all_taken()
    cluster.brokers[9].stop()
    assert set(load.taken.values()) == {1}
    allowed = {*in_front.ports, int(in_front.gateway.address.split(":")[1])}
    internal = {port for port in peers.seen if port in cluster.ports.values()}
    assert not internal and peers.seen <= allowed
    assert page(in_front.gateway.metrics_url.replace("/metrics", "/readyz"))[0] == 200


@pytest.mark.timeout(300)
def test_a_broker_whose_port_another_process_has_is_not_shown_until_it_is_free(cluster: FixedCluster, in_front: InFront) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", in_front.ports[4]))
        other.listen()
        cluster.add(5, {})
        through = AdminClient({"bootstrap.servers": in_front.gateway.address})
        direct = AdminClient({"bootstrap.servers": cluster.brokers[1].plan.internal})
        until(lambda: 5 in direct.list_topics(timeout=LIMIT_S).brokers)
        closed = ("clientscope_gateway_addresses_left_out_total", "closed_port")
        until(lambda: 5 not in through.list_topics(timeout=LIMIT_S).brokers and metrics(in_front.gateway.metrics_url).get(closed, 0) > 0)
    until(lambda: 5 in through.list_topics(timeout=LIMIT_S).brokers)
    cluster.brokers[5].stop()


@pytest.mark.timeout(300)
def test_a_share_consumer_gets_every_record_while_leaders_move(cluster: FixedCluster, in_front: InFront) -> None:
    topic = "fixed.shared"
    create(cluster, topic)
    with kafka.KafkaAdminClient(bootstrap_servers=cluster.internal) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, "sharing", {"share.auto.offset.reset": "earliest"})])
    producer = confluent_kafka.Producer({"bootstrap.servers": in_front.gateway.address})
    taken: Counter[int] = Counter()
    sent = 0

    def produce(number: int) -> int:
        for n in range(number):
            producer.produce(topic, b"%d " % (sent + n) + b"x" * 5000, partition=n % PARTITIONS)
        assert producer.flush(LIMIT_S) == 0
        return sent + number

    everywhere = lambda: {*cluster.ports.values(), *in_front.ports}  # noqa: E731
    with JavaClient(in_front.gateway.address, "client-4.4") as client, Peers(lambda: {client._process.pid}, everywhere) as peers:
        string = "org.apache.kafka.common.serialization.StringDeserializer"
        settings = client._common(group_id="sharing", key_deserializer=string, value_deserializer=string)
        with client._closing(client.kafka.clients.consumer.KafkaShareConsumer(settings)) as consumer:
            consumer.subscribe([topic])

            def take(until: int) -> bool:
                for record in _each(consumer.poll(client._gateway.jvm.java.time.Duration.ofMillis(200))):
                    taken[int(record.value().split(" ")[0])] += 1
                return len(taken) >= until

            for leader in (1, 2, 3, 1):
                lead(cluster, topic, [leader, *(node for node in NODES if node != leader)])
                sent = produce(600)
                assert eventually(partial(take, sent)), (len(taken), sent)
    assert taken.keys() == set(range(sent))  # a record may come again: what is acknowledged to a former leader may be lost
    assert len(peers.seen) > 2 and peers.seen <= set(in_front.ports)
