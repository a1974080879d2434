"""What a session costs when it replaces addresses: ``make bench-addresses``.

One request and its answer at a time through a connection without sockets, in CPU time of this process: as in front of one broker, where
all of these pass, and as in front of a whole cluster (``--broker-ports``).
"""

from __future__ import annotations

import statistics
import struct
import time
from collections.abc import Iterator

from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.producer import ProduceResponse
from rich.console import Console
from rich.table import Table

from clientscope.session.addresses import BrokerAddresses
from clientscope.session.connection import ClientConnection
from clientscope.session.events import BROKER, CLIENT, Connected, Received, Send
from clientscope.session.playbook import play
from clientscope.session.ports import BrokerPorts
from clientscope.session.session import Session

BROKERS = {broker_id: (f"b-{broker_id}.cluster.example", 9092) for broker_id in range(1, 51)}
ROUNDS, EXCHANGES = 5, 4_000


def _framed(message: object) -> bytes:
    message.with_header(correlation_id=5)  # type: ignore[attr-defined]
    return bytes(message.encode(header=True, framed=True))  # type: ignore[attr-defined]


def _request(key: int, version: int, size: int) -> bytes:
    return struct.pack(">ihhih", 10 + size, key, version, 5, -1) + bytes(size)


def _produce(partitions: int) -> bytes:
    topic = ProduceResponse.TopicProduceResponse
    each = [
        topic.PartitionProduceResponse(
            version=12, index=n, error_code=0, base_offset=9, log_append_time_ms=-1, log_start_offset=0, record_errors=[]
        )
        for n in range(partitions)
    ]
    named = [topic(version=12, name="orders", partition_responses=each)]
    return _framed(ProduceResponse(version=12, responses=named, throttle_time_ms=0))


def _metadata(brokers: int) -> bytes:
    broker, topic = MetadataResponse.MetadataResponseBroker, MetadataResponse.MetadataResponseTopic
    listed = [broker(version=12, node_id=n, host=BROKERS[n][0], port=9092, rack=None) for n in range(1, brokers + 1)]
    partition = topic.MetadataResponsePartition
    parts = [partition(version=12, error_code=0, partition_index=n, leader_id=1, replica_nodes=[1], isr_nodes=[1]) for n in range(6)]
    named = [topic(version=12, error_code=0, name=f"orders-{n}", is_internal=False, partitions=parts) for n in range(10)]
    return _framed(MetadataResponse(version=12, throttle_time_ms=0, brokers=listed, cluster_id="c", controller_id=1, topics=named))


def exchanges() -> Iterator[tuple[str, bytes, bytes]]:
    """What is asked and answered."""
    for partitions in (1, 10, 100):
        yield f"Produce v12, {partitions} partitions", _request(0, 12, 1000), _produce(partitions)
    yield "Fetch v15, 10 KB", _request(1, 15, 60), struct.pack(">ii", 10_004, 5) + bytes(10_000)
    for brokers in (3, 50):
        yield f"Metadata v12, {brokers} brokers", _request(3, 12, 20), _metadata(brokers)


def microseconds(addresses: BrokerAddresses | None, request: bytes, answer: bytes) -> float:
    connection = ClientConnection(Session(False, 10_240, addresses=addresses))
    for side in (CLIENT, BROKER):
        list(connection.handle(Connected(side)))
    started = time.process_time()
    for _ in range(EXCHANGES):
        sent = next(command.data for command in play(connection, Received(CLIENT, request)) if isinstance(command, Send))
        play(connection, Received(BROKER, answer[:4] + bytes(sent[8:12]) + answer[8:]))
    return (time.process_time() - started) / EXCHANGES * 1e6


def main() -> None:
    """Measures both in turn, and shows medians."""
    table = Table("request and answer", "passed, µs", "addresses replaced, µs")
    for name, request, answer in exchanges():
        found: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            for times, addresses in zip(found, (None, BrokerAddresses(BrokerPorts("gateway", 9093, 50, 1), brokers=BROKERS)), strict=True):
                times.append(microseconds(addresses, request, answer))
        table.add_row(name, *(f"{statistics.median(times):.1f}" for times in found))
    Console().print(table)


if __name__ == "__main__":
    main()
