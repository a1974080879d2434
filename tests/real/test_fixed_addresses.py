"""One gateway for a whole cluster whose brokers advertise their own addresses: clients get the same as direct, and connect to it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from clients.java import JavaClient
from clients.process import FranzGo, KafkaJS, Sarama
from clients.python import Aiokafka, Confluent, KafkaPython
from clients.script import RECORDS, Client, variants, work
from fixed_cluster import FixedCluster, InFront, Peers, client_pids, gateway_in_front, running_cluster

from clientscope.local.jars import JAVA_CLIENTS

CLIENTS: dict[str, Callable[[str], Client]] = {
    "kafka-python": KafkaPython,
    "aiokafka": Aiokafka,
    "confluent-kafka": Confluent,
    "franz-go": FranzGo,
    "sarama": Sarama,
    "kafkajs": KafkaJS,
    **{f"java {name.removeprefix('client-')}": partial(JavaClient, configuration=name) for name in JAVA_CLIENTS},
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FixedCluster]:
    with running_cluster(tmp_path_factory.mktemp("fixed-cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def in_front(cluster: FixedCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[InFront]:
    with gateway_in_front(cluster, tmp_path_factory.mktemp("fixed-gateway")) as running:
        yield running


@pytest.mark.timeout(600)  # the first run on a machine downloads and compiles clients
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_gets_the_same_through_one_gateway_and_connects_to_it_alone(cluster: FixedCluster, in_front: InFront, name: str) -> None:
    def peers() -> Peers:
        return Peers(lambda: client_pids(cluster, in_front.gateway), lambda: {*cluster.ports.values(), *in_front.ports})

    with CLIENTS[name](cluster.brokers[1].plan.advertised) as client:
        with peers() as direct_peers:
            direct = work(client, "direct")
        client.address = in_front.address(1)
        with peers() as through_peers:
            through = work(client, "through")
        ways = list(variants(client, ""))
    assert through == direct
    assert [key for key in direct if key.endswith("failed")] == ["unknown topic failed"]
    assert len(direct["consumed"]) == RECORDS * (len(ways) - 1)
    assert len(direct["described"]["nodes"]) == 3
    assert direct_peers.seen <= set(cluster.ports.values())
    assert len(direct_peers.seen) > 1, "it is seen where a client connects to"
    assert through_peers.seen <= set(in_front.ports)
    assert len(through_peers.seen) > 1
