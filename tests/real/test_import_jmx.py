"""`clientscope import jmx` on a real broker's metrics, in the formats of several rules of the JMX exporter, and by a real Prometheus."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from observe import eventually
from real_prometheus import prometheus

from clientscope.client.raw import RawClient
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port

pytestmark = pytest.mark.matrix

WITHOUT_RULES = """
includeObjectNames: ["kafka.server:type=socket-server-metrics,*", "kafka.network:type=RequestMetrics,*"]
"""
LOWERCASE = """
lowercaseOutputName: true
lowercaseOutputLabelNames: true
includeObjectNames: ["kafka.server:type=socket-server-metrics,*", "kafka.network:type=RequestMetrics,*"]
rules:
  - pattern: kafka.(\\w+)<type=(.+), clientSoftwareName=(.+), clientSoftwareVersion=(.+), listener=(.+), networkProcessor=(.+)><>connections
    name: kafka_$1_$2_connections
    type: GAUGE
    labels: {clientSoftwareName: "$3", clientSoftwareVersion: "$4", listener: "$5", networkProcessor: "$6"}
  - pattern: kafka.(\\w+)<type=(.+), name=(.+)PerSec\\w*, request=(.+), version=(\\d+)><>Count
    name: kafka_$1_$2_$3_total
    type: COUNTER
    labels: {request: "$4", version: "$5"}
"""


class Scraped(NamedTuple):
    """A broker of 3.9, and its exporter's page."""

    broker: EmbeddedBroker
    page: str


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(WITHOUT_RULES, id="without-rules"),
        pytest.param(LOWERCASE, id="lowercase", marks=pytest.mark.long_form(only=True)),
    ],
)
def scraped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    folder = tmp_path_factory.mktemp("jmx")
    rules = folder / "rules.yaml"
    rules.write_text(request.param)
    address = f"127.0.0.1:{free_port()}"
    plan = BrokerPlan(free_port(), free_port(), address, folder / "broker", free_port(), jmx_rules=rules, release="broker-3.9")
    with EmbeddedBroker(plan) as broker:
        yield Scraped(broker, f"http://127.0.0.1:{plan.jmx_port}/metrics")


@pytest.fixture(scope="module")
def client(scraped: Scraped) -> Iterator[RawClient]:
    """A client of its own software that used ListOffsets v0, which 4.0 doesn't serve, three times, and stays connected."""
    with closing(RawClient.connect(scraped.broker.plan.internal, "old")) as connected:
        connected.api_versions("old-app", "0.1")
        for _ in range(3):
            connected.request(ListOffsetsRequest(version=0, replica_id=-1, topics=[]), ListOffsetsResponse)
        yield connected


def imported(*words: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "clientscope.cli", "import", "jmx", *words]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env={"COLUMNS": "140"})
    return ended.returncode, ended.stdout, ended.stderr


def numbers(out: str) -> dict[tuple[Any, ...], tuple[int, str]]:
    kinds: dict[str, tuple[str, ...]] = {"connections": ("software_name", "software_version"), "requests": ("api", "api_version")}
    return {
        (row["kind"], *(row[name] for name in kinds[row["kind"]])): (row["count"], row["readiness"])
        for row in json.loads(out)
        if row["kind"] in kinds
    }


def test_the_page_of_an_exporter(scraped: Scraped, client: RawClient) -> None:
    status, out, err = imported(scraped.page, "--target", "4.0.0", "-o", "json")
    found = numbers(out)
    assert status == 1, err
    software = [row for row in json.loads(out) if row["kind"] == "deprecated"]
    # Kafka 3.7 and later also count deprecated requests by software, where the rules let them through.
    assert found["connections", "old-app", "0.1"] == (1, "breaks" if software else "unknown")
    assert found["requests", "ListOffsets", 0] == (3, "breaks")
    assert found["requests", "ApiVersions", 4][1] == "fine"
    assert not any(api == "BrokerHeartbeat" for _, api, _ in found)
    assert numbers(imported(scraped.page, "--target", "3.9.0", "-o", "json")[1])["requests", "ListOffsets", 0] == (3, "fine")


def test_a_table_and_a_saved_page(scraped: Scraped, client: RawClient, tmp_path: Path) -> None:
    saved = tmp_path / "page.txt"
    with urllib.request.urlopen(scraped.page, timeout=30) as page:
        saved.write_bytes(page.read())
    status, out, _ = imported(str(saved), "--target", "4.0.0")
    line, *deprecated = (line for line in out.splitlines() if "serves ListOffsets" in line)
    assert line.split()[:4] == ["breaks", "ListOffsets", "0", "3"]
    assert "Kafka 4.0.0 serves ListOffsets 1 to" in line
    assert [each.split()[:6] for each in deprecated] in ([], [["breaks", "ListOffsets", "0", "old-app", "0.1", "3"]])
    assert "Requests in versions that Kafka 4.0.0 doesn't serve: 3." in out
    assert status == 1


def test_prometheus_counts_requests_of_its_window(scraped: Scraped, client: RawClient, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    with prometheus({"kafka": scraped.page.split("/")[2]}, tmp_path, address) as answer:
        assert eventually(lambda: bool(answer('{__name__=~"kafka.*", request="ListOffsets", version="0"}')), 60)
        status, out, err = imported("--prometheus", f"http://{address}", "--window", "1h", "--target", "4.0.0", "-o", "json")
    found = numbers(out)
    assert status == 1, err
    assert found["connections", "old-app", "0.1"][0] == 1
    assert found["requests", "ListOffsets", 0] == (3, "breaks"), "a series that begins in the window counts whole"


def test_what_is_no_such_page_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("# HELP x y\nx 1\n")
    (tmp_path / "broken").write_text('kafka{request="a\n')
    for words, message in (
        ((f"http://127.0.0.1:{free_port()}/metrics",), "no metrics come from"),
        ((str(tmp_path / "missing"),), "can't be read"),
        ((str(tmp_path / "empty"),), "no connections by software and no requests by version"),
        ((str(tmp_path / "broken"),), "is no page of a JMX exporter"),
        ((), "which metrics?"),
        (("--prometheus", f"http://127.0.0.1:{free_port()}"), "no metrics come from"),
        ((str(tmp_path / "empty"), "--target", "9.9"), "9.9"),
    ):
        status, _, err = imported(*words)
        assert (status, message in err, "Traceback" in err) == (2, True, False), err
