"""Brokers' metrics under the names and labels that exporters' rules give them, and hostile ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from clientscope.commands.imports import jmx_metrics
from clientscope.commands.imports.jmx import ImportJmxSettings
from clientscope.commands.imports.jmx_metrics import JmxKey, JmxMetrics, ask_prometheus, read_page
from clientscope.commands.imports.jmx_rows import rows, run
from clientscope.errors import EnvironmentProblem, SettingsError
from clientscope.readiness import Readiness


def counts(page: str, folder: Path) -> dict[JmxKey, int]:
    (folder / "page").write_text(page)
    metrics = JmxMetrics()
    read_page(str(folder / "page"), metrics)
    return dict(metrics.counts)


@pytest.mark.parametrize(
    "line",
    [
        'kafka_server_socket_server_metrics_connections{clientSoftwareName="app",clientSoftwareVersion="1.0",listener="A"} 2',
        'kafka_server_socketservermetrics_connections{client_software_name="app",client_software_version="1.0",listener="A"} 2.0',
        'kafka_server_socket_server_metrics_connections_software{clientsoftwarename="app",clientsoftwareversion="1.0"} 2',
        'kafka_client_connections{client_software_name="app",client_software_version="1.0"} 2',
    ],
)
def test_connections_by_whatever_name(line: str, tmp_path: Path) -> None:
    other = line.replace('"A"', '"B"').replace(" 2", " 1")
    assert counts(f"# HELP x y\n{line}\n", tmp_path) == {JmxKey("connections", "app", "1.0"): 2}
    if other.replace(" 1", " 2") != line:
        assert counts(f"{line}\n{other}\n", tmp_path) == {JmxKey("connections", "app", "1.0"): 3}


@pytest.mark.parametrize(
    "line",
    [
        'kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="Produce",version="2"} 7',
        'kafka_network_requestmetrics_requests_total{request="Produce",version="2"} 7.0',
        'kafka_network_requestmetrics_requestspersec_count{request="Produce",version="2"} 7.0',
    ],
)
def test_requests_by_whatever_name(line: str, tmp_path: Path) -> None:
    assert counts(line, tmp_path) == {JmxKey("requests", "", "", 0, 2): 7}


def test_fetches_of_brokers_do_not_count(tmp_path: Path) -> None:
    page = "\n".join(f'x_requests_total{{request="{name}",version="4"}} 7' for name in ("Fetch", "FetchConsumer", "FetchFollower"))
    assert counts(page.replace("FetchConsumer\",version=\"4\"} 7", "FetchConsumer\",version=\"4\"} 5"), tmp_path) == {
        JmxKey("requests", "", "", 1, 4): 5
    }  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        'kafka_network_RequestMetrics_MeanRate{name="RequestsPerSec",request="Produce",version="2"} 7',
        'kafka_network_RequestMetrics_Count{name="RequestBytes",request="Produce"} 7',
        'http_requests_total{request="GET /",version="1.1"} 7',
        'x_requests_total{request="Produce",version="2"} NaN',
        'x_requests_total{request="Produce",version="2"} -1',
        'x_requests_total{request="Produce",version="2"} +Inf',
        'x_requests_total{request="Produce",version="two"} 7',
        'x_connection_creation_rate{clientSoftwareName="app",clientSoftwareVersion="1"} 7',
        'kafka_connections_total{clientSoftwareName="app",clientSoftwareVersion="1"} 7',
    ],
)
def test_other_metrics_do_not_count(line: str, tmp_path: Path) -> None:
    assert counts(line, tmp_path) == {}


def test_a_version_of_any_length_and_names_beyond_the_limit_end_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jmx_metrics, "MOST_KEYS", 2)
    (tmp_path / "page").write_text(
        f'x_requests_total{{request="Produce",version="{"9" * 5000}"}} 1\n'
        + "".join(f'x_connections{{clientSoftwareName="app-{number}",clientSoftwareVersion="1"}} 1\n' for number in range(5))
        + "".join(f'x_requests_total{{request="Unknown{number}",version="1"}} 1\n' for number in range(500))
    )
    metrics = JmxMetrics()
    read_page(str(tmp_path / "page"), metrics)
    assert (len(metrics.counts), metrics.left_out, len(metrics.unknown)) == (2, 4, 100)


def test_rows_have_the_verdict_of_the_target() -> None:
    metrics = JmxMetrics()
    metrics.counts.update(
        {
            JmxKey("connections", "apache-kafka-java", "3.9.0"): 4,
            JmxKey("connections", "sarama", "1.26"): 3,
            JmxKey("connections", "o\x1b[31mld", "1"): 2,
            JmxKey("requests", "", "", 0, 2): 7,
            JmxKey("requests", "", "", 0, 9): 8,
            JmxKey("requests", "", "", 18, 99): 1,
            JmxKey("requests", "", "", 6, 0): 9,
            JmxKey("deprecated", "o\x1b[31mld", "1", 0, 2): 7,
        }
    )
    made = [(row.kind, row.software_name or row.api, row.count, row.readiness) for row in rows(metrics, "4.0.0")]
    assert made == [
        ("connections", "o\ufffd[31mld", 2, Readiness.BREAKS),
        ("connections", "sarama", 3, Readiness.UNKNOWN),
        ("connections", "apache-kafka-java", 4, Readiness.FINE),
        ("requests", "Produce", 7, Readiness.BREAKS),
        ("requests", "ApiVersions", 1, Readiness.FALLS_BACK),
        ("requests", "Produce", 8, Readiness.FINE),
        ("deprecated", "o\ufffd[31mld", 7, Readiness.BREAKS),
    ]


def test_the_exit_status_is_for_ci(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page").write_text('x_requests_total{request="Produce",version="2"} 7\n')
    statuses = [
        run(ImportJmxSettings(pages=(str(tmp_path / "page"),), target=target, output="csv")) for target in ("4.0.0", "3.9.0")
    ]  # fmt: skip
    out = capsys.readouterr().out
    assert statuses == [1, 0]
    assert "requests,,,Produce,2,7,breaks," in out


@contextmanager
def answering(text: str) -> Iterator[str]:
    """A server that gives this answer to everything."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Keeps quiet."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"data": {"result": [{"metric": [], "value": [0, "1"]}]}}',
        '{"data": {"result": [{"metric": {}, "value": "x"}]}}',
        "[" * 100_000,
    ],
)
def test_an_answer_that_is_none_of_prometheus_is_one_clear_error(text: str) -> None:
    with answering(text) as url, pytest.raises(EnvironmentProblem, match="doesn't answer as Prometheus' HTTP API does"):
        ask_prometheus(url, "1d", JmxMetrics())


def test_a_page_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jmx_metrics, "MOST_BYTES", 1 << 20)
    with answering("x" * (1 << 20)) as url:
        read_page(url, JmxMetrics())
    with answering("x" * ((1 << 20) + 1)) as url, pytest.raises(SettingsError, match="has more than 1 MiB"):
        read_page(url, JmxMetrics())
