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
from places import ROOT

from clientscope.commands.registry import COMMANDS
from clientscope.commands.sources import parse
from clientscope.config import ServeSettings
from sinks.dashboard.http.admission import access_of

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("clientscope:")}
"""What runs from our own image."""

IMAGES = dict(line.split("=", 1) for line in (ROOT / "deploy" / "images.txt").read_text().splitlines() if not line.startswith("#"))
"""What deploy/pin.sh looks up, by variable."""


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
    assert not str(service["user"]).startswith(("0", "root"))
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    assert all(other in SERVICES for other in service.get("depends_on", ()))


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_of_others_comes_by_a_digest_that_somebody_looked_up(name: str) -> None:
    """Nobody can know a digest without asking its registry; so none stands here, and without one Compose refuses to start."""
    if name in OURS:
        assert (OURS[name]["image"], OURS[name]["pull_policy"]) == ("clientscope:0.1.0", "never"), "made here, never fetched"
        assert OURS[name]["build"]["args"] == {"PYTHON_IMAGE": "${PYTHON_IMAGE:?run deploy/pin.sh}"}
        return
    variable = re.fullmatch(r"\$\{([A-Z]+_IMAGE):\?run deploy/pin\.sh\}", SERVICES[name]["image"])
    assert variable and variable[1] in IMAGES


def test_the_tags_whose_digests_are_looked_up_are_pinned() -> None:
    used = set(
        re.findall(r"\$\{([A-Z]+_IMAGE)", (ROOT / "docker-compose.yml").read_text() + (ROOT / "deploy/kubernetes/Dockerfile").read_text())
    )
    assert set(IMAGES) == used - {"CLIENTSCOPE_IMAGE"}
    assert all(re.fullmatch(r"docker\.io/[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*", image) for image in IMAGES.values())


@pytest.mark.parametrize("found", ["sha256:" + "5" * 64, "", "latest", "sha256:5", "sha256:" + "5" * 64 + "0"])
def test_pinning_takes_nothing_but_digests(found: str, tmp_path: Path) -> None:
    """A registry can't be asked here: in its place stands a program that answers as ``docker buildx imagetools inspect`` does."""
    deploy = shutil.copytree(ROOT / "deploy", tmp_path / "deploy", ignore=shutil.ignore_patterns("secrets", "data"))
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(f'#!/bin/sh\n[ "$1 $2 $3" = "buildx imagetools inspect" ] && echo "{found}"\n')
    docker.chmod(0o755)
    ours = {"CLIENTSCOPE_IMAGE": "registry.example/clientscope:0.1.0", "CLIENTSCOPE_SPARK_IMAGE": "registry.example/spark:0.1.0"}
    environment = {"PATH": f"{docker.parent}:/usr/bin:/bin", **ours}
    ended = subprocess.run([deploy / "pin.sh"], env=environment, check=False, capture_output=True, text=True, timeout=30)
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", found):
        assert (ended.returncode, (tmp_path / ".env").exists()) == (1, False)
        assert "has no digest" in ended.stderr
        return
    assert ended.returncode == 0, ended.stderr
    assert dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().split()) == {
        name: f"{image}@{found}" for name, image in IMAGES.items()
    }
    made = yaml.safe_load((deploy / "kubernetes" / "kustomization.yaml").read_text())
    assert {image["digest"] for image in made["images"]} == {found}
    assert made["images"][1]["newName"] == "registry.example/clientscope"


def test_it_contains_no_secret(tmp_path: Path) -> None:
    assert {Path(secret["file"]).parent.as_posix() for secret in COMPOSE["secrets"].values()} == {"deploy/secrets"}
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    made = prepared(tmp_path)
    assert {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()} <= made
    assert {file for service in SERVICES.values() for file in service.get("env_file", ())} == {"deploy/secrets/spark.env"}
    assert "spark.env" in made
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "deploy" / "secrets").iterdir()), "for their owner alone"
    assert not made & {"ca.key", "kafka.key"}
    used = [entry if isinstance(entry, str) else entry["source"] for service in SERVICES.values() for entry in service.get("secrets", ())]
    assert set(used) == set(COMPOSE["secrets"])
    words = re.findall(r"[0-9a-f]{32,}", (ROOT / "docker-compose.yml").read_text())
    assert not words


def test_what_was_made_stays_what_it_is(tmp_path: Path) -> None:
    prepared(tmp_path)
    secrets = tmp_path / "deploy" / "secrets"
    before = {path.name: path.read_bytes() for path in secrets.iterdir()}
    prepared(tmp_path)
    assert {path.name: path.read_bytes() for path in secrets.iterdir()} == before


def prepared(folder: Path) -> set[str]:
    """What deploy/prepare.sh makes."""
    (folder / "deploy").mkdir(exist_ok=True)
    shutil.copy(ROOT / "deploy" / "prepare.sh", folder / "deploy")
    subprocess.run([folder / "deploy" / "prepare.sh"], check=True, capture_output=True, timeout=120)
    return {path.name for path in (folder / "deploy" / "secrets").iterdir()}


def test_internal_is_authenticated_and_encrypted_and_so_are_controllers() -> None:
    for number in (1, 2, 3):
        broker = SERVICES[f"kafka-{number}"]["environment"]
        speaks = dict(each.split(":") for each in broker["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(","))
        assert speaks == {"CLIENT": "PLAINTEXT", "INTERNAL": "SASL_SSL", "CONTROLLER": "SSL"}
        assert broker["KAFKA_LISTENER_NAME_CONTROLLER_SSL_CLIENT_AUTH"] == "required"
    for name, service in OURS.items():
        if "internal" in service["networks"] and "spark-worker" not in name:
            assert service["environment"]["CLIENTSCOPE_KAFKA_SECURITY_PROTOCOL"] == "SASL_SSL"
            assert {"kafka.password", "ca.crt"} <= set(service["secrets"])


def test_nothing_goes_round_a_gateway() -> None:
    """CLIENT and CONTROLLER are bound to a name in one network each, and nothing is published that isn't for people or their clients."""
    for number in (1, 2, 3):
        broker = SERVICES[f"kafka-{number}"]
        assert "ports" not in broker
        assert set(broker["networks"]) == {"controllers", "upstream", "internal"}
        bound = dict(each.split("://") for each in broker["environment"]["KAFKA_LISTENERS"].split(","))
        for listener, network in (("CLIENT", "upstream"), ("CONTROLLER", "controllers")):
            assert broker["networks"][network]["aliases"] == [bound[listener].split(":")[0]]
    within = {network: {name for name, service in SERVICES.items() if network in service["networks"]} for network in COMPOSE["networks"]}
    assert within["controllers"] == {"kafka-1", "kafka-2", "kafka-3"}
    assert within["upstream"] == within["controllers"] | {"gateway-1", "gateway-2", "gateway-3"}
    assert within["internal"].isdisjoint({"prometheus", "alertmanager", "grafana", "spark-master"})
    assert all(COMPOSE["networks"][name] == {"internal": True} for name in ("controllers", "upstream", "internal", "spark"))
    assert all(service["networks"] for service in SERVICES.values()), "or it would be in the default network"


def test_sparks_processes_know_each_other_by_a_secret(tmp_path: Path) -> None:
    prepared(tmp_path)
    lines = (tmp_path / "deploy" / "secrets" / "spark-defaults.conf").read_text().splitlines()
    said = dict(line.split() for line in lines)
    assert (said["spark.authenticate"], said["spark.network.crypto.enabled"]) == ("true", "true")
    assert said["spark.master.rest.enabled"] == "false", "which knows no authentication"
    assert re.fullmatch(r"[0-9a-f]{64}", said["spark.authenticate.secret"])
    for name in ("spark-master", "spark-worker-1", "spark-worker-2", "stream"):
        assert SERVICES[name]["environment"]["SPARK_CONF_DIR"] == "/run/secrets"
        assert "spark-defaults.conf" in SERVICES[name]["secrets"]
    assert "--load-spark-defaults" in SERVICES["stream"]["command"], "beside the properties that it names"


def test_every_mounted_file_is_there_and_every_volume_is_named() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            made = source.startswith("./deploy/data/") and source[len("./deploy/") :] in (ROOT / "deploy" / "prepare.sh").read_text()
            assert made or ((ROOT / source).exists() if source.startswith("./") else source in COMPOSE["volumes"]), volume


@pytest.mark.parametrize("name", [name for name, service in OURS.items() if service["command"][0] == "clientscope"])
def test_our_command_lines_are_taken_by_our_commands(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in COMPOSE["secrets"]:
        (tmp_path / secret).write_text(hashlib.sha256(secret.encode()).hexdigest() + "\n")
        (tmp_path / secret).chmod(0o600)
    flags = [flag.replace("/run/secrets", str(tmp_path)) for flag in OURS[name]["command"][1:]]
    for variable, value in OURS[name]["environment"].items():
        monkeypatch.setenv(variable, value.replace("/run/secrets", str(tmp_path)))
    which = next(each for each in COMMANDS if each.words in ([flags[0]], [flags[0], "run"])).settings
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
    own = re.compile(r"NODE_ID: \d|localhost:909\d|://kafka-\d|data/kafka-\d|- kafka-\d\.\w+")
    same = {re.sub(r"kafka-\d:", "kafka-N:", own.sub("", text)) for text in texts}
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
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${PYTHON_IMAGE}"}
    assert all("--require-hashes" in line or "--no-build-isolation" in line for line in dockerfile.splitlines() if "pip install" in line)
    packages = re.findall(r"^COPY (\w+) /src/\w+$", dockerfile, re.MULTILINE)
    assert packages == ["clientscope", "udfs", "streaming", "sinks"]
    assert "clientscope jars --only spark --into /srv/clientscope/jars" in dockerfile
    assert "/opt/clientscope/spark" in dockerfile
    for ignored in (ROOT / ".dockerignore").read_text().splitlines()[1:]:
        assert ignored.startswith("**") or (ROOT / ignored.removeprefix("!")).exists()


def test_workers_have_the_key_file_that_the_job_names() -> None:
    """Executors read it at the driver's path: it doesn't travel with what they run."""
    services = COMPOSE["services"]
    (flag,) = [each for each in services["stream"]["command"] if each.startswith("--digest-key-file=/run/secrets/")]
    for name in ("stream", "spark-worker-1", "spark-worker-2"):
        assert flag.removeprefix("--digest-key-file=/run/secrets/") in services[name]["secrets"]
