"""Answers with addresses of brokers, written by kafka-python where it knows them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from kafka.protocol.admin import DescribeClusterResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer import ProduceResponse
from played import framed

from clientscope.wire.cursor import write_tags, write_uvarint

Address = tuple[int, str, int]
"""A broker's id, host and port."""
BROKERS: tuple[Address, ...] = ((1, "b-1.cluster.example", 9092), (2, "b-2.cluster.example", 9094))
RACKS = ("r1", None)
CORRELATION_ID = 5


def translate(broker_id: int, host: str, port: int) -> tuple[str, int] | None:
    """The gateway's address of a broker; broker 9 and later ones have none."""
    return ("gateway", 19_000 + broker_id) if broker_id < 9 else None


def translated(brokers: Iterable[Address]) -> list[Address]:
    """What clients are to see of these brokers."""
    return [(each[0], *address) for each in brokers if (address := translate(*each)) is not None]


def decoded(message_class: Any, frame: bytes, version: int) -> Any:
    """The message of a frame whose length is right."""
    assert struct.unpack_from(">i", frame) == (len(frame) - 4,)
    return message_class.decode(frame[4:], version=version, header=True)


def metadata(version: int, brokers: Iterable[Address] = BROKERS, topics: int = 3) -> bytes:
    """A Metadata answer."""
    broker, topic = MetadataResponse.MetadataResponseBroker, MetadataResponse.MetadataResponseTopic
    partition = topic.MetadataResponsePartition
    listed = [
        broker(version=version, node_id=broker_id, host=host, port=port, rack=RACKS[n % 2])
        for n, (broker_id, host, port) in enumerate(brokers)
    ]
    partitions = [
        partition(version=version, error_code=0, partition_index=n, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1]) for n in range(4)
    ]
    named = [topic(version=version, error_code=0, name=f"topic-{n}", is_internal=False, partitions=partitions) for n in range(topics)]
    return framed(
        MetadataResponse(version=version, throttle_time_ms=7, brokers=listed, cluster_id="cluster", controller_id=2, topics=named),
        CORRELATION_ID,
    )


def find_coordinator(version: int, brokers: Iterable[Address] = BROKERS) -> bytes:
    """A FindCoordinator answer: of the first of these brokers below v4."""
    coordinator = FindCoordinatorResponse.Coordinator
    named = [
        coordinator(version=version, key=f"group-{n}", node_id=broker_id, host=host, port=port, error_code=0, error_message=None)
        for n, (broker_id, host, port) in enumerate(brokers if version >= 4 else ())
    ]
    broker_id, host, port = next(iter(brokers))
    return framed(
        FindCoordinatorResponse(
            version=version,
            throttle_time_ms=7,
            error_code=0,
            error_message=None,
            node_id=broker_id,
            host=host,
            port=port,
            coordinators=named,
        ),
        CORRELATION_ID,
    )


def describe_cluster(version: int, brokers: Iterable[Address] = BROKERS, endpoint_type: int = 1) -> bytes:
    """A DescribeCluster answer."""
    broker = DescribeClusterResponse.DescribeClusterBroker
    listed = [
        broker(version=version, broker_id=broker_id, host=host, port=port, rack=RACKS[n % 2], is_fenced=bool(n))
        for n, (broker_id, host, port) in enumerate(brokers)
    ]
    return framed(
        DescribeClusterResponse(
            version=version, throttle_time_ms=0, error_code=0, error_message=None, endpoint_type=endpoint_type, cluster_id="cluster",
            controller_id=1, brokers=listed,
        ),
        CORRELATION_ID,
    )  # fmt: skip


def produce(version: int, brokers: Iterable[Address] = BROKERS) -> bytes:
    """A Produce answer that says who leads a partition now."""
    topic = ProduceResponse.TopicProduceResponse
    partition = topic.PartitionProduceResponse
    failed = [partition.BatchIndexAndErrorMessage(version=version, batch_index=1, batch_index_error_message="no")]
    leader = partition.LeaderIdAndEpoch(version=version, leader_id=2, leader_epoch=4)
    partitions = [
        partition(version=version, index=0, error_code=0, base_offset=9, log_append_time_ms=-1, log_start_offset=0, record_errors=[]),
        partition(
            version=version, index=1, error_code=6, base_offset=-1, log_append_time_ms=-1, log_start_offset=-1, record_errors=failed,
            error_message="moved", current_leader=leader,
        ),
    ]  # fmt: skip
    endpoint = ProduceResponse.NodeEndpoint
    endpoints = [
        endpoint(version=version, node_id=broker_id, host=host, port=port, rack=RACKS[n % 2])
        for n, (broker_id, host, port) in enumerate(brokers)
    ]
    named = [topic(version=version, name="orders", partition_responses=partitions)]
    return framed(ProduceResponse(version=version, responses=named, throttle_time_ms=3, node_endpoints=endpoints), CORRELATION_ID)


def text(value: str | None) -> bytes:
    """A compact string, or null."""
    return b"\0" if value is None else write_uvarint(len(value.encode()) + 1) + value.encode()


def endpoints(brokers: Iterable[Address]) -> bytes:
    """NodeEndpoints of the share APIs."""
    entries = [
        struct.pack(">i", broker_id) + text(host) + struct.pack(">i", port) + text(RACKS[n % 2]) + b"\0"
        for n, (broker_id, host, port) in enumerate(brokers)
    ]
    return write_uvarint(len(entries) + 1) + b"".join(entries)


def share_fetch(
    records: Iterable[bytes | None] = (b"", None, b"x" * 3000), brokers: Iterable[Address] = BROKERS, tags: Iterable[tuple[int, bytes]] = ()
) -> bytes:
    """A ShareFetch answer of v1 or v2, a partition for each of these sets of records."""
    acquired = struct.pack(">qqh", 0, 9, 1) + b"\0"
    partitions = [
        struct.pack(">ih", n, 6) + text("moved") + struct.pack(">h", 0) + text(None) + struct.pack(">ii", 2, 4) + b"\0"
        + (b"\0" if data is None else write_uvarint(len(data) + 1) + data) + write_uvarint(3) + acquired * 2 + b"\0"
        for n, data in enumerate(records)
    ]  # fmt: skip
    topic = bytes(range(16)) + write_uvarint(len(partitions) + 1) + b"".join(partitions) + b"\0"
    head = struct.pack(">i", CORRELATION_ID) + b"\0" + struct.pack(">ih", 7, 0) + text(None) + struct.pack(">i", 30_000)
    body = head + write_uvarint(2) + topic + endpoints(brokers) + write_tags(list(tags))
    return struct.pack(">i", len(body)) + body


def share_acknowledge(version: int, brokers: Iterable[Address] = BROKERS) -> bytes:
    """A ShareAcknowledge answer of v1 or v2."""
    partition = struct.pack(">ih", 0, 6) + text("moved") + struct.pack(">ii", 2, 4) + b"\0\0"
    topic = bytes(range(16)) + write_uvarint(3) + partition * 2 + b"\0"
    head = struct.pack(">i", CORRELATION_ID) + b"\0" + struct.pack(">ih", 7, 0) + text(None)
    body = head + (struct.pack(">i", 30_000) if version >= 2 else b"") + write_uvarint(2) + topic + endpoints(brokers) + b"\0"
    return struct.pack(">i", len(body)) + body
