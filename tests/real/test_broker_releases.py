"""The whole path with brokers of each age, from Kafka 2.4 to 4.4 (F52)."""

from __future__ import annotations

import base64
import json
import signal
from pathlib import Path
from typing import Any

import deltalake
import kafka
import pytest
from alert_receivers import SECRET, serving
from conftest import Installation, running_installation
from forked import clientscope
from observe import knowing_its_topics, make_topic, private_file, push_one, read_all
from patience import LIMIT_S, eventually, until

from clientscope.client import KafkaConsumer, KafkaProducer
from clientscope.client.raw import RawClient
from clientscope.model.topics import CONFIGS, FINDINGS, QUARANTINE

pytestmark = pytest.mark.matrix

CANARY = "canary-9d41c0"
TOPIC = "test.releases"
RELEASES = ["broker-2.4", "broker-2.8", "broker-3.6", "broker-3.9", "broker"]


def run(*words: str, notes: str = "") -> list[Any]:
    """What a command prints; it must succeed, and say ``notes`` besides or nothing."""
    ended = clientscope(*words, COLUMNS="140")
    assert (ended.returncode, bool(ended.stderr)) == (0, bool(notes)), ended.stderr
    assert notes in ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()] if "jsonl" in words else ended.stdout.splitlines()


def results(installed: Installation, client_id: str) -> list[dict[str, Any]]:
    return [row for row in installed.api("results?limit=1000")["items"] if row["client_id"] == client_id]


@pytest.mark.parametrize("release", RELEASES)
def test_f52_the_whole_path(release: str, tmp_path: Path) -> None:
    with running_installation(tmp_path, release) as installed:
        where = ("--bootstrap-servers", installed.internal)
        version = "4.4" if release == "broker" else release.removeprefix("broker-")
        run("topics", *where)
        make_topic(installed.gateway.address, TOPIC)
        clients_of_a_release(installed, version)
        commands_of_a_release(installed, version)
        the_job_continues(installed)
        installed.processes.check()
        log = "".join(path.read_text() for path in (tmp_path / "logs").glob("*.log"))
        assert "Traceback" not in log
        # At both of the job's starts, of which the log has the later.
        assert log.count("the brokers give topics no ids") == (release == "broker-2.4")
        assert CANARY not in log


def clients_of_a_release(installed: Installation, version: str) -> None:
    """A producer and a consumer push and work; a careless client leaks; gauges are the broker's own."""
    address = installed.gateway.address
    with KafkaProducer(bootstrap_servers=address, client_id="release-producer") as producer:
        producer.send(TOPIC, b"x").get(LIMIT_S)
        settings = {"bootstrap_servers": address, "client_id": "release-consumer", "group_id": "g", "auto_offset_reset": "earliest"}
        with knowing_its_topics(KafkaConsumer(TOPIC, **settings)) as consumer:
            until(lambda: consumer.poll(timeout_ms=500))
            consumer.commit()
            for client_id in ("release-producer", "release-consumer"):
                until(lambda client_id=client_id: len(results(installed, client_id)) == 1, why=client_id)

            def counted() -> dict[tuple[str, str], int]:
                rows = [row for row in installed.api("gauges")["items"] if row["listener"] == "CLIENT"]
                return {(row["software_name"], row["software_version"]): row["connections"] for row in rows if row["connections"]}

            own = (kafka.__name__ + "-python", kafka.__version__)
            assert eventually(lambda: counted() == installed.gateway.connections != {}), counted()
            assert counted().keys() == {own}
            if version != "2.4":  # KIP-511's gauge came with 2.5
                assert installed.broker.connections == counted()
            clients = run("clients", "--url", installed.page_url, "-o", "jsonl")
            assert {"release-producer", "release-consumer"} <= {line["client_id"] for line in clients}
    with RawClient.connect(address, "release-careless") as client:
        assert client.api_versions("careless", "1.0", version=3).error_code == 0
        client.push_config([("ssl.keystore.password", CANARY, 8, False)])
    until(lambda: len(results(installed, "release-careless")), 1)
    for topic in (CONFIGS, FINDINGS, QUARANTINE):
        assert all(CANARY.encode() not in (message.value or b"") for message in read_all(installed.internal, topic)), topic
    until(lambda: leaks(installed))


def leaks(installed: Installation) -> list[Any]:
    found = run("findings", "--bootstrap-servers", installed.internal, "-o", "jsonl")
    return [one for one in found if one["application"]["client_id"] == "release-careless" and one["code"].startswith("SK")]


def commands_of_a_release(installed: Installation, version: str) -> None:
    """Each command that asks the cluster; the page says the same as they."""
    where = ("--bootstrap-servers", installed.internal)
    (asked,) = run("api-versions", *where, "-o", "jsonl")
    assert asked["state"] == "answered"
    assert asked["apis"]
    (shown,) = installed.api("brokers")["items"]
    assert (shown["software_version"], shown["reason"], len(shown["apis"])) == (version, "", len(asked["apis"]))
    properties = installed.data_dir / "app.properties"
    properties.write_text(f"bootstrap.servers={installed.gateway.address}\nclient.id=release-file\nacks=1\n")
    (pushed,) = run("push", "--properties", str(properties))
    assert pushed.startswith("pushed ")
    until(lambda: len(results(installed, "release-file")), 1)
    (leak,) = leaks(installed)
    delivered_and_closed(installed, leak["fingerprint"])
    listed = run("checkpoints", "list", *where, "-o", "jsonl", notes="run by clientscope stream")
    assert listed

    def in_history() -> bool:
        table = installed.data_dir / "history" / "pushes"
        if not list((table / "_delta_log").glob("*.json")):
            return False
        return any(row["client_id"] == "release-file" for row in deltalake.DeltaTable(table).to_pyarrow_table().to_pylist())

    until(in_history)
    run("history", "erase", "--client-id", "release-file", "--history-dir", str(installed.data_dir / "history"), *where)
    assert not in_history()


def delivered_and_closed(installed: Installation, fingerprint: str) -> None:
    """The leak reaches a receiver, and a person closes it."""
    where = ("--bootstrap-servers", installed.internal)
    secret = private_file(installed.data_dir / "secret", "whsec_" + base64.b64encode(SECRET).decode())
    with serving() as server:
        receivers = installed.data_dir / "receivers.toml"
        receivers.write_text(
            f'[[receiver]]\nname = "hook"\nkind = "webhook"\nurl = "{server.url}"\nsecrets = ["file:{secret}"]\ncode = "SK*"\n'
        )
        arguments = ("deliver", *where, "--receivers", str(receivers), "--metrics-listen", "127.0.0.1:0")
        installed.processes.start("deliver", *arguments)
        installed.processes.await_ready("deliver", "ready")
        until(lambda: any(fingerprint in got.body.decode() for got in server.got))
        installed.processes.signal("deliver", signal.SIGTERM)
    run(
        "findings",
        "close",
        fingerprint,
        "--as",
        "rotated",
        "--why",
        "tested",
        "--by",
        "grace",
        *where,
        notes="the streaming job applies it",
    )
    until(lambda: fingerprint not in {one["fingerprint"] for one in leaks(installed)})


def the_job_continues(installed: Installation) -> None:
    """It is stopped and started again over its checkpoints, and judges what was pushed meanwhile."""
    installed.processes.signal("stream", signal.SIGTERM)
    with installed.gateway.connect("release-meanwhile") as client:
        assert client.api_versions("meanwhile", "1.0", version=3).error_code == 0
        assert push_one(client) == 0
    installed.job.start()
    installed.job.ready()
    until(lambda: len(results(installed, "release-meanwhile")), 1)
