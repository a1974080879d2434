"""F42, F43: the memory and work that hostile clients can cause in a worker are bounded, counted and released; others are served."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import kafka
import pytest
from conftest import RunningGateway, running_gateway
from hostile_bytes import REFUSED, api_versions, flood, push
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from observe import WorkerMemory, connection_records, count
from patience import LIMIT_S, until
from test_data_path import fetch

from clientscope.client.raw import RawClient

pytestmark = pytest.mark.faults

MIB = 1024 * 1024
BUDGET = 32 * MIB
ROOM = 64 * MIB
TOPIC = "test.hostile"


@pytest.fixture(scope="module")
def topic(broker: Any) -> str:
    """Eight megabytes in one partition."""
    with closing(kafka.KafkaAdminClient(bootstrap_servers=broker.internal)) as admin:
        admin.create_topics({TOPIC: {"num_partitions": 1, "configs": {"max.message.bytes": "10000000"}}}, wait_for_metadata=True)
    with closing(kafka.KafkaProducer(bootstrap_servers=broker.internal, max_request_size=10_000_000)) as producer:
        producer.send(TOPIC, bytes(8_000_000)).get(LIMIT_S)
    return TOPIC


@pytest.fixture(scope="module")
def bounded(broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """A gateway whose connections may hold 32 MiB in all."""
    flags = ("--buffered-max-bytes", str(BUDGET))
    with running_gateway(broker.internal, broker.client, tmp_path_factory.mktemp("bounded"), *flags) as running:
        yield running


def connected(gateway: RunningGateway, stack: ExitStack, number: int, receive_buffer: int = 0) -> list[socket.socket]:
    host, port = gateway.address.split(":")
    found = []
    for _ in range(number):
        one = socket.socket()
        if receive_buffer:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        one.connect((host, int(port)))
        found.append(stack.enter_context(one))
    return found


def others_are_served(gateway: RunningGateway) -> None:
    with RawClient.connect(gateway.address, "other") as other:
        assert other.api_versions("other", "1").error_code == 0
        assert other.request(MetadataRequest(version=1, topics=None), MetadataResponse).brokers


def test_f42_refused_pushes_that_nobody_reads_the_answers_of_cost_nothing(bounded: Any) -> None:
    worker = WorkerMemory(bounded.pid)
    with ExitStack() as stack:
        attackers = connected(bounded, stack, 8)
        for each in attackers:
            each.sendall(api_versions(b"n" * 30_000))
            assert each.recv(10)
        flood(attackers, REFUSED * 7_000, 3)
        worker.watch(1)
        others_are_served(bounded)
        until(lambda: count(bounded, "reads_held", "allowance") > 0)
        worker.stays_within(ROOM)


def test_f42_slow_readers_share_one_budget_and_the_memory_is_given_back(bounded: Any, topic: str) -> None:
    worker = WorkerMemory(bounded.pid)
    with ExitStack() as stack:
        readers = connected(bounded, stack, 400, receive_buffer=4096)
        for each in readers:
            each.sendall(fetch(topic, 1))
        worker.watch(6)
        others_are_served(bounded)
        until(lambda: count(bounded, "connections_evicted", "budget") > 0)
        until(lambda: count(bounded, "reads_held", "budget") > 0)
        worker.stays_within(BUDGET + ROOM)
    until(lambda: worker.rss() - worker.before < ROOM // 2)
    others_are_served(bounded)


def test_f42_frames_that_never_become_whole_share_it_too(bounded: Any) -> None:
    worker = WorkerMemory(bounded.pid)
    with ExitStack() as stack:
        for each in connected(bounded, stack, 1_000):
            each.sendall(api_versions(b"x"))
            with suppress(OSError):  # as many as the budget holds
                each.sendall(struct.pack(">ihhi", 65_000, 18, 3, 2) + bytes(60_000))
        worker.watch(5)
        others_are_served(bounded)
        worker.stays_within(BUDGET + ROOM)
    until(lambda: worker.rss() - worker.before < ROOM // 2)


@pytest.mark.parametrize("attack", ["push", "rename", "tags"])
def test_f43_ten_connections_at_full_speed_leave_few_records_and_others_are_served(bounded: Any, broker: Any, attack: str) -> None:
    data = {
        "push": push(500) * 20,
        "rename": b"".join(api_versions(b"name-%d" % number) for number in range(1_000)),
        "tags": api_versions(b"many", tags=20_000) * 2,
    }[attack]
    before = len(connection_records(broker.internal, bounded.address))
    with ExitStack() as stack:
        attackers = connected(bounded, stack, 10)
        flood(attackers, data, 4)
        others_are_served(bounded)
        until(lambda: count(bounded, "reads_held", "allowance") > 0)
    if attack == "rename":
        until(lambda: count(bounded, "identity_changes_held", "rate") > 0)
    others_are_served(bounded)
    # Opened, closed, eight identities and one each ten seconds; and a heartbeat a second.
    assert len(connection_records(broker.internal, bounded.address)) - before < 10 * 12 + 60
