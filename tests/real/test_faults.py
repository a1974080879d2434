"""Faults that a gateway must survive: unknown requests, a frame that never seems to end, its own death, a storm."""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import confluent_kafka
import kafka
import pytest
from conftest import RunningBroker, RunningGateway
from every import every
from frame_bytes import head, in_frame
from kafka.protocol.metadata import MetadataRequest, MetadataResponse
from observe import WorkerMemory, await_count, by_librdkafka, count, counts, is_closed, is_gone, make_topic, push_one, read_all, write
from patience import LIMIT_S, meanwhile, until

from clientscope.client.raw import RawClient
from clientscope.model.codec import decode
from clientscope.model.push import Push
from clientscope.model.topics import CONFIGS

MIB = 1024 * 1024
TOPIC = "test.faults"


def until_the_end(address: str, *frames: bytes) -> bytes:
    """What comes back until the connection is closed, or nothing has come for a second."""
    host, port = address.split(":")
    received = b""
    with socket.create_connection((host, int(port)), 5) as connected:
        for frame in frames:
            connected.sendall(in_frame(frame))
        connected.settimeout(1)
        try:
            while data := connected.recv(65536):
                received += data
        except ConnectionResetError:
            pass
        except TimeoutError:
            return received + b" and stays open"
    return received + b" and is closed"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (head(999, 0, 1), "unknown_api_key"),
        (head(-5, 0, 1), "unknown_api_key"),
        (head(3, 99, 1), "unsupported_version"),
        (head(1, 0, 1), "unsupported_version"),
        (head(18, 99, 1) + b"\0" + b"\x02x\x021\0", "unsupported_version"),
        (head(17, 9, 1), "unsupported_version"),
    ],
    ids=["key-999", "key-below-0", "metadata-v99", "fetch-v0", "api-versions-v99", "sasl-handshake-v9"],
)
def test_f03_what_the_broker_does_not_serve_is_the_brokers_to_refuse(gateway: Any, broker: Any, frame: bytes, reason: str) -> None:
    with gateway.named("other") as other:
        before, ended = count(gateway, "requests_unserved", reason), count(gateway, "connections_closed", "broker_closed")
        good = head(3, 1, 7) + bytes(4)  # Metadata, whose answer would have to come first
        through = until_the_end(gateway.address, good, frame, good)
        assert through == until_the_end(broker.client, good, frame, good)
        if through.endswith(b" and is closed"):
            until(lambda: count(gateway, "connections_closed", "broker_closed"), ended + 1, why="it is the broker that closes")
        await_count(gateway, "requests_unserved", reason, before + 1)
        assert other.request(MetadataRequest(version=1, topics=None), MetadataResponse).brokers
        until(lambda: gateway.connections.get(("other", "1")), 1)


def test_f03_what_the_broker_serves_is_not_counted(gateway: Any, topic: str) -> None:
    before = counts(gateway, "requests_unserved")
    write(gateway.address, topic, (None, b"x"))
    by_librdkafka(gateway.address, topic)
    assert counts(gateway, "requests_unserved") == before


@pytest.mark.faults
def test_f07_a_frame_of_100_mib_that_begins_slowly_is_streamed(gateway: Any, topic: str) -> None:
    """The first MiB at some 64 KB/s, the rest as fast as it goes: half an hour's test in half a minute.

    What is shown does not depend on the rate: at no time does the worker, whose bytes these are, hold more of the frame than one read.
    """
    whole = 100 * MIB  # Kafka's default socket.request.max.bytes: the longest that any broker takes
    name = topic.encode()
    begun = head(0, 3, 5) + struct.pack(">hhi", -1, 1, 30_000)
    begun += struct.pack(">ih", 1, len(name)) + name + struct.pack(">ii", 1, 0)
    records = whole - len(begun) - 4
    begun += struct.pack(">i", records)
    rest = memoryview(os.urandom(records))  # no record batch: the broker reads it all, and says what it is
    with (
        gateway.connect("slow") as slow,
        gateway.named("other") as other,
        kafka.KafkaProducer(bootstrap_servers=gateway.address) as producer,
    ):
        producer.send(topic, b"warm").get(LIMIT_S)
        memory = WorkerMemory(gateway.pid)
        with meanwhile(memory.rss):
            slow.socket.sendall(struct.pack(">i", whole) + begun)
            for start in range(0, MIB, 32 * 1024):
                slow.socket.sendall(rest[start : start + 32 * 1024])
                assert other.api_versions("other", "1").error_code == 0
                producer.send(topic, b"meanwhile").get(LIMIT_S)
                time.sleep(0.4)
            slow.socket.settimeout(60)
            slow.socket.sendall(rest[MIB:])
            answer = slow.receive_frame()
        producer.send(topic, b"after").get(LIMIT_S)
    assert struct.unpack_from(">i", answer) == (5,)
    assert struct.unpack_from(">h", answer, 4 + 4 + 2 + len(name) + 4 + 4)[0] in (2, 87), (
        "CORRUPT_MESSAGE or INVALID_RECORD: read to its end"
    )
    memory.stays_within(3 * MIB)  # two reads of 256 KB, and what other code needs


def taken(consumer: Any) -> bytes | None:
    """The next record, which may be a rebalance away."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            consumer.commit(message, asynchronous=False)
            return bytes(message.value())
    return None


@pytest.mark.faults
def test_f15_a_gateway_dies_with_1000_connections_and_comes_back(own: RunningBroker, tmp_path: Path) -> None:
    """What becomes of its gauges, whether it comes back or stays away: test_path.py, and after how long: test_gauges_engine.py."""
    make_topic(own.internal, TOPIC)
    flags = {"listen": own.advertised}
    clients: list[RawClient] = []

    def connect(stack: ExitStack, gateway: RunningGateway) -> None:
        for _ in range(1000):
            clients.append(stack.enter_context(gateway.named("held")))

    with ExitStack() as stack:
        with own.gateway(tmp_path / "first", **flags) as gateway:
            producer = confluent_kafka.Producer({"bootstrap.servers": gateway.address, "enable.idempotence": True, "log_level": 2})
            connect(stack, gateway)
            producer.produce(TOPIC, b"before")
            assert producer.flush(LIMIT_S) == 0
            group = {"group.id": "survivors", "auto.offset.reset": "earliest"}
            consumer = confluent_kafka.Consumer({"bootstrap.servers": gateway.address, "log_level": 2, **group})
            consumer.subscribe([TOPIC])
            assert taken(consumer) == b"before"
            until(lambda: gateway.connections.get(("held", "1")), 1000)
            os.kill(gateway.pid, signal.SIGKILL)
            until(lambda: is_gone(gateway.pid))
        assert all(is_closed(each.socket) for each in every(clients)), "no client waits for who is gone"
        clients.clear()
        producer.produce(TOPIC, b"meanwhile")
        with own.gateway(tmp_path / "second", **flags) as gateway:
            assert producer.flush(LIMIT_S) == 0
            assert taken(consumer) == b"meanwhile", "once, and nothing before it again"
            connect(stack, gateway)
            until(lambda: gateway.connections.get(("held", "1")), 1000)
            until(lambda: gateway.connections == own.connections)
            consumer.close()  # while there is somebody to say so to


def test_f19_a_client_without_an_id_is_not_mistaken_for_another(gateway: Any, broker: Any) -> None:
    """It has no name that would last: each of its connections is a row of its own."""
    for _ in range(2):
        with gateway.named("nameless") as client:
            assert push_one(client) == 0
    ours = lambda: [m for m in read_all(broker.internal, CONFIGS) if decode(Push, m.value).client_id == "nameless"]  # noqa: E731
    until(lambda: len({message.key for message in ours()}), 2)
