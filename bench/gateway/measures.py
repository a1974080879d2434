"""The measurements: each does one round against one target, and returns figures by name."""

from __future__ import annotations

import asyncio
import gc
import socket
import statistics
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import uvloop
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from bench.gateway.proc import cpu_seconds, pss_bytes
from bench.gateway.targets import Target

Figures = dict[str, float]

MESSAGE_BYTES = 16 * 1024
LATENCY_BYTES = 1024
LATENCY_RATE = 2_000
_PAYLOAD = bytes(range(256)) * (MESSAGE_BYTES // 256)
_API_VERSIONS = struct.pack(">hhih", 18, 3, 1, -1) + b"\0" + b"\x06bench" + b"\x021" + b"\0"
_FRAME = struct.pack(">i", len(_API_VERSIONS)) + _API_VERSIONS


@dataclass(frozen=True)
class Size:
    """How much each round does.

    Attributes:
        bytes: produced and consumed, payload only.
        slice_s: length of one slice of the latency measurement.
        slices: of each target in a round.
        connections: opened and closed one after another, eight at a time.
        idle: numbers of idle connections, rising.
    """

    bytes: int = 400_000_000
    slice_s: float = 2.0
    slices: int = 3
    connections: int = 2_000
    idle: tuple[int, ...] = (1_000, 5_000)


QUICK = Size(100_000_000, 1.0, 2, 500, (1_000, 5_000))
WARM_UP = Size(60_000_000, 1.0, 1, 200, ())


def _common(address: str) -> dict[str, Any]:
    # Only what is critical: a peer refuses a connection or two while it learns the cluster.
    return {"bootstrap.servers": address, "log_level": 2}


def throughput(target: Target, topic: str, size: Size) -> Figures:
    """Produces to a new topic of one partition, and consumes it all; CPU is the target's own."""
    admin = AdminClient(_common(target.address))
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    count = size.bytes // MESSAGE_BYTES
    gigabytes = count * MESSAGE_BYTES / 1e9
    produced_s, produced_cpu = _measured(target, lambda: _produce(target.address, topic, count))
    consumed_s, consumed_cpu = _measured(target, lambda: _consume(target.address, topic, count))
    admin.delete_topics([topic])[topic].result(30)
    figures = {"produce MB/s": gigabytes * 1000 / produced_s, "consume MB/s": gigabytes * 1000 / consumed_s}
    if target.pid is not None:
        figures |= {"produce CPU s/GB": produced_cpu / gigabytes, "consume CPU s/GB": consumed_cpu / gigabytes}
    return figures


def _measured(target: Target, act: Callable[[], float]) -> tuple[float, float]:
    """What ``act`` says that it took, in seconds, and the target's CPU seconds meanwhile."""
    before = cpu_seconds(target.pid) if target.pid else 0.0
    seconds = act()
    return seconds, (cpu_seconds(target.pid) if target.pid else 0.0) - before


def _produce(address: str, topic: str, count: int) -> float:
    """From the first message to the last report."""
    producer = Producer({**_common(address), "acks": "1", "linger.ms": 5, "queue.buffering.max.kbytes": 65_536})
    failures: list[Any] = []

    def reported(error: Any, _message: Any) -> None:
        if error:
            failures.append(error)

    producer.list_topics(topic, 30)
    started = time.perf_counter()
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, _PAYLOAD, on_delivery=reported)
                break
            except BufferError:
                producer.poll(0.05)
    if producer.flush(120) or failures:
        raise RuntimeError(f"not everything was produced at {address}: {failures[:1]}")
    return time.perf_counter() - started


def _consume(address: str, topic: str, count: int) -> float:
    """From the first message to the last."""
    consumer = Consumer({**_common(address), "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    taken, deadline = 0, time.monotonic() + 120
    started = 0.0
    while taken < count:
        # The first by itself; and never more than there are, or the last call would wait for the rest.
        for message in consumer.consume(min(1000, count - taken) if taken else 1, 1.0):
            started = started or time.perf_counter()
            if message.error() is None:
                taken += 1
            elif message.error().code() != KafkaError._PARTITION_EOF:
                raise RuntimeError(str(message.error()))
        if time.monotonic() > deadline:
            raise RuntimeError(f"{taken} of {count} messages were consumed at {address} within two minutes")
    seconds = time.perf_counter() - started
    consumer.close()
    return seconds


def latency(targets: list[Target], topic: str, size: Size) -> dict[str, Figures]:
    """Slices of each target in turn; a difference is to the direct slice of the same turn."""
    producers = {t.name: Producer({**_common(t.address), "acks": "1", "linger.ms": 0}) for t in targets}
    for producer in producers.values():
        _slice(producer, topic, 0.5)
    seen: dict[str, dict[str, list[float]]] = {t.name: {} for t in targets}
    for _ in range(size.slices):
        base: tuple[float, float] = (0.0, 0.0)
        for target in targets:
            found = _slice(producers[target.name], topic, size.slice_s)
            figures = {"p50 ms": found[0], "p99 ms": found[1]}
            if target.name == "direct":
                base = found
            else:
                figures |= {"added p50 ms": found[0] - base[0], "added p99 ms": found[1] - base[1]}
            for name, value in figures.items():
                seen[target.name].setdefault(name, []).append(value)
    return {target: {name: statistics.median(values) for name, values in figures.items()} for target, figures in seen.items()}


def _slice(producer: Any, topic: str, seconds: float) -> tuple[float, float]:
    """p50 and p99 in ms from produce to delivery report, at `LATENCY_RATE`."""
    latencies: list[float] = []

    def reported(error: Any, message: Any) -> None:
        if error:
            raise RuntimeError(str(error))
        latencies.append(message.latency() * 1000)

    payload = _PAYLOAD[:LATENCY_BYTES]
    gc.collect()
    gc.disable()
    started = time.perf_counter()
    for number in range(int(seconds * LATENCY_RATE)):
        due = started + number / LATENCY_RATE
        # Reports are served while waiting: poll returns as soon as one comes.
        while (left := due - time.perf_counter()) > 0:
            producer.poll(left)
        producer.produce(topic, payload, on_delivery=reported)
    gc.enable()
    if producer.flush(30):
        raise RuntimeError("messages were left")
    hundredths = statistics.quantiles(latencies, n=100)
    return hundredths[49], hundredths[98]


def connections(target: Target, size: Size) -> Figures:
    """Connect, ApiVersions, close: eight at a time, by one event loop; the direct figure is what this driver can do."""

    async def one(host: str, port: int) -> None:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(_FRAME)
        (length,) = struct.unpack(">i", await reader.readexactly(4))
        await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()

    async def worker(host: str, port: int, count: int) -> None:
        for _ in range(count):
            await one(host, port)

    async def run() -> None:
        host, _, port = target.address.rpartition(":")
        await asyncio.gather(*(worker(host, int(port), size.connections // 8) for _ in range(8)))

    started = time.perf_counter()
    uvloop.run(run())
    return {"connections/s": size.connections // 8 * 8 / (time.perf_counter() - started)}


def idle(target: Target, size: Size) -> Figures:
    """Memory of a process that has just started, and with connections that have sent ApiVersions and are held."""
    assert target.pid is not None
    host, _, port = target.address.rpartition(":")
    held: list[socket.socket] = []
    time.sleep(2)
    figures = {"started MB": (base := pss_bytes(target.pid)) / 1e6}
    try:
        for count in size.idle:
            while len(held) < count:
                held.append(connected := socket.create_connection((host, int(port)), 30))
                connected.sendall(_FRAME)
                if not connected.recv(4096):
                    raise RuntimeError(f"{target.name} closed connection {len(held)}")
            time.sleep(2)
            used = pss_bytes(target.pid)
            figures[f"{count} idle MB"] = used / 1e6
            figures[f"KiB per connection at {count}"] = (used - base) / count / 1024
    finally:
        for connected in held:
            connected.close()
    return figures
