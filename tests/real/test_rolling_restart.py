"""F14: three brokers, a gateway in front of each, and a rolling restart of all six under load."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from conftest import RunningGateway, running_processes
from fixed_cluster import NODES, FixedCluster, Load, running_cluster
from observe import make_topic, read_all
from patience import LIMIT_S, until

from clientscope.demo.fleet import Fleet
from clientscope.demo.watch import jmx_connections

pytestmark = pytest.mark.faults

TOPIC = "test.rolling"
PARTITIONS = 3
CONSUMERS = 2
IN_SYNC = {"min.insync.replicas": "2", "transaction.state.log.min.isr": "2", "share.coordinator.state.topic.min.isr": "2"}


@dataclass(frozen=True)
class Restarted:
    """Three brokers and their gateways, by node id."""

    cluster: FixedCluster
    gateways: dict[int, RunningGateway]
    processes: Fleet

    def start_gateway(self, node: int) -> None:
        plan = self.cluster.brokers[node].plan
        words = self.gateways[node].arguments(self.cluster.internal, f"127.0.0.1:{plan.port}", "--broker-id", str(node))
        self.processes.start(f"gateway-{node}", *words)
        self.processes.await_ready(f"gateway-{node}")

    def replicated(self) -> bool:
        """Whether each partition has all of its replicas in sync, so that any one broker may stop."""
        metadata = AdminClient({"bootstrap.servers": self.cluster.internal}).list_topics(timeout=LIMIT_S)
        found = [p for topic in metadata.topics.values() for p in topic.partitions.values()]
        return len(metadata.brokers) == len(NODES) and all(len(p.isrs) == len(p.replicas) == len(NODES) for p in found)

    def agree(self, node: int) -> bool:
        """Whether a gateway's gauges are its broker's own."""
        return self.gateways[node].connections == jmx_connections(self.cluster.brokers[node].plan.jmx_port)


@pytest.fixture(scope="module")
def restarted(folder: Path) -> Iterator[Restarted]:
    with running_cluster(folder, IN_SYNC, direct=False) as cluster, running_processes(folder / "gateways") as processes:
        gateways = {node: RunningGateway(broker.plan.advertised) for node, broker in cluster.brokers.items()}
        started = Restarted(cluster, gateways, processes)
        for node in NODES:
            started.start_gateway(node)
        yield started


def test_f14_a_rolling_restart_loses_and_doubles_nothing(restarted: Restarted) -> None:
    cluster = restarted.cluster
    make_topic(cluster.internal, TOPIC, PARTITIONS, len(NODES))
    restarts = 0
    with Load(cluster.clients, TOPIC, PARTITIONS, CONSUMERS) as load:
        until(lambda: len(load.acknowledged) > 500 and sum(load.taken.values()) > 500)
        for node in NODES:
            restarted.processes.signal(f"gateway-{node}", signal.SIGTERM)
            restarted.start_gateway(node)
            restarts += 1
            load.goes_on()
        for broker in cluster.brokers.values():
            until(restarted.replicated)
            broker.stop()
            broker.start()
            restarts += 1
            load.goes_on()
        load.end_producing()
        until(lambda: load.acknowledged.keys() <= load.taken.keys())
        records: dict[int, list[Any]] = {}
        for each in read_all(cluster.internal, TOPIC):
            records.setdefault(each.partition, []).append(each)
        for node in NODES:
            until(lambda node=node: restarted.agree(node), why=node)
        assert sum(sum(gateway.connections.values()) for gateway in restarted.gateways.values()) > 0

    # Every number has a report: acknowledged, or an error that leaves it open.
    assert load.sent == len(load.acknowledged) + len(load.unsure)
    assert load.fatal == []
    # Nothing is there twice, and each partition is in the order in which it was sent.
    for of_partition in records.values():
        numbers = [int(each.value) for each in of_partition]
        assert [number for number, times in Counter(numbers).items() if times > 1] == []
        assert [pair for pair in pairwise(numbers) if pair[0] > pair[1]] == []
    # What was acknowledged is there, and where the report said.  A retry that the broker had taken before is reported as delivered, without
    # an offset (rdkafka.h, rd_kafka_conf_set_dr_msg_cb).
    where = {int(each.value): (each.partition, each.offset) for of_partition in records.values() for each in of_partition}
    assert load.acknowledged.keys() <= where.keys()
    placed = {number: place for number, place in load.acknowledged.items() if place[1] is not None}
    assert {number: (place, where[number]) for number, place in placed.items() if where[number] != place} == {}
    # The group is at least once; it joined, and at most once more for each restart.
    assert load.acknowledged.keys() <= load.taken.keys()
    assert CONSUMERS <= load.assignments <= CONSUMERS * (2 + restarts)
