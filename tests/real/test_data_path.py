"""The data path: whatever is shaped how, every byte arrives once, in order, and the gateway's memory stays where it was."""

from __future__ import annotations

import hashlib
import os
import random
import socket
import struct
import threading
import time
from contextlib import closing
from typing import Any

import confluent_kafka
import kafka
import pytest
from observe import eventually, gateway_connections, minor_faults, rss_bytes, workers
from scale import scaled

from clientscope.client.raw import RawClient

TOPIC = "test.data"


@pytest.fixture(scope="module")
def topic(broker: Any) -> str:
    with closing(kafka.KafkaAdminClient(bootstrap_servers=broker.internal)) as admin:
        configs = {"max.message.bytes": "20000000"}
        admin.create_topics({TOPIC: {"num_partitions": 1, "configs": configs}}, wait_for_metadata=True)
    return TOPIC


def test_records_of_all_sizes_arrive_as_they_were_sent(gateway: Any, topic: str) -> None:
    chance = random.Random(7)  # noqa: S311  the same sizes in each run
    sizes = [0, 1, 11, 12, 13, *(chance.randrange(1, 300_000) for _ in range(200)), 8_000_000]
    values = [os.urandom(size) for size in sizes]
    with closing(kafka.KafkaProducer(bootstrap_servers=gateway.address, max_request_size=20_000_000, linger_ms=5)) as producer:
        for value in values:
            producer.send(topic, value)
        producer.flush(timeout=60)
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=gateway.address,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=20_000_000,
        receive_message_max_bytes=60_000_000,
        consumer_timeout_ms=5000,
    )
    with closing(consumer):
        received = [message.value for message in consumer]
    assert [hashlib.sha256(v).hexdigest() for v in received] == [hashlib.sha256(v).hexdigest() for v in values]


def test_memory_that_bytes_went_through_is_kept_for_the_next(gateway: Any, topic: str) -> None:
    """Each read given back to the kernel would be some 60 page faults a megabyte, and half of a worker's CPU time."""
    (worker,) = workers(gateway.pid)
    producer = confluent_kafka.Producer({"bootstrap.servers": gateway.address, "batch.size": 1_000_000, "linger.ms": 5})

    def produce(megabytes: int) -> None:
        for _ in range(megabytes * 64):
            producer.produce(topic, b"x" * 16_384)
            producer.poll(0)
        assert producer.flush(60) == 0

    produce(16)  # what the worker needs is there from then on
    before = minor_faults(worker)
    produce(64)
    assert minor_faults(worker) - before < 64 * 10


def test_f02_256_requests_in_flight_are_answered_in_order(gateway: Any) -> None:
    """Metadata and ApiVersions requests mixed and cut at random, with a push among them."""
    chance = random.Random(5)  # noqa: S311
    with closing(RawClient.connect(gateway.address, "pipeline")) as client:
        client.api_versions("pipeline", "1.0")
        stream = b""
        for correlation_id in range(1000, 1256):
            if correlation_id == 1100:
                body = struct.pack(">hhih", 1324, 0, correlation_id, -1) + b"\0" + b"\x02\x05acks\x04all\x01\x01\0\0"
            elif chance.random() < 0.5:
                body = struct.pack(">hhih", 18, 0, correlation_id, -1)
            else:
                body = struct.pack(">hhihi", 3, 1, correlation_id, -1, 0)
            stream += struct.pack(">i", len(body)) + body
        sender = threading.Thread(target=_in_pieces, args=(client.socket, stream, chance))
        sender.start()
        answers = [struct.unpack_from(">i", client.receive_frame())[0] for _ in range(256)]
        sender.join()
    assert answers == list(range(1000, 1256))


def _in_pieces(connected: socket.socket, stream: bytes, chance: random.Random) -> None:
    while stream:
        size = chance.randrange(1, 400)
        connected.sendall(stream[:size])
        stream = stream[size:]


def test_f01_acks_0_leaves_nothing_behind_and_loses_nothing(gateway: Any, topic: str) -> None:
    settings = {"bootstrap_servers": gateway.address, "enable_auto_commit": False}
    with closing(kafka.KafkaConsumer(**settings)) as consumer:
        partition = kafka.TopicPartition(topic, 0)
        before = consumer.end_offsets([partition])[partition]
        with closing(kafka.KafkaProducer(bootstrap_servers=gateway.address, acks=0, enable_idempotence=False)) as producer:
            for _ in range(20_000):
                producer.send(topic, b"x" * 100)
            producer.flush(timeout=60)
        assert eventually(lambda: consumer.end_offsets([partition])[partition] == before + 20_000)


@pytest.mark.long_form
@pytest.mark.timeout(scaled(300, 1200))
def test_f09_a_client_that_reads_no_more_costs_no_memory_and_gets_every_byte(gateway: Any, topic: str) -> None:
    """A fetch of some 30 MB is asked for many times over, and read only much later."""
    with closing(kafka.KafkaProducer(bootstrap_servers=gateway.address, max_request_size=20_000_000)) as producer:
        for _ in range(4):
            producer.send(topic, os.urandom(8_000_000))
        producer.flush(timeout=60)
    with closing(RawClient.connect(gateway.address, "slow-reader")) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.api_versions("slow-reader", "1.0")
        before = rss_bytes(gateway.pid)
        for correlation_id in range(10):
            client.socket.sendall(_fetch(TOPIC, correlation_id))
        for _ in range(int(scaled(3, 540))):
            time.sleep(1)
            assert rss_bytes(gateway.pid) - before < 24 * 1024 * 1024
        sizes = []
        for correlation_id in range(10):
            answer = client.receive_frame()
            assert struct.unpack_from(">i", answer) == (correlation_id,)
            sizes.append(len(answer))
        assert len(set(sizes)) == 1 and sizes[0] > 8_000_000


def _fetch(topic: str, correlation_id: int) -> bytes:
    """Fetch v4: everything from offset 0, at most 30 MB."""
    name = topic.encode()
    body = struct.pack(">hhih", 1, 4, correlation_id, -1) + struct.pack(">iiiib", -1, 100, 1, 30_000_000, 0)
    body += struct.pack(">ih", 1, len(name)) + name + struct.pack(">iiqi", 1, 0, 0, 30_000_000)
    return struct.pack(">i", len(body)) + body


def test_f10_half_close_still_gets_its_answers(gateway: Any) -> None:
    with closing(RawClient.connect(gateway.address, "half")) as client:
        body = struct.pack(">hhih", 18, 0, 5, -1)
        client.send_frame(body)
        client.socket.shutdown(socket.SHUT_WR)
        assert struct.unpack_from(">i", client.receive_frame()) == (5,)
        assert client.socket.recv(10) == b""
    assert eventually(lambda: gateway_connections(gateway.metrics_url) == {})
