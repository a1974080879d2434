"""`clientscope doctor` at a real broker and gateway: all well, then with several things broken; no secret is ever shown."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from conftest import RunningBroker, RunningGateway
from forked import clientscope
from kafka import KafkaAdminClient
from observe import private_file, set_topic
from patience import eventually

from clientscope.local.process import free_port
from clientscope.model.topics import GAUGES, QUARANTINE, TOPICS

CANARIES = ("CNRYDIGESTKEYCNRYDIGESTKEYCNRYDIGESTKEY", "CNRYTOKENCNRYTOKENCNRY", "CNRYPASSWORDCNRY")


def settings(home: Path, broker: RunningBroker, gateway: RunningGateway) -> Path:
    """A file of settings of all processes; canaries are at each place that holds a secret."""
    file = home / "clientscope.toml"
    digest, token = home / "digest.key", home / "token"
    file.write_text(
        f'[kafka]\n"bootstrap.servers" = "{broker.internal}"\n'
        f'[gateway]\nlisten = "{gateway.address}"\nmetrics_listen = "{gateway.metrics_url.split("/")[2]}"\n'
        f'admin_listen = "{gateway.admin}"\n'
        f'digest_key_file = "{digest}"\nadmin_token_file = "{token}"\n'
        f'[stream]\ncheckpoint_dir = "{home}/checkpoints"\nhistory_dir = "{home}/history"\nmetrics_listen = "127.0.0.1:{free_port()}"\n'
        f'digest_key_file = "{digest}"\n'
        f'[serve]\nlisten = "127.0.0.1:{free_port()}"\nreader_token_file = "{token}"\n'
        f'[page]\ntoken_file = "{token}"\n'
    )
    return file


def doctor(file: Path, *flags: str) -> tuple[int, str]:
    """Its exit status and all that it prints."""
    ended = clientscope("doctor", "--config", str(file), *flags)
    assert "Traceback" not in ended.stderr, ended.stderr
    for canary in CANARIES:
        assert canary not in ended.stdout + ended.stderr
    return ended.returncode, ended.stdout


def results(file: Path, *flags: str) -> tuple[int, list[dict[str, Any]]]:
    status, out = doctor(file, "-o", "json", *flags)
    return status, json.loads(out)["results"]


def of(found: list[dict[str, Any]], check: str, outcome: str = "") -> list[dict[str, Any]]:
    return [each for each in found if each["check"] == check and outcome in ("", each["outcome"])]


@pytest.mark.faults
def test_all_is_well_then_several_things_are_broken(lone: RunningBroker, tmp_path: Path) -> None:
    private_file(tmp_path / "digest.key", CANARIES[0])
    private_file(tmp_path / "token", f"ann {CANARIES[1]}")
    with lone.gateway(tmp_path, advertised=True) as gateway:
        file = settings(tmp_path, lone, gateway)
        is_well(file, gateway)
    is_broken(file, lone)


def is_well(file: Path, gateway: RunningGateway) -> None:
    """Nothing is a problem, and what was looked at is what is there."""
    assert eventually(lambda: not [each for each in results(file)[1] if each["outcome"] in ("problem", "warning")]), results(file)
    status, found = results(file, "--gateway", gateway.address)
    assert status == 0
    texts = {check: " ".join(each["text"] for each in of(found, check, "ok")) for check in {each["check"] for each in found}}
    assert f"CLIENT of broker 1 advertises {gateway.address}: a gateway answers" in texts["listeners"]
    assert f"--gateway {gateway.address}: a gateway answers" in texts["listeners"]
    assert "INTERNAL of broker 1" in texts["listeners"] and "the broker itself" in texts["listeners"]
    assert f"gateway --listen {gateway.address} is in use by clientscope" in texts["ports"]
    assert f"gateway --admin-listen {gateway.admin} is in use by clientscope" in texts["ports"]
    assert f"{len(TOPICS)} topics have" in texts["topics"]
    assert "this machine's clock is" in texts["clocks"]
    assert {"java", "spark", "disk", "brokers", "files"} <= {check for check, text in texts.items() if text}
    status, text = doctor(file)
    assert status == 0 and "0 problems, 0 warnings" in text and "\x1b" not in text


def is_broken(file: Path, broker: RunningBroker) -> None:
    """The gateway is gone, and topics are missing or set otherwise; files and ports need no broker (test_doctor_checks)."""
    with KafkaAdminClient(bootstrap_servers=broker.internal) as admin:
        admin.delete_topics([QUARANTINE])
    set_topic(broker.internal, GAUGES, {"cleanup.policy": "delete"})
    status, found = results(file)
    assert status == 1
    (advertised,) = of(found, "listeners", "problem")
    assert f"CLIENT of broker 1 advertises {broker.advertised}: no connection" in advertised["text"]
    assert "start the gateway at that address" in advertised["remedy"] and "clientscope gateway --listen" in advertised["command"]
    missing, otherwise = of(found, "topics", "problem")
    assert missing["text"] == f"missing: {QUARANTINE}"
    assert missing["command"] == f"clientscope topics --bootstrap-servers {broker.internal}"
    assert f"{GAUGES} has cleanup.policy=delete, not compact" in otherwise["text"] and "kafka-configs.sh" in otherwise["command"]


def test_a_password_is_never_shown_and_nobody_answering_takes_no_time(tmp_path: Path) -> None:
    private_file(tmp_path / "password", CANARIES[2])
    file = tmp_path / "c.toml"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        file.write_text(
            f'[kafka]\n"bootstrap.servers" = "{address}"\n"security.protocol" = "SASL_PLAINTEXT"\n"sasl.mechanism" = "PLAIN"\n'
            f'"sasl.username" = "me"\n"sasl.password.file" = "{tmp_path / "password"}"\n'
        )
        status, found = results(file, "--gateway", address, "--timeout-seconds", "0.5")
        assert status == 1
        assert f"no broker answers at {address}" in of(found, "brokers", "problem")[0]["text"]
        assert {of(found, check)[0]["outcome"] for check in ("topics", "rights", "clocks")} == {"not checked"}
        assert "doesn't answer ApiVersions" in of(found, "listeners", "problem")[0]["text"]
    (tmp_path / "password").chmod(0o604)
    status, found = results(file)
    assert of(found, "files", "problem")[0]["command"] == f"chmod 600 {tmp_path / 'password'}"
    assert of(found, "brokers")[0]["outcome"] == "not checked"
    assert doctor(file, "--gateway", "nowhere")[0] == 2
