"""``import client-logs --publish`` of clients that are connected: their settings are on the page with their connections."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from observe import eventually, read_all

from clientscope.client import KafkaProducer
from clientscope.kafka import admin
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import stop
from clientscope.records.codec import ClientConfigRecord, decode
from clientscope.records.layouts import Origin
from clientscope.records.topics import CONFIGS

FIXTURES = Path(__file__).parents[1] / "fixtures"
PROGRAM = Path(__file__).with_name("clients") / "ConnectedClients.java"
OWN = {"producer-1", "consumer-billing-1"}
"""An admin client logs no client.id where its library chooses one."""
LAYOUT = FIXTURES / "log4j2.properties"


def api(installation: Any, path: str) -> Any:
    with urllib.request.urlopen(f"{installation.page_url}api/v1/{path}", timeout=10) as response:
        return json.load(response)


def imported(installation: Any, *paths: Path) -> str:
    command = [
        sys.executable, "-m", "clientscope.cli", "import", "client-logs", "--publish", "--bootstrap-servers", installation.broker.internal,
        "--digest-key-file", str(installation.data_dir / "digest.key"), *map(str, paths),
    ]  # fmt: skip
    ran = subprocess.run(command, check=False, env={**os.environ, "COLUMNS": "140"}, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def details(installation: Any) -> dict[str, Any]:
    """By client.id, all about the client."""
    keys = [each["key"] for each in api(installation, "clients?limit=1000")["items"]]
    found = {}
    for key in keys:
        try:
            each = api(installation, f"clients/{urllib.parse.quote(key, safe='')}")
        except urllib.error.HTTPError as error:  # since it was listed, its connection has turned out to be another client's
            assert error.code == 404
            continue
        found[each["client"]["client_id"]] = each
    return found


@contextmanager
def connected_clients(address: str, topic: str, folder: Path) -> Iterator[Path]:
    """Real Java clients that log their settings to the file that is given."""
    shutil.copy(LAYOUT, folder)
    logging = [path for path in jars("broker") if path.name.startswith(("slf4j-api", "log4j-"))]
    paths = [path for path in jars("client-4.4") if not path.name.startswith("slf4j-api")]
    command = [
        java(),
        "-Xmx256m",
        "-Duser.timezone=UTC",
        "-cp",
        ":".join(map(str, [*paths, *logging, folder])),
        str(PROGRAM),
        address,
        topic,
    ]
    with (folder / "app.log").open("wb") as log:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
    try:
        yield folder / "app.log"
    finally:
        assert child.stdin is not None
        child.stdin.close()
        stop(child)


@pytest.mark.timeout(300)
def test_logged_settings_are_with_the_connections_of_their_client(installation: Any, tmp_path: Path) -> None:
    with admin.connected(installation.broker.internal) as client:
        client.create_topics({"orders": {"num_partitions": 1, "replication_factor": 1}})
    with (
        connected_clients(installation.gateway.address, "orders", tmp_path) as log,
        KafkaProducer(bootstrap_servers=installation.gateway.address, client_id="pusher", acks="all") as pusher,
    ):
        pusher.partitions_for("orders")
        assert eventually(lambda: {*OWN, "pusher"} <= {each["client_id"] for each in api(installation, "clients?limit=1000")["items"]}, 60)
        assert eventually(lambda: (of := details(installation)["pusher"]["configuration"]) is not None and of["origin"] == "pushed", 60)

        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S,000")
        forged = re.sub(r"(?m)^\[[^\]]+\]", f"[{now}]", (FIXTURES / "client_logs" / "java-4.4.log").read_text())
        (tmp_path / "forged.log").write_text(forged.replace("client.id = orders-1", "client.id = pusher").replace("billing", "forged"))
        said = imported(installation, log, tmp_path / "forged.log", FIXTURES / "client_logs" / "java-2.8.log")
        assert ", 2 of them as clients that are connected" in said

        def shown() -> bool:
            found = details(installation)
            return all((of := found[name]["configuration"]) is not None and of["origin"] == "client_log" for name in OWN)

        assert eventually(shown, 60)
        found = details(installation)
        producer = {each["key"]: each for each in found["producer-1"]["configuration"]["settings"]}
        assert (producer["acks"]["value"], producer["acks"]["source"]) == ("1", "pushed")
        assert (producer["buffer.memory"]["value"], producer["buffer.memory"]["source"]) == ("33554432", "default")
        assert eventually(lambda: "AN201" in {each["code"] for each in details(installation)["consumer-billing-1"]["findings"] or ()}, 60)
        assert found["pusher"]["configuration"]["origin"] == "pushed", "a log gives no client that pushes other settings"

        imported(installation, log)
    records: list[Any] = [decode(ClientConfigRecord, each.value) for each in read_all(installation.broker.internal, CONFIGS) if each.value]
    of_log = [record for record in records if record.origin == Origin.CLIENT_LOG and record.client_address]
    assert {record.client_id for record in of_log} == OWN
    assert {record.client_address for record in of_log} == {"127.0.0.1"}
    installation.processes.check()


@contextmanager
def followed(installation: Any, *paths: Path | str, stdin: int | None = None) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A sidecar, and the file that it writes errors to."""
    said = installation.data_dir / "sidecar.err"
    command = [
        sys.executable, "-m", "clientscope.cli", "import", "client-logs", "--follow", "--publish",
        "--bootstrap-servers", installation.broker.internal, *map(str, paths),
    ]  # fmt: skip
    with said.open("wb") as file:
        sidecar = subprocess.Popen(command, stdin=stdin or subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)
    try:
        assert eventually(lambda: b": ready" in said.read_bytes(), 60), said.read_text()
        yield sidecar, said
    finally:
        stop(sidecar)


def logged(installation: Any, client_id: str) -> list[Any]:
    """Its records, the oldest first."""
    records: list[Any] = [decode(ClientConfigRecord, each.value) for each in read_all(installation.broker.internal, CONFIGS) if each.value]
    return [record for record in records if record.origin == Origin.CLIENT_LOG and record.client_id == client_id]


@pytest.mark.timeout(300)
def test_a_sidecar_publishes_what_is_logged_to_files_that_are_rotated(installation: Any, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    text = (FIXTURES / "client_logs" / "java-4.4.log").read_text().replace("billing", "sidecar")
    log.write_text(text.replace("orders-1", "before-1"))
    with followed(installation, log) as (sidecar, said):
        assert eventually(lambda: len(logged(installation, "before-1")) == 1, 30), said.read_text()
        log.rename(tmp_path / "app.log.1")
        half = text.index("\tlinger.ms")
        log.write_text(text[:half].replace("orders-1", "after-1"))
        with log.open("a") as file:
            file.write(text[half:])
        assert eventually(lambda: len(logged(installation, "after-1")) == 1, 30), said.read_text()
        assert len(logged(installation, "before-1")) == 1
        assert logged(installation, "after-1")[0].received_timestamp_ms > logged(installation, "before-1")[0].received_timestamp_ms
        with log.open("a") as file:
            file.write(re.sub(r"(?m)^\[[^\]]+\]", f"[{datetime.now(UTC):%Y-%m-%d %H:%M:%S},000]", text).replace("orders-1", "late-1"))
        sidecar.terminate()
        assert sidecar.wait(30) == 0
        assert len(logged(installation, "late-1")) in (0, 1), "what was read by then is published"
        assert "Traceback" not in said.read_text()


@pytest.mark.timeout(300)
def test_a_sidecar_shows_a_client_with_its_connections_some_seconds_after_its_start(installation: Any, tmp_path: Path) -> None:
    (tmp_path / "app.log").touch()
    with (
        followed(installation, tmp_path / "app.log") as (_, said),
        connected_clients(installation.gateway.address, "orders", tmp_path),
    ):
        assert eventually(lambda: b"of them as clients that are connected" in said.read_bytes(), 60), said.read_text()
        assert {record.client_address for record in logged(installation, "producer-1")} == {"127.0.0.1"}


@pytest.mark.timeout(300)
def test_a_sidecar_ends_with_standard_input(installation: Any) -> None:
    read, write = os.pipe()
    with followed(installation, "-", stdin=read) as (sidecar, said):
        os.close(read)
        os.write(write, (FIXTURES / "client_logs" / "java-4.4.log").read_bytes().replace(b"orders-1", b"piped-1"))
        os.close(write)
        assert sidecar.wait(60) == 0
    assert len(logged(installation, "piped-1")) == 1, said.read_text()
