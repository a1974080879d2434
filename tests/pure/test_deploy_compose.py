"""docker-compose.yml: what can be known of it without a Docker engine.  Kafka's part is in tests/real/test_compose_brokers.py."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientscope.config import ALL, ServeSettings
from clientscope.config_sources import parse
from sinks.dashboard.admission import access_of

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("clientscope:")}
"""What runs from our own image."""


def test_it_is_what_the_compose_specification_says() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(ROOT / "docker-compose.yml")]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout


def test_it_has_every_part() -> None:
    assert set(SERVICES) == {
        "kafka-1", "kafka-2", "kafka-3", "topics", "gateway-1", "gateway-2", "gateway-3", "spark-master", "spark-worker-1",
        "spark-worker-2", "stream", "serve", "deliver", "prometheus", "alertmanager", "grafana",
    }  # fmt: skip


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_can_do_little_and_says_how_it_is(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "healthcheck" in service or name == "topics", "which ends"
    assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+", service["image"]), "a pinned tag"
    # Kafka's own image runs as appuser.
    assert service["image"].startswith("apache/kafka:") or not str(service["user"]).startswith(("0", "root"))
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert all(other in SERVICES for other in service.get("depends_on", ()))


def test_no_secret_stands_in_it() -> None:
    assert {Path(secret["file"]).parent.as_posix() for secret in COMPOSE["secrets"].values()} == {"deploy/secrets"}
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    made = re.search(r"for name in (.*); do", (ROOT / "deploy" / "prepare.sh").read_text())
    assert made
    assert set(made[1].split()) == set(COMPOSE["secrets"])
    assert {name for service in SERVICES.values() for name in service.get("secrets", ())} == set(COMPOSE["secrets"])


def test_every_mounted_file_is_there_and_every_volume_is_named() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            made = source == "./deploy/data/prometheus" and "data/prometheus" in (ROOT / "deploy" / "prepare.sh").read_text()
            assert made or ((ROOT / source).exists() if source.startswith("./") else source in COMPOSE["volumes"]), volume


@pytest.mark.parametrize("name", [name for name, service in OURS.items() if service["command"][0] == "clientscope"])
def test_our_command_lines_are_taken_by_our_commands(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in COMPOSE["secrets"]:
        (tmp_path / secret).write_text(hashlib.sha256(secret.encode()).hexdigest())
        (tmp_path / secret).chmod(0o600)
    flags = [flag.replace("/run/secrets", str(tmp_path)) for flag in OURS[name]["command"][1:]]
    for variable, value in OURS[name]["environment"].items():
        monkeypatch.setenv(variable, value)
    which = next(each for each in ALL if each.section == flags[0] and each.subcommand in ("", "run"))
    settings = parse(which, flags[1:])
    if isinstance(settings, ServeSettings):
        assert access_of(settings, "0.0.0.0").authentication == "token"  # noqa: S104 - nothing listens
    assert settings.bootstrap_servers == "kafka-1:19092,kafka-2:19092,kafka-3:19092"  # type: ignore[attr-defined]


def test_a_healthcheck_asks_where_its_process_answers() -> None:
    for name, service in OURS.items():
        line = " ".join(service["command"])
        said = re.findall(r"--(?:metrics-listen=0\.0\.0\.0|webui-port|listen=0\.0\.0\.0)[:=](\d+)", line)
        if "healthcheck" in service:
            port = re.search(r"127\.0\.0\.1:(\d+)/", service["healthcheck"]["test"][3])
            assert port and port[1] in said, name


def test_the_brokers_differ_in_their_numbers_alone() -> None:
    texts = {yaml.safe_dump(SERVICES[f"kafka-{number}"]) for number in (1, 2, 3)}
    same = {re.sub(r"kafka-\d:", "kafka-N:", re.sub(r"NODE_ID: \d|localhost:909\d|INTERNAL://kafka-\d", "", text)) for text in texts}
    assert (len(texts), len(same)) == (3, 1)


def test_prometheus_scrapes_what_runs() -> None:
    scraped = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    targets = [target for job in scraped["scrape_configs"] for each in job["static_configs"] for target in each["targets"]]
    for target in targets:
        name, port = target.split(":")
        assert f"0.0.0.0:{port}" in " ".join(SERVICES[name]["command"]), target
    (alertmanager,) = scraped["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    assert alertmanager.split(":")[0] in SERVICES


def test_alertmanager_takes_its_settings() -> None:
    found = shutil.which("amtool")
    assert found, "install Debian's prometheus-alertmanager (make prometheus)"
    subprocess.run(
        [found, "check-config", ROOT / "deploy" / "alertmanager" / "alertmanager.yml"], check=True, capture_output=True, timeout=30
    )


def test_the_image_holds_what_the_command_lines_name() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    packages = re.findall(r"^COPY (\w+) /src/\w+$", dockerfile, re.MULTILINE)
    assert packages == ["clientscope", "udfs", "streaming", "sinks"]
    assert "clientscope bundle /opt/clientscope/bundle" in dockerfile
    assert "/opt/clientscope/spark" in dockerfile
    for ignored in (ROOT / ".dockerignore").read_text().splitlines()[1:]:
        assert ignored.startswith("**") or (ROOT / ignored.removeprefix("!")).exists()
