"""The data path: every byte arrives once and in order, memory is stable, and each end of a connection closes both sides (F10)."""

from __future__ import annotations

import hashlib
import os
import random
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
import kafka
import psutil
import pytest
from conftest import RunningGateway
from every import every
from frame_bytes import head, in_frame, request_frame
from http_attacks import connected
from kafka.protocol.metadata import MetadataResponse
from kafka.record import MemoryRecordsBuilder
from listeners import taking
from observe import WorkerMemory, connection_records, counts, minor_faults, workers
from patience import LIMIT_S, eventually, until

from clientscope.client.raw import RawClient
from clientscope.model.enums import Kind
from clientscope.wire.messages import PushConfigResponse


def test_records_of_all_sizes_arrive_as_they_were_sent(gateway: Any, topic: str) -> None:
    chance = random.Random(7)  # noqa: S311  the same sizes in each run
    sizes = [0, 1, 11, 12, 13, *(chance.randrange(1, 300_000) for _ in range(200)), 8_000_000]
    values = [os.urandom(size) for size in sizes]
    with kafka.KafkaProducer(bootstrap_servers=gateway.address, max_request_size=20_000_000, linger_ms=5) as producer:
        for value in values:
            producer.send(topic, value)
        producer.flush(LIMIT_S)
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=gateway.address,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=20_000_000,
        receive_message_max_bytes=60_000_000,
    )
    with consumer:
        received = [next(consumer).value for _ in values]
    assert [hashlib.sha256(v).hexdigest() for v in received] == [hashlib.sha256(v).hexdigest() for v in values]


def test_memory_that_bytes_went_through_is_kept_for_the_next(gateway: Any, topic: str) -> None:
    """Each read given back to the kernel would be some 60 page faults a megabyte, and half of a worker's CPU time."""
    (worker,) = workers(gateway.pid)
    producer = confluent_kafka.Producer({"bootstrap.servers": gateway.address, "batch.size": 1_000_000, "linger.ms": 5})

    def produce(megabytes: int) -> None:
        for _ in range(megabytes * 64):
            producer.produce(topic, b"x" * 16_384)
            producer.poll(0)
        assert producer.flush(LIMIT_S) == 0

    produce(16)  # what the worker needs is there from then on
    before = minor_faults(worker)
    produce(64)
    assert minor_faults(worker) - before < 64 * 10


def test_f02_256_requests_in_flight_are_answered_in_order_each_to_its_own_client(gateway: Any) -> None:
    """Four clients with the same correlation ids; requests and answers of all sizes, cut at random, none read before all are sent."""
    chance = random.Random(5)  # noqa: S311
    with ExitStack() as stack:
        clients = {}
        for number in range(4):
            client = stack.enter_context(gateway.named(f"pipeline-{number}"))
            sent = [_metadata(chance, f"{number}.{i}", 1000 + i) for i in range(256)]
            sent[100] = None, head(1324, 0, 1100) + b"\0" + b"\x02\x05acks\x04all\x01\x01\0\0"
            clients[number] = client, [topics for topics, _ in sent], b"".join(in_frame(b) for _, b in sent)
        left = {number: stream for number, (_, _, stream) in clients.items()}
        while left:
            number, size = chance.choice(list(left)), chance.randrange(1, 4000)
            clients[number][0].socket.sendall(left[number][:size])
            left[number] = left[number][size:]
            if not left[number]:
                del left[number]
        for client, asked, _ in clients.values():
            for correlation_id, topics in enumerate(asked, 1000):
                answer = client.receive_frame()
                assert struct.unpack_from(">i", answer) == (correlation_id,)
                if topics is None:
                    assert PushConfigResponse.decode(answer, version=0, header=True).error_code == 0
                else:
                    assert {topic.name for topic in MetadataResponse.decode(answer, version=4, header=True).topics} == topics


def _metadata(chance: random.Random, label: str, correlation_id: int) -> tuple[set[str] | None, bytes]:
    """Metadata v4 for some topics that aren't there, and are to stay so; their names say whose request it is."""
    names = {f"{label}.{i}.{'x' * chance.randrange(200)}" for i in range(chance.choice((1, 2, 3, 20)))}
    topics = b"".join(struct.pack(">h", len(name)) + name.encode() for name in names)
    return names, head(3, 4, correlation_id) + struct.pack(">i", len(names)) + topics + b"\0"


def test_f01_acks_0_leaves_nothing_behind_and_loses_nothing(gateway: Any, topic: str) -> None:
    """One record a request, as fast as they go; what was kept of each would be seen in the worker's memory, and a consumer takes all."""
    flood = 30_000
    batch = MemoryRecordsBuilder(2, 0, 1024)
    batch.append(None, None, b"flood")
    batch.close()
    records, name = bytes(batch.buffer()), topic.encode()
    body = head(0, 3, 7) + struct.pack(">hhii", -1, 0, 30_000, 1)
    body += struct.pack(">h", len(name)) + name + struct.pack(">iii", 1, 0, len(records)) + records
    frames = in_frame(body) * 1000
    settings = {"bootstrap_servers": gateway.address, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    with kafka.KafkaConsumer(**settings) as consumer, gateway.named("flood") as client:
        partition = kafka.TopicPartition(topic, 0)
        before = consumer.end_offsets([partition])[partition]
        for _ in range(5):
            client.socket.sendall(frames)  # what the worker needs is there from then on
        memory = WorkerMemory(gateway.pid)
        for _ in range(flood // 1000 - 5):
            client.socket.sendall(frames)
            memory.rss()
        assert client.api_versions("flood", "1.0").error_code == 0, "the broker has read all that was before it"
        memory.rss()
        assert consumer.end_offsets([partition])[partition] == before + flood
        consumer.assign([partition])
        consumer.seek(partition, before)
        taken = 0
        while consumer.position(partition) < before + flood:
            values = [record.value for batch in consumer.poll(timeout_ms=500, max_records=5000).values() for record in batch]
            assert set(values) <= {b"flood"}
            taken += len(values)
        assert taken == flood
    memory.stays_within(3 * 2**20)


def test_f09_a_client_that_reads_no_more_costs_no_memory_and_gets_every_byte(gateway: Any, broker: Any, topic: str) -> None:
    """A fetch of some 30 MB is asked for many times over, and read only much later; meanwhile the broker's bytes wait in the kernel."""
    with kafka.KafkaProducer(bootstrap_servers=gateway.address, max_request_size=20_000_000) as producer:
        for _ in range(4):
            producer.send(topic, os.urandom(8_000_000))
        producer.flush(LIMIT_S)
    with RawClient.connect(broker.client, "direct") as direct:
        direct.socket.sendall(fetch(topic, 0))
        expected = hashlib.sha256(direct.receive_frame()[4:]).hexdigest()
    with gateway.named("slow-reader") as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        memory = WorkerMemory(gateway.pid)
        for correlation_id in range(10):
            client.socket.sendall(fetch(topic, correlation_id))
        until(lambda: unread_bytes(broker.client) > 0)
        unread = [unread_bytes(broker.client)]
        for _ in range(3):  # before the broker's own connections.max.idle.ms, ten minutes, ends the connection
            memory.watch(0.3)
            unread.append(unread_bytes(broker.client))
        assert unread == sorted(unread) and unread[0] > 0, "nothing is read from the broker any more"
        memory.stays_within(4 * 2**20)
        for correlation_id in range(10):
            answer = client.receive_frame()
            assert struct.unpack_from(">i", answer) == (correlation_id,)
            assert len(answer) > 8_000_000
            assert hashlib.sha256(answer[4:]).hexdigest() == expected


def unread_bytes(broker: str) -> int:
    """What the kernel has of a broker's answers and nobody has read, over all connections to it (proc_net_tcp.txt)."""
    port = f":{int(broker.split(':')[1]):04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[4].split(":")[1], 16) for row in rows if row[2].endswith(port) and row[3] == "01")


def fetch(topic: str, correlation_id: int) -> bytes:
    """Fetch v4: everything from offset 0, at most 30 MB."""
    name = topic.encode()
    body = head(1, 4, correlation_id) + struct.pack(">iiiib", -1, 100, 1, 30_000_000, 0)
    body += struct.pack(">ih", 1, len(name)) + name + struct.pack(">iiqi", 1, 0, 0, 30_000_000)
    return in_frame(body)


def test_f10_half_close_still_gets_its_answers(gateway: Any) -> None:
    with gateway.connect("half") as client:
        client.send_frame(head(18, 0, 5))
        client.socket.shutdown(socket.SHUT_WR)
        assert struct.unpack_from(">i", client.receive_frame()) == (5,)
        assert client.socket.recv(10) == b""
    until(lambda: gateway.connections, {})


EACH = 20
HALF_A_FRAME = struct.pack(">ihhi", 1_000, 3, 1, 7) + b"x" * 100
HALF_A_READ_FRAME = struct.pack(">ihhi", 1_000, 18, 3, 7) + b"x" * 100
METADATA = request_frame(3, 1, 7, bytes(4))


def reset(one: socket.socket) -> None:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


class Upstream:
    """What a gateway takes for its broker: it ends each connection as it is asked to, and counts those whose other end has gone."""

    def __init__(self) -> None:
        self.act = ""
        self.gone = 0

    def serve(self, taken: socket.socket) -> None:
        act = self.act
        with suppress(OSError):
            if act == "resets at once":
                reset(taken)
            elif act != "closes at once":
                taken.recv(65536)
                taken.sendall(struct.pack(">ii", 1_000, 7) + b"y" * 100)  # a tenth of a response
                if act == "resets within a response":
                    reset(taken)
                elif act != "closes within a response":
                    while taken.recv(65536):
                        pass
        self.gone += 1


@dataclass
class Rig:
    upstream: Upstream
    gateway: RunningGateway
    internal: str

    @property
    def descriptors(self) -> int:
        (worker,) = workers(self.gateway.pid)
        return psutil.Process(worker).num_fds()

    def reasons(self) -> Counter[str]:
        return Counter(record.reason for record in connection_records(self.internal, self.gateway.address, kind=Kind.CLOSED))


@pytest.fixture(scope="module")
def rig(broker: Any, folder: Path) -> Iterator[Rig]:
    upstream = Upstream()
    with taking(upstream.serve) as address, broker.gateway(folder / "ends", upstream=address) as gateway:
        yield Rig(upstream, gateway, broker.internal)


@pytest.mark.parametrize(
    ("broker_acts", "client_sends", "client_ends", "reasons"),
    [
        ("", HALF_A_FRAME, "reset", {"client_reset"}),
        ("", HALF_A_READ_FRAME, "reset", {"client_reset"}),
        ("", HALF_A_FRAME, "close", {"broker_closed", "client_closed", "client_reset"}),
        ("", METADATA, "reset", {"client_reset"}),
        ("closes at once", METADATA, "waits", {"broker_closed", "client_closed", "broker_reset"}),
        ("resets at once", METADATA, "waits", {"broker_reset", "upstream_unreachable"}),
        ("resets within a response", METADATA, "waits", {"broker_reset"}),
        ("closes within a response", METADATA, "waits", {"broker_closed", "client_closed"}),
    ],
)
def test_f10_both_legs_are_closed_and_said_to_be_once(
    rig: Rig, broker_acts: str, client_sends: bytes, client_ends: str, reasons: set[str]
) -> None:
    before, descriptors, gone = rig.reasons(), rig.descriptors, rig.upstream.gone
    rig.upstream.act = broker_acts
    clients = [connected(rig.gateway.address) for _ in range(EACH)]
    for client in clients:
        with suppress(OSError):
            client.sendall(client_sends)
    if client_ends == "waits":
        for client in clients:
            with suppress(ConnectionResetError):
                while client.recv(65536):
                    pass
            client.close()
    else:
        until(lambda: sum(rig.gateway.connections.values()) >= EACH)
        for client in clients:
            reset(client) if client_ends == "reset" else client.close()
    assert eventually(lambda: sum(rig.reasons().values()) - sum(before.values()) == EACH), rig.reasons() - before
    assert set(rig.reasons() - before) <= reasons
    until(lambda: rig.descriptors, descriptors, why=(rig.descriptors, descriptors))
    until(lambda: rig.upstream.gone - gone, EACH, why="the broker's leg has ended too")
    closed = counts(rig.gateway, "connections_closed")
    assert all(closed[reason] for reason in every(set(rig.reasons() - before)))
