"""What a client's push of its own metrics costs the gateway's main process, and a worker of the job: ``make bench-telemetry``.

Pushes are made up: as many metrics as Java 4.4's consumer and librdkafka 2.16 have, with names and labels of about that length. Real names
differ more, and compress less. CPU time of this process, from a worker's report to the record's value, and from that to a row of facts;
publishing, Spark and Delta are not in it.
"""

from __future__ import annotations

import gzip
import statistics
import time
import uuid

import pyarrow as pa
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from rich.console import Console
from rich.table import Table

from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.gateway.telemetry import TelemetryRecords
from clientscope.gateway.worker.messages import Measures
from clientscope.session.state import Identity
from clientscope.wire.telemetry import GZIP, PushedMetrics
from streaming.transforms.history import telemetry_rows

METRICS = {"Java": 107, "librdkafka": 13}
CLIENTS, INTERVAL_S = 10_000, 60
ROUNDS, PUSHES = 5, 200
_LABELS = {"client_rack": "eu-west-1a", "group_id": "orders-billing", "group_member_id": f"orders-{uuid.UUID(int=5)}"}


def push(metrics: int, number: int) -> PushedMetrics:
    """One of a client: each metric with its own resource, as Java has it, and values that differ."""
    data = MetricsData()
    for place in range(metrics):
        of_resource = data.resource_metrics.add()
        for key, text in _LABELS.items():
            of_resource.resource.attributes.add(key=key).value.string_value = text
        metric = of_resource.scope_metrics.add().metrics.add(name=f"org.apache.kafka.consumer.fetch.manager.records.metric.{place}.avg")
        point = metric.gauge.data_points.add(as_double=number * place / 7, time_unix_nano=time.time_ns(), start_time_unix_nano=1)
        point.attributes.add(key="node_id").value.string_value = f"node-{place % 3}"
    return PushedMetrics(uuid.UUID(int=number + 10), 1, False, GZIP, gzip.compress(data.SerializeToString()))


def measured(metrics: int) -> tuple[float, float, float, float]:
    """Bytes of a push, bytes of its record, and seconds of CPU for it, of the gateway and of the job: the medians of the rounds."""
    registry, published = ConnectionRegistry(GatewayPlace("cluster", 1, "gateway-1", 1000, "CLIENT")), list[bytes]()
    for number in range(PUSHES):
        registry.opened(number, "10.0.0.1", 1, Identity(f"app-{number}", "apache-kafka-java", "4.4.0", principal="User:ANONYMOUS"))

    def publish(_key: str, value: bytes) -> bool:
        published.append(value)
        return True

    pushes = [push(metrics, number) for number in range(PUSHES)]
    took = []
    for _ in range(ROUNDS):
        records = TelemetryRecords(registry, publish, print)
        began = time.process_time()
        for number, each in enumerate(pushes):
            records.take(Measures(number, each, 1, False), 0.0)
        took.append((time.process_time() - began) / PUSHES)
    rows, of_job = pa.array(published[:PUSHES], pa.binary()), []
    for _ in range(ROUNDS):
        began = time.process_time()
        telemetry_rows(rows, None)
        of_job.append((time.process_time() - began) / PUSHES)
    sizes = statistics.mean(len(each.metrics) for each in pushes), statistics.mean(map(len, published))
    return *sizes, statistics.median(took), statistics.median(of_job)


def main() -> None:
    view = Table(
        "client",
        "metrics",
        "push, bytes",
        "record, bytes",
        "µs of CPU, gateway",
        "cores",
        "µs of CPU, job",
        "cores",
        "MB/s",
        title=f"{CLIENTS:,} clients, one push in {INTERVAL_S} s",
    )
    for name, metrics in METRICS.items():
        pushed, recorded, seconds, of_job = measured(metrics)
        rate = CLIENTS / INTERVAL_S
        view.add_row(
            name,
            str(metrics),
            f"{pushed:,.0f}",
            f"{recorded:,.0f}",
            f"{seconds * 1e6:,.0f}",
            f"{rate * seconds:.2f}",
            f"{of_job * 1e6:,.0f}",
            f"{rate * of_job:.2f}",
            f"{rate * recorded / 1e6:.2f}",
        )
    Console().print(view)


if __name__ == "__main__":
    main()
