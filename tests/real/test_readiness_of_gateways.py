"""Upgrade readiness by what a gateway recorded: real clients and old requests at a real broker of 3.9, the command and the page's API."""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kafka
import pytest
from conftest import RunningBroker, RunningGateway, running_broker, running_processes
from forked import clientscope
from frame_bytes import head
from observe import connection_records, knowing_its_topics, make_topic, page, statuses
from patience import LIMIT_S, until

from clientscope.client.raw import RawClient
from clientscope.local.process import free_port
from clientscope.model.enums import Kind

pytestmark = pytest.mark.matrix

TOPIC = "readiness"
METADATA, FETCH, LIST_OFFSETS = 3, 1, 2
EMPTY = {
    (METADATA, 0): struct.pack(">i", 0),
    (FETCH, 3): struct.pack(">iiiii", -1, 0, 0, 1, 0),
    (LIST_OFFSETS, 0): struct.pack(">ii", -1, 0),
}
"""Bodies of requests of which clients of 0.10 are made: of no topic, but Metadata, which is of all."""


def asks(client: RawClient, api_key: int, version: int) -> None:
    """Sends a request of such a version and waits for its answer: the broker serves it."""
    client.send_frame(head(api_key, version, 7, client.client_id.encode()) + EMPTY[api_key, version])
    assert client.receive_frame()[:4] == struct.pack(">i", 7)


@pytest.fixture(scope="module")
def broker(folder: Path) -> Iterator[RunningBroker]:
    with running_broker(folder / "broker", "broker-3.9") as running:
        yield running


@pytest.fixture(scope="module")
def gateway(broker: RunningBroker, folder: Path) -> Iterator[RunningGateway]:
    with broker.gateway(folder / "gateway", advertised=True) as running:
        yield running


def work(gateway: RunningGateway) -> None:
    """What a program does that uses kafka-python: one record there, and back in a group."""
    common = {"bootstrap_servers": gateway.address, "client_id": "ready-new-1"}
    with kafka.KafkaProducer(**common) as producer:
        producer.send(TOPIC, b"one").get(LIMIT_S)
    options = {"group_id": "ready", "auto_offset_reset": "earliest", "consumer_timeout_ms": 30_000}
    with knowing_its_topics(kafka.KafkaConsumer(TOPIC, **common, **options)) as consumer:
        assert next(consumer).value == b"one"
        consumer.commit()


def listed(broker: RunningBroker, *words: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    """Status, applications by name, and standard error of the command."""
    ended = clientscope("readiness", "--bootstrap-servers", broker.internal, "-o", "json", *words)
    assert ended.returncode in (0, 1), ended.stderr
    return ended.returncode, {row["application"]: row for row in json.loads(ended.stdout)}, ended.stderr


def test_clients_are_judged_by_what_the_gateway_saw(broker: RunningBroker, gateway: RunningGateway, tmp_path: Path) -> None:
    make_topic(broker.internal, TOPIC)
    work(gateway)
    with (
        gateway.connect("ready-old-1") as old,
        gateway.connect("ready-chose-1") as chose,
        gateway.connect("ready-quiet-1") as quiet,
    ):
        asks(old, METADATA, 0)
        for _ in range(100):
            asks(old, FETCH, 3)
        chose.api_versions("librdkafka", "1.0.0", version=3)
        asks(chose, LIST_OFFSETS, 0)
        quiet.api_versions("mystery", "1.0", version=3)

        def known() -> bool:
            applications = set(listed(broker, "--target", "4.0.0")[1])
            return {"ready-old", "ready-chose", "ready-quiet", "ready-new"} <= applications

        until(known, why="while the connections are open")
        until(lambda: any(kind == "broker" for kind, _ in statuses(broker.internal)))

        status, found, errors = listed(broker, "--target", "4.0.0")
        assert status == 1
        assert {name: row["readiness"] for name, row in found.items() if name.startswith("ready")} == {
            "ready-old": "breaks", "ready-chose": "breaks", "ready-quiet": "unknown", "ready-new": "fine",
        }  # fmt: skip
        assert (
            "4.0.0 doesn't serve Fetch 3: it was removed in 4.0.0. The client was never seen to send ApiVersions"
            in found["ready-old"]["reason"]
        )
        assert "ListOffsets 0" in found["ready-chose"]["reason"] and "the broker (3.9." in found["ready-chose"]["reason"]
        assert "Upgrade librdkafka to 1.8.2" in found["ready-chose"]["advice"]
        assert found["ready-new"]["software"].startswith("kafka-python 3")
        assert found["ready-old"]["last_old"] and not found["ready-new"]["last_old"]
        assert "--broker-release" not in errors, "the brokers' release comes from the gateway's status"
        status, found, _ = listed(broker, "--target", "3.9")
        assert status == 0 and found["ready-old"]["readiness"] == "fine"

        records = connection_records(broker.internal, gateway.address)
        present = Counter(record.client_id for record in records if record.kind == Kind.PRESENT)
        assert present["ready-old-1"] == 1, "a hundred requests of one version are one record"
        (of_old,) = [record for record in records if (record.client_id, record.kind) == ("ready-old-1", Kind.PRESENT)]
        assert of_old.requested_versions == ((FETCH, 3), (METADATA, 0))

    with gateway.connect("ready-short-1") as short:
        asks(short, FETCH, 3)

    def at_its_end() -> list[Any]:
        ends = connection_records(broker.internal, gateway.address, kind=Kind.CLOSED, client_id="ready-short-1")
        return [each.requested_versions for each in ends]

    until(at_its_end, [((FETCH, 3),)], why="a short connection says what it requested")
    the_page_shows_the_same(broker, tmp_path)


def the_page_shows_the_same(broker: RunningBroker, folder: Path) -> None:
    owners = folder / "owners.toml"
    owners.write_text('[[owner]]\nteam = "payments"\ncontact = "#payments"\nclient_id = "ready-old-*"\n')
    address = f"127.0.0.1:{free_port()}"

    def ask(words: str) -> Any:
        return json.loads(page(f"http://{address}/api/v1/readiness?{words}")[1])

    with running_processes(folder) as processes:
        processes.start(
            "serve", "serve", "--bootstrap-servers", broker.internal, "--listen", address, "--owners", str(owners),
            "--data-docs-dir", str(folder / "docs"),
        )  # fmt: skip
        processes.await_ready("serve")
        answer = ask("target=4.0.0")
        assert answer["release_known"]
        assert {row["label"]: row["verdict"] for row in answer["items"] if (row["label"] or "").startswith("ready")} == {
            "ready-old": "breaks", "ready-chose": "breaks", "ready-short": "breaks", "ready-quiet": "unknown", "ready-new": "fine",
        }  # fmt: skip
        by_owner = {row["label"]: (row["verdict"], row["clients"]) for row in ask("target=4.0.0&by=owner")["items"]}
        assert by_owner["payments (#payments)"] == ("breaks", 1)
        assert set(ask("target=3.9&by=software")["verdicts"]) == {"fine", "unknown"}
