"""F42 with TLS: received bytes that aren't read yet wait in OpenSSL's buffers, which the budget doesn't count."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import kafka
import pytest
from certificates import Authority
from hostile_bytes import REFUSED, api_versions, flood
from observe import WorkerMemory, count, gateway_connections, workers
from patience import LIMIT_S, until
from test_data_path import fetch, unread_bytes
from tls_cluster import TOPIC, Cluster, connect, in_front, raw, tls_cluster, upstream

pytestmark = pytest.mark.faults

MIB = 1024 * 1024
BUDGET, ROOM = 16 * MIB, 32 * MIB
CONNECTIONS = 400
BOUNDED = ("--buffered-max-bytes", str(BUDGET))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def cluster(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with tls_cluster(authority, tmp_path_factory.mktemp("broker")) as running:
        yield running


def large_record(cluster: Cluster) -> None:
    with closing(kafka.KafkaProducer(bootstrap_servers=cluster.plan.internal, max_request_size=10_000_000)) as producer:
        producer.send(TOPIC, bytes(8_000_000)).get(LIMIT_S)


def sockets(pid: int) -> int:
    return sum(os.readlink(path).startswith("socket:") for path in Path(f"/proc/{pid}/fd").iterdir())  # noqa: PTH115


def test_f42_clients_that_send_on_while_they_are_held(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    """270 MiB in uvloop's TLS, which keeps up to half a megabyte of each."""
    flags = [*authority.sign("gateway").flags(), *BOUNDED]
    context = ssl.create_default_context(cafile=str(authority.certificate))
    with in_front(cluster, tmp_path, *flags) as gateway, ExitStack() as stack:
        attackers = [stack.enter_context(context.wrap_socket(connect(gateway), server_hostname="127.0.0.1")) for _ in range(CONNECTIONS)]
        for each in attackers:
            each.sendall(api_versions(b"name"))
            assert each.recv(10)
        worker = WorkerMemory(gateway.pid)
        flood(list[socket.socket](attackers), REFUSED * 7_000, 6)
        worker.watch(1)
        with raw(gateway, authority, "other") as other:
            assert other.api_versions("other", "1").error_code == 0
        until(lambda: count(gateway, "reads_held", "allowance") > 0)
        worker.stays_within(BUDGET + ROOM)


def test_f42_a_client_that_reads_nothing_and_then_speaks_no_tls_is_let_go(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    """What is unsent to it would otherwise keep its socket, and its place among the connections, for as long as it likes."""
    large_record(cluster)
    context = ssl.create_default_context(cafile=str(authority.certificate))
    with in_front(cluster, tmp_path, *authority.sign("gateway").flags()) as gateway, ExitStack() as stack:
        bare = stack.enter_context(connect(gateway))
        own = stack.enter_context(socket.socket(fileno=os.dup(bare.fileno())))
        client = stack.enter_context(context.wrap_socket(own, server_hostname="127.0.0.1"))
        client.sendall(api_versions(b"name"))
        assert client.recv(10)
        (worker,) = workers(gateway.pid)
        before = sockets(worker)
        for correlation_id in range(4):  # more than the kernel's buffers take
            client.sendall(fetch(TOPIC, correlation_id))
        until(lambda: gateway_connections(gateway.metrics_url), {("name", "1"): 1})
        until(lambda: unread_bytes(f"127.0.0.1:{cluster.plan.port}") > 0, why="the gateway reads no more from the broker")
        bare.sendall(b"no record of TLS at all")
        until(lambda: not gateway_connections(gateway.metrics_url))
        until(lambda: sockets(worker), before - 2, why="the client's, and the broker's")


def test_f42_a_brokers_answers_that_no_client_reads(cluster: Cluster, authority: Authority, tmp_path: Path) -> None:
    large_record(cluster)
    with in_front(cluster, tmp_path, *upstream(authority), *BOUNDED, secure=True) as gateway, ExitStack() as stack:
        readers = [stack.enter_context(connect(gateway)) for _ in range(CONNECTIONS)]
        for each in readers:
            each.sendall(api_versions(b"name"))
            assert each.recv(10)
        worker = WorkerMemory(gateway.pid)
        for each in readers:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            each.sendall(fetch(TOPIC, 1))
        worker.watch(6)
        worker.stays_within(BUDGET + ROOM)
