"""F42, F43: the memory and work that hostile clients can cause in a worker are bounded, counted and released; others are served.

In plain text and in TLS.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import kafka
import pytest
from certificates import Authority
from conftest import RunningGateway
from hostile_bytes import REFUSED, api_versions, flood, push
from http_attacks import connected
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from observe import WorkerMemory, connection_records, count, make_topic, workers
from patience import LIMIT_S, until
from test_data_path import fetch, unread_bytes
from tls_cluster import TOPIC as TLS_TOPIC
from tls_cluster import Cluster, in_front, raw, tls_cluster, upstream

pytestmark = pytest.mark.faults

MIB = 1024 * 1024
BUDGET = 32 * MIB
ROOM = 64 * MIB
TOPIC = "test.hostile"


@pytest.fixture(scope="module")
def topic(broker: Any) -> str:
    """Eight megabytes in one partition."""
    make_topic(broker.internal, TOPIC, **{"max.message.bytes": "10000000"})
    large_record(broker.internal, TOPIC)
    return TOPIC


def large_record(servers: str, topic: str) -> None:
    with kafka.KafkaProducer(bootstrap_servers=servers, max_request_size=10_000_000) as producer:
        producer.send(topic, bytes(8_000_000)).get(LIMIT_S)


@pytest.fixture(scope="module")
def bounded(broker: Any, folder: Path) -> Iterator[RunningGateway]:
    """A gateway whose connections may hold 32 MiB in all."""
    flags = ("--buffered-max-bytes", str(BUDGET))
    with broker.gateway(folder / "bounded", *flags) as running:
        yield running


def several(gateway: RunningGateway, stack: ExitStack, number: int) -> list[socket.socket]:
    return [stack.enter_context(connected(gateway.address)) for _ in range(number)]


def identify(clients: Iterable[socket.socket], name: bytes = b"name") -> None:
    for each in clients:
        each.sendall(api_versions(name))
        assert each.recv(10)


def others_are_served(gateway: RunningGateway) -> None:
    with gateway.named("other") as other:
        assert other.request(MetadataRequest(version=1, topics=None), MetadataResponse).brokers


def test_f42_refused_pushes_that_nobody_reads_the_answers_of_cost_nothing(bounded: Any) -> None:
    worker = WorkerMemory(bounded.pid)
    with ExitStack() as stack:
        attackers = several(bounded, stack, 8)
        identify(attackers, b"n" * 30_000)
        flood(attackers, REFUSED * 7_000, 3)
        worker.watch(1)
        others_are_served(bounded)
        until(lambda: count(bounded, "reads_held", "allowance") > 0)
        worker.stays_within(ROOM)


def test_f42_slow_readers_share_one_budget_and_the_memory_is_given_back(bounded: Any, topic: str) -> None:
    worker = WorkerMemory(bounded.pid)
    with ExitStack() as stack:
        readers = several(bounded, stack, 400)
        for each in readers:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.sendall(fetch(topic, 1))
        worker.watch(6)
        others_are_served(bounded)
        until(lambda: count(bounded, "connections_evicted", "budget") > 0)
        until(lambda: count(bounded, "reads_held", "budget") > 0)
        worker.stays_within(BUDGET + ROOM)
    until(lambda: worker.rss() - worker.before < ROOM // 2)
    others_are_served(bounded)


@pytest.mark.parametrize("attack", ["push", "rename", "tags"])
def test_f43_ten_connections_at_full_speed_leave_few_records_and_others_are_served(bounded: Any, broker: Any, attack: str) -> None:
    data = {
        "push": push(500) * 20,
        "rename": b"".join(api_versions(b"name-%d" % number) for number in range(1_000)),
        "tags": api_versions(b"many", tags=20_000) * 2,
    }[attack]
    before = len(connection_records(broker.internal, bounded.address))
    with ExitStack() as stack:
        attackers = several(bounded, stack, 10)
        flood(attackers, data, 4)
        others_are_served(bounded)
        until(lambda: count(bounded, "reads_held", "allowance") > 0)
    if attack == "rename":
        until(lambda: count(bounded, "identity_changes_held", "rate") > 0)
    others_are_served(bounded)
    # Opened, closed, eight identities and one each ten seconds; and a heartbeat a second.
    assert len(connection_records(broker.internal, bounded.address)) - before < 10 * 12 + 60


CONNECTIONS = 400
TLS_BUDGET, TLS_ROOM = 16 * MIB, 32 * MIB
"""Received bytes that aren't read yet wait in OpenSSL's buffers, which the budget doesn't count."""
BOUNDED = ("--buffered-max-bytes", str(TLS_BUDGET))


@pytest.fixture(scope="module")
def cluster(authority: Authority, folder: Path) -> Iterator[Cluster]:
    with tls_cluster(authority, folder / "broker") as running:
        yield running


def sockets(pid: int) -> int:
    return sum(os.readlink(path).startswith("socket:") for path in Path(f"/proc/{pid}/fd").iterdir())  # noqa: PTH115


def test_f42_clients_that_send_on_while_they_are_held(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    """270 MiB in uvloop's TLS, which keeps up to half a megabyte of each."""
    flags = [*authority.sign("gateway").flags(), *BOUNDED]
    with in_front(cluster, tmp_path, *flags) as gateway, ExitStack() as stack:
        attackers = [stack.enter_context(raw(gateway, authority, "attacker")).socket for _ in range(CONNECTIONS)]
        identify(attackers)
        worker = WorkerMemory(gateway.pid)
        flood(attackers, REFUSED * 7_000, 6)
        worker.watch(1)
        with raw(gateway, authority, "other") as other:
            assert other.api_versions("other", "1").error_code == 0
        until(lambda: count(gateway, "reads_held", "allowance") > 0)
        worker.stays_within(TLS_BUDGET + TLS_ROOM)


def test_f42_a_client_that_reads_nothing_and_then_speaks_no_tls_is_let_go(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    """What is unsent to it would otherwise keep its socket, and its place among the connections, for as long as it likes."""
    large_record(cluster.plan.internal, TLS_TOPIC)
    with in_front(cluster, tmp_path, *authority.sign("gateway").flags()) as gateway, ExitStack() as stack:
        bare = stack.enter_context(connected(gateway.address))
        own = stack.enter_context(socket.socket(fileno=os.dup(bare.fileno())))
        client = stack.enter_context(authority.context.wrap_socket(own, server_hostname="127.0.0.1"))
        identify([client])
        (worker,) = workers(gateway.pid)
        before = sockets(worker)
        for correlation_id in range(4):  # more than the kernel's buffers take
            client.sendall(fetch(TLS_TOPIC, correlation_id))
        until(lambda: gateway.connections, {("name", "1"): 1})
        until(lambda: unread_bytes(f"127.0.0.1:{cluster.plan.port}") > 0, why="the gateway reads no more from the broker")
        bare.sendall(b"no record of TLS at all")
        until(lambda: not gateway.connections)
        until(lambda: sockets(worker), before - 2, why="the client's, and the broker's")


def test_f42_a_brokers_answers_that_no_client_reads(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    large_record(cluster.plan.internal, TLS_TOPIC)
    with in_front(cluster, tmp_path, *upstream(authority), *BOUNDED, secure=True) as gateway, ExitStack() as stack:
        readers: list[socket.socket] = []
        while len(readers) < CONNECTIONS:  # a connection to the broker may take ten seconds, and 400 handshakes at once took more
            some = several(gateway, stack, 50)
            identify(some)
            readers += some
        worker = WorkerMemory(gateway.pid)
        for each in readers:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.sendall(fetch(TLS_TOPIC, 1))
        worker.watch(6)
        worker.stays_within(TLS_BUDGET + TLS_ROOM)
