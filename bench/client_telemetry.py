"""What a client's push of its own metrics costs the gateway's main process, and a worker of the job: ``make bench-telemetry``.

Pushes are made up: as many metrics as Java 4.4's consumer with one partition and librdkafka 2.16's producer have, with names and labels of
about that length, and as many numbers that differ. CPU time of this process, from a worker's report to Kafka's batch, and from a record to
a row of facts; Spark and Delta are not in it. A record's bytes on the topic are its share of a batch, as a producer makes it of a second in
one partition.
"""

from __future__ import annotations

import gzip
import statistics
import time
import uuid
from collections.abc import Iterator
from random import Random

import pyarrow as pa
from kafka.record.memory_records import MemoryRecordsBuilder
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from rich.console import Console
from rich.table import Table

from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.publisher import BATCHED
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.telemetry import TelemetryRecords
from clientscope.gateway.worker.messages import Measures
from clientscope.session.state import Identity
from clientscope.wire.telemetry import GZIP, PushedMetrics
from streaming.transforms.history import telemetry_rows

METRICS = {"Java": 147, "librdkafka": 10}
CLIENTS, INTERVAL_S = 10_000, 60
ROUNDS, PUSHES = 5, CLIENTS // INTERVAL_S
_ZSTD = 4
_LABELS = {"client_rack": "eu-west-1a", "group_id": "orders-billing"}
_WORDS = (
    "fetch", "manager", "records", "lag", "latency", "total", "avg", "max", "rate", "bytes", "consumed", "coordinator", "rebalance", "node",
    "request", "incoming", "outgoing", "connection", "creation", "io", "wait", "ratio", "heartbeat", "commit", "partitions", "throttle",
)  # fmt: skip


def push(metrics: int, number: int) -> PushedMetrics:
    """One of a client: each metric with its own resource, as Java has it, and values that differ."""
    random, data = Random(number), MetricsData()  # noqa: S311
    labels = _LABELS | {"group_member_id": f"orders-{uuid.UUID(int=random.getrandbits(128))}"}
    now = 1_790_000_000_000_000_000 + random.randrange(10**9)
    for place in range(metrics):
        of_resource = data.resource_metrics.add()
        for key, text in labels.items():
            of_resource.resource.attributes.add(key=key).value.string_value = text
        words = Random(place).sample(_WORDS, 3)  # noqa: S311
        metric = of_resource.scope_metrics.add().metrics.add(name=f"org.apache.kafka.consumer.{'.'.join(words)}")
        # Half of a client's numbers are 0, or the same for long.
        value = random.uniform(0, 10_000) if place % 2 else place
        point = metric.gauge.data_points.add(as_double=value, time_unix_nano=now, start_time_unix_nano=now - INTERVAL_S * 10**9)
        if place % 3 == 0:
            point.attributes.add(key="node_id").value.string_value = f"node-{place % 9}"
    return PushedMetrics(uuid.UUID(int=random.getrandbits(128)), 1, False, GZIP, gzip.compress(data.SerializeToString()))


def batched(records: list[tuple[str, bytes]]) -> Iterator[bytes]:
    """Kafka's batches, as the gateway's producer makes them of what one partition gets within a second."""
    while records:
        builder = MemoryRecordsBuilder(magic=2, compression_type=_ZSTD, batch_size=int(BATCHED["batch_size"]))
        taken = 0
        while taken < len(records) and builder.append(0, records[taken][0].encode(), records[taken][1]) is not None:
            taken += 1
        builder.close()
        yield bytes(builder.buffer())
        records = records[taken:]


def measured(metrics: int) -> tuple[float, float, float, float, float]:
    """Bytes of a push, of its record and of that on the topic, and seconds of CPU for it, of the gateway and of the job: medians."""
    registry = ConnectionRegistry(GatewayPlace("cluster", 1, "gateway-1", 1000, "CLIENT"))
    published = list[tuple[str, bytes]]()
    for number in range(PUSHES):
        registry.opened(number, "10.0.0.1", 1, Identity(f"app-{number}", "apache-kafka-java", "4.4.0", principal="User:ANONYMOUS"))

    def publish(key: str, value: bytes) -> bool:
        published.append((key, value))
        return True

    pushes = [push(metrics, number) for number in range(PUSHES)]
    took, sent = [], 0.0
    for _ in range(ROUNDS):
        records = TelemetryRecords(registry, publish, print)
        published.clear()
        began = time.process_time()
        for number, each in enumerate(pushes):
            records.take(Measures(number, each, 1, False), 0.0)
        sent = sum(map(len, batched(published))) / PUSHES
        took.append((time.process_time() - began) / PUSHES)
    rows, of_job = pa.array([value for _, value in published], pa.binary()), []
    for _ in range(ROUNDS):
        began = time.process_time()
        telemetry_rows(rows, None)
        of_job.append((time.process_time() - began) / PUSHES)
    sizes = statistics.mean(len(each.metrics) for each in pushes), statistics.mean(len(value) for _, value in published)
    return *sizes, sent, statistics.median(took), statistics.median(of_job)


def main() -> None:
    view = Table(
        "client",
        "metrics",
        "push, bytes",
        "record, bytes",
        "on the topic",
        "µs of CPU, gateway",
        "cores",
        "µs of CPU, job",
        "cores",
        "MB/s",
        title=f"{CLIENTS:,} clients, one push in {INTERVAL_S} s",
    )
    for name, metrics in METRICS.items():
        pushed, recorded, on_topic, seconds, of_job = measured(metrics)
        rate = CLIENTS / INTERVAL_S
        view.add_row(
            name,
            str(metrics),
            f"{pushed:,.0f}",
            f"{recorded:,.0f}",
            f"{on_topic:,.0f}",
            f"{seconds * 1e6:,.0f}",
            f"{rate * seconds:.2f}",
            f"{of_job * 1e6:,.0f}",
            f"{rate * of_job:.2f}",
            f"{rate * on_topic / 1e6:.2f}",
        )
    Console().print(view)


if __name__ == "__main__":
    main()
