"""A cluster behind one gateway changes while clients run: a broker stops, another one comes, leaders move, an id has no port."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import confluent_kafka
import kafka
import pytest
from clients.java import DESERIALIZERS, JavaClient, each
from confluent_kafka.admin import AdminClient
from fixed_cluster import NODES, FixedCluster, InFront, Load, Peers, client_pids, gateway_in_front, running_cluster
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.protocol.admin import ElectionType
from observe import answers, connection_records, count, make_topic, metrics
from patience import LIMIT_S, eventually, meanwhile, until

from clientscope.model.enums import Kind

pytestmark = pytest.mark.matrix

TOPIC = "fixed.moving"
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[FixedCluster]:
    with running_cluster(folder / "moving-cluster") as running:
        yield running


@pytest.fixture(scope="module")
def in_front(cluster: FixedCluster, folder: Path) -> Iterator[InFront]:
    with gateway_in_front(cluster.clients, folder / "moving-gateway") as running:
        yield running


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


def connections(in_front: InFront) -> Counter[int]:
    """Clients of librdkafka at each broker."""
    found: Counter[int] = Counter()
    for labels, value in metrics(in_front.gateway.metrics_url).items():
        if labels[0] == "clientscope_gateway_client_connections" and "confluent" in labels[2]:
            found[int(labels[1])] += int(value)
    return found


@pytest.mark.timeout(500)
def test_brokers_come_and_go_while_clients_run(cluster: FixedCluster, in_front: InFront) -> None:
    make_topic(cluster.internal, TOPIC, PARTITIONS, 3)
    lead(cluster, TOPIC, [3, 1, 2])
    peers = Peers(lambda: client_pids(cluster, in_front.gateway), cluster, in_front)
    with meanwhile(peers.look), Load(in_front.gateway.address, TOPIC, PARTITIONS) as load:
        load.goes_on()
        until(lambda: connections(in_front)[3])

        cluster.brokers[3].stop()
        load.goes_on()

        assert not answers(in_front.ports[3])
        cluster.add(4)
        lead(cluster, TOPIC, [4, 1, 2])
        load.goes_on()
        until(lambda: connections(in_front)[4])

        cluster.add(9)  # beyond the ports
        through = AdminClient({"bootstrap.servers": in_front.gateway.address})
        direct = AdminClient({"bootstrap.servers": cluster.brokers[1].plan.internal})
        until(direct.list_topics(timeout=LIMIT_S).brokers.keys, {1, 2, 4, 9})
        until(through.list_topics(timeout=LIMIT_S).brokers.keys, {1, 2, 4})
        until(lambda: count(in_front.gateway, "addresses_left_out", "no_port") > 0)
        load.goes_on()

        until(lambda: not answers(in_front.ports[2]), why="the port of the broker that stopped is closed")
        said = connection_records(cluster.internal, f"{in_front.gateway.address}/3")
        assert said[-1].kind == Kind.HEARTBEAT and said[-1].heartbeat_interval_ms == 0, "its gauges have ended"
        cluster.brokers[3].start()
        lead(cluster, TOPIC, [3, 1, 2])
        load.goes_on()
        until(lambda: connections(in_front)[3], why="and opened again")
        load.end_producing()
        assert len(load.acknowledged) == load.sent
        until(lambda: load.taken.keys() == load.acknowledged.keys())
    cluster.brokers[9].stop()
    assert set(load.taken.values()) == {1}
    allowed = {*in_front.ports, int(in_front.gateway.address.split(":")[1])}
    internal = {port for port in peers.seen if port in cluster.ports.values()}
    assert not internal and peers.seen <= allowed
    assert in_front.gateway.probe("readyz")[0] == 200


@pytest.mark.timeout(300)
def test_a_broker_whose_port_another_process_has_is_not_shown_until_it_is_free(cluster: FixedCluster, in_front: InFront) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", in_front.ports[4]))
        other.listen()
        cluster.add(5)
        through = AdminClient({"bootstrap.servers": in_front.gateway.address})
        direct = AdminClient({"bootstrap.servers": cluster.brokers[1].plan.internal})
        until(lambda: 5 in direct.list_topics(timeout=LIMIT_S).brokers)
        until(
            lambda: (
                5 not in through.list_topics(timeout=LIMIT_S).brokers and count(in_front.gateway, "addresses_left_out", "closed_port") > 0
            )
        )
    until(lambda: 5 in through.list_topics(timeout=LIMIT_S).brokers)
    cluster.brokers[5].stop()


@pytest.mark.timeout(300)
def test_a_share_consumer_gets_every_record_while_leaders_move(cluster: FixedCluster, in_front: InFront) -> None:
    topic = "fixed.shared"
    make_topic(cluster.internal, topic, PARTITIONS, 3)
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

    peers = Peers(lambda: {client.jvm.process.pid}, cluster, in_front)
    with JavaClient(in_front.gateway.address, "client-4.4") as client, meanwhile(peers.look):
        settings = client._common(group_id="sharing", **DESERIALIZERS)
        with closing(client.kafka.clients.consumer.KafkaShareConsumer(settings)) as consumer:
            consumer.subscribe([topic])

            def take(until: int) -> bool:
                for record in each(client.poll(consumer)):
                    taken[int(record.value().split(" ")[0])] += 1
                return len(taken) >= until

            for leader in (1, 2, 3, 1):
                lead(cluster, topic, [leader, *(node for node in NODES if node != leader)])
                sent = produce(600)
                assert eventually(partial(take, sent)), (len(taken), sent)
    assert taken.keys() == set(range(sent))  # a record may come again: what is acknowledged to a former leader may be lost
    assert len(peers.seen) > 2 and peers.seen <= set(in_front.ports)
