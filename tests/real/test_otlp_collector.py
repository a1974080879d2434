"""A real OpenTelemetry Collector forwards what real clients push of their own metrics, with the configuration of docs/telemetry.md."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import confluent_kafka
import pytest
from alert_receivers import Server, serving, status
from clients.every import CLIENTS
from clients.process import run_build
from conftest import RunningBroker
from observe import metrics
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics
from patience import LIMIT_S, eventually, until
from places import ROOT
from programs import running

from clientscope.local.process import free_port

CONTRIB, CORE = "github.com/open-telemetry/opentelemetry-collector-contrib", "go.opentelemetry.io/collector"
MODULES = [
    f"{CONTRIB}/exporter/prometheusexporter@v0.165.0",
    f"{CONTRIB}/processor/deltatocumulativeprocessor@v0.165.0",
    f"{CONTRIB}/receiver/kafkareceiver@v0.165.0",
    f"{CORE}/exporter/otlphttpexporter@v0.165.0",
    f"{CORE}/otelcol@v0.165.0",
]
QUIET = "service: {telemetry: {metrics: {level: none}}}\n"
"""Metrics about the Collector itself would take a port that another one may have."""

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]  # the first build on a machine compiles a thousand packages


@pytest.fixture(scope="module")
def collector(folder: Path) -> Path:
    """The program, built from its released modules."""
    if shutil.which("go") is None:
        pytest.skip("no `go` on PATH: the Collector isn't built")
    shutil.copy(ROOT / "tests/fixtures/collector/main.go", folder)
    for command in (["mod", "init", "clientscope.test/collector"], ["get", *MODULES], ["build", "-mod=mod", "-buildvcs=false", "-o", "."]):
        run_build(["go", *command], folder, 1_500, CGO_ENABLED="0")
    return folder / "collector"


def taken_by(backend: Server) -> Iterator[ResourceMetrics]:
    """What a server of OTLP/HTTP has been sent."""
    for each in list(backend.got):
        body = gzip.decompress(each.body) if each.headers.get("content-encoding") == "gzip" else each.body
        yield from ExportMetricsServiceRequest.FromString(body).resource_metrics


@contextmanager
def collecting(program: Path, folder: Path, broker: RunningBroker, endpoint: str) -> Iterator[str]:
    """The Collector as docs/telemetry.md configures it; the address of its page for Prometheus."""
    found = re.search(r"<!-- collector -->\n```yaml\n(.*?)```", (ROOT / "docs/telemetry.md").read_text(), re.DOTALL)
    assert found is not None
    (folder / "documented.yaml").write_text(found[1])
    (folder / "quiet.yaml").write_text(QUIET)
    listen = f"127.0.0.1:{free_port()}"
    variables = {"KAFKA_BROKERS": broker.internal, "OTLP_ENDPOINT": endpoint, "PROMETHEUS_LISTEN": listen, "GOMEMLIMIT": "256MiB"}
    command = [program, "--config", folder / "documented.yaml", "--config", folder / "quiet.yaml"]
    with running(folder / "collector.log", *command, ready=lambda: True, environment=variables):
        yield f"http://{listen}/metrics"


def test_what_java_and_librdkafka_push_reaches_backends_of_a_collector(collector: Path, own: RunningBroker, tmp_path: Path) -> None:
    flags = ("--client-telemetry", "--client-telemetry-interval-ms", "1000")
    with (
        serving(always=status(200, content_type="application/x-protobuf")) as backend,
        own.gateway(tmp_path, *flags, advertised=True) as gateway,
        collecting(collector, tmp_path, own, f"http://127.0.0.1:{backend.port}") as prometheus,
        CLIENTS["java 4.4"](gateway.address) as java,
    ):

        def sent(client_id: str) -> dict[str, set[str]]:
            """Names of a client's metrics, by its address, software and instance ids."""
            found: dict[str, set[str]] = {}
            for of in taken_by(backend):
                said = {each.key: each.value.string_value for each in of.resource.attributes}
                if said["client_id"] == client_id:
                    assert said["client_instance_id"] == said["service.instance.id"]
                    who = f"{said['client_source_address']} {said['client_software_name']} {said['principal']}"
                    found.setdefault(who, set()).update(metric.name for scope in of.scope_metrics for metric in scope.metrics)
            return found

        def series(name: str, client_id: str) -> float:
            """The highest number of a series on the page for Prometheus."""
            try:
                page = metrics(prometheus)
            except OSError:
                return 0
            return max((value for key, value in page.items() if key[0] == name and client_id in key), default=0)

        java.create_topic("test.collected")
        python = confluent_kafka.Producer({"bootstrap.servers": gateway.address, "client.id": "collected"})
        with java.producing("test.collected"), java.polling("test.collected", "collected") as poll:

            def both() -> bool:
                python.produce("test.collected", b"value")
                python.poll(0.2)
                poll()
                return bool(sent(java.client_id) and sent("collected")) and counted() > 1 and measured() > 0

            def counted() -> float:
                return series("org_apache_kafka_consumer_fetch_manager_records_consumed_total", java.client_id)

            def measured() -> float:
                return series("org_apache_kafka_producer_request_latency_max", "collected")

            assert eventually(both), (tmp_path / "collector.log").read_text()[-3000:]
            first = counted()
            until(lambda: both() and counted() > first, why="differences become a counter that grows")
        python.flush(LIMIT_S)
        (java_said,) = sent(java.client_id).items()
        assert java_said[0] == f"127.0.0.1 {java.identity[0]} User:ANONYMOUS"
        assert {"org.apache.kafka.consumer.time.between.poll.max", "org.apache.kafka.producer.record.send.total"} <= java_said[1]
        (librdkafka_said,) = sent("collected").items()
        assert "org.apache.kafka.producer.request.latency.avg" in librdkafka_said[1]
