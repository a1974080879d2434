"""What a client's push of its own metrics costs the gateway's main process, and a worker of the job: ``make bench-telemetry``.

Pushes are made up: as many metrics as Java 4.4's consumer with one partition and librdkafka 2.16's producer have, with names and labels of
about that length, and as many numbers that differ. CPU time of this process, from a worker's report to Kafka's batch, and from a record to
a row of facts; Spark and Delta are not in it. A record's bytes on the topic are its share of a batch, as a producer makes it of a second in
one partition. The gateway's cost is that of a client's third push and of later ones, whose shape is known, beside that of a push that is
judged in full.
"""

from __future__ import annotations

import gzip
import statistics
import time
import uuid
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pyarrow as pa
from kafka.record.memory_records import MemoryRecordsBuilder
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from rich.console import Console
from rich.table import Table

from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.publisher import BATCHED
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.telemetry import TelemetryRecords
from clientscope.session.state import Identity, MetricsPushed
from clientscope.wire.telemetry import GZIP, PushedMetrics
from udfs.kernels.client_facts import rows_of_facts
from udfs.kernels.quarantine import with_evidence

METRICS = {"Java": 147, "librdkafka": 10}
CLIENTS, INTERVAL_S = 10_000, 60
ROUNDS, PUSHES = 5, CLIENTS // INTERVAL_S
_LEARNS = 2
_HOSTILE = 18
"""Pushes of each client: a shape is made of the second and fits none, and of the next sixteen none is made."""
_ZSTD = 4
_LABELS = {"client_rack": "eu-west-1a", "group_id": "orders-billing"}
_WORDS = (
    "fetch", "manager", "records", "lag", "latency", "total", "avg", "max", "rate", "bytes", "consumed", "coordinator", "rebalance", "node",
    "request", "incoming", "outgoing", "connection", "creation", "io", "wait", "ratio", "heartbeat", "commit", "partitions", "throttle",
)  # fmt: skip


def push(metrics: int, number: int, interval: int = 0, new: str = "") -> PushedMetrics:
    """One of a client: each metric with its own resource, as Java has it, and values that differ.

    Args:
        interval: another one has the same names and labels, and other values.
        new: what each name and each label of a number ends with.
    """
    random, values, data = Random(number), Random(f"{number} {interval}"), MetricsData()  # noqa: S311
    labels = _LABELS | {"group_member_id": f"orders-{uuid.UUID(int=random.getrandbits(128))}"}
    instance_id = uuid.UUID(int=random.getrandbits(128))
    now = 1_790_000_000_000_000_000 + interval * INTERVAL_S * 10**9 + values.randrange(10**9)
    for place in range(metrics):
        of_resource = data.resource_metrics.add()
        for key, text in labels.items():
            of_resource.resource.attributes.add(key=key).value.string_value = text
        words = Random(place).sample(_WORDS, 3)  # noqa: S311
        metric = of_resource.scope_metrics.add().metrics.add(name=f"org.apache.kafka.consumer.{'.'.join(words)}{new}")
        # Half of a client's numbers are 0, or the same for long.
        value = values.uniform(0, 10_000) if place % 2 else place
        point = metric.gauge.data_points.add(as_double=value, time_unix_nano=now, start_time_unix_nano=now - INTERVAL_S * 10**9)
        if place % 3 == 0:
            point.attributes.add(key="node_id").value.string_value = f"node-{place % 9}{new}"
    return PushedMetrics(instance_id, 1, False, GZIP, gzip.compress(data.SerializeToString()))


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


class Gateway:
    """What of a gateway's main process takes pushes, one of each of so many clients at once."""

    def __init__(self, clients: int) -> None:
        self.published = list[tuple[str, bytes]]()
        registry = ConnectionRegistry(GatewayPlace("cluster", 1, "gateway-1", 1000, "CLIENT"))
        for number in range(clients):
            registry.opened(number, "10.0.0.1", 1, Identity(f"app-{number}", "apache-kafka-java", "4.4.0", principal="User:ANONYMOUS"))
        self._records = TelemetryRecords(registry, self._publish, lambda what, reason: None)
        self._taken = 0

    def _publish(self, key: str, value: bytes) -> bool:
        self.published.append((key, value))
        return True

    def take(self, pushes: list[PushedMetrics]) -> float:
        """Seconds of CPU for each."""
        self.published.clear()
        self._taken += 1
        began = time.process_time()
        for number, each in enumerate(pushes):
            self._records.take(number, MetricsPushed(each, 1, False), float(self._taken * INTERVAL_S))
        self.sent = sum(map(len, batched(self.published))) / len(pushes)
        took = (time.process_time() - began) / len(pushes)
        assert len(self.published) == len(pushes)
        return took


class Measured(NamedTuple):
    """Bytes of a push, of its record and of that on the topic; seconds of CPU for it: of the gateway, of one that judges each push in full,
    and of the job: medians.
    """

    pushed: float
    recorded: float
    on_topic: float
    gateway: float
    in_full: float
    job: float


def measured(metrics: int) -> Measured:
    """What clients cost that push for the third time, and later."""
    kept, took, in_full, of_job = Gateway(PUSHES), list[float](), list[float](), list[float]()
    for interval in range(_LEARNS + ROUNDS):
        pushes = [push(metrics, number, interval) for number in range(PUSHES)]
        took.append(kept.take(pushes))
        in_full.append(Gateway(PUSHES).take(pushes))  # of connections that are new
    rows = pa.array([value for _, value in kept.published], pa.binary())
    for _ in range(ROUNDS):
        began = time.process_time()
        with_evidence(rows_of_facts, rows, None)
        of_job.append((time.process_time() - began) / PUSHES)
    sizes = statistics.mean(len(each.metrics) for each in pushes), statistics.mean(len(value) for _, value in kept.published)
    return Measured(*sizes, kept.sent, *map(statistics.median, (took[_LEARNS:], in_full[_LEARNS:], of_job)))


def hostile(metrics: int) -> tuple[float, float]:
    """Seconds of CPU for a push whose names and labels are as long as the last's, and all new; of a gateway that judges each push in full,
    too: means.
    """
    clients = PUSHES // 8
    kept, took, in_full = Gateway(clients), list[float](), list[float]()
    for interval in range(_HOSTILE):
        # Each as new to either gateway as to the other.
        mine, others = ([push(metrics, number, 0, f"-{number:03}{interval:02}{of}") for number in range(clients)] for of in "ab")
        took.append(kept.take(mine))
        in_full.append(Gateway(clients).take(others))
    return statistics.mean(took), statistics.mean(in_full)


def main() -> None:
    view = Table(
        "client",
        "metrics",
        "push, bytes",
        "record, bytes",
        "on the topic",
        "µs of CPU, gateway",
        "judged in full",
        "cores",
        "µs of CPU, job",
        "cores",
        "MB/s",
        title=f"{CLIENTS:,} clients, one push in {INTERVAL_S} s",
    )
    for name, metrics in METRICS.items():
        found, rate = measured(metrics), CLIENTS / INTERVAL_S
        view.add_row(
            name,
            str(metrics),
            f"{found.pushed:,.0f}",
            f"{found.recorded:,.0f}",
            f"{found.on_topic:,.0f}",
            f"{found.gateway * 1e6:,.0f}",
            f"{found.in_full * 1e6:,.0f}",
            f"{rate * found.gateway:.3f}",
            f"{found.job * 1e6:,.0f}",
            f"{rate * found.job:.2f}",
            f"{rate * found.on_topic / 1e6:.2f}",
        )
    Console(width=120).print(view)
    took, in_full = hostile(METRICS["Java"])
    print(f"names and labels new each time: {took * 1e6:,.0f} µs, each push in full {in_full * 1e6:,.0f} µs")


if __name__ == "__main__":
    main()
