"""The brokers of docker-compose.yml and deploy/kubernetes: what the program in Kafka's own image makes of their variables."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientscope.local.jars import jars
from clientscope.local.java import java

ROOT = Path(__file__).parents[2]


def composed(name: str) -> dict[str, str]:
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"][name]
    return {key: str(value) for key, value in service["environment"].items()}


def in_kubernetes() -> dict[str, str]:
    """The first pod's, with what Kubernetes fills in."""
    documents = yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "kafka-with-gateways.yaml").read_text())
    pod: Any = next(each for each in documents if each["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    given = {each["name"]: each.get("value", "0") for each in pod["containers"][0]["env"]}
    return {key: value.replace("$(POD_NAME)", "kafka-0") for key, value in given.items() if key != "POD_NAME"}


def set_up(variables: Mapping[str, str], folder: Path) -> dict[str, str]:
    """What apache/kafka's image does before it starts a broker, by the same program; returns the broker's settings."""
    for name in ("default", "mounted", "final", "data"):
        (folder / name).mkdir()
    for name in ("server.properties", "log4j2.yaml", "tools-log4j2.yaml"):
        (folder / "default" / name).write_text("")
    path = ":".join(str(jar) for jar in jars("broker"))
    folders = [f"--{name}-configs-dir={folder / name}" for name in ("default", "mounted", "final")]
    command = [str(java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", path, "kafka.docker.KafkaDockerWrapper", "setup", *folders]
    environment = {"PATH": os.environ["PATH"], **variables, "KAFKA_LOG_DIRS": str(folder / "data")}
    ended = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = (folder / "final" / "server.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


@pytest.mark.parametrize("name", ["kafka-2", "in Kubernetes"])
def test_a_brokers_variables_make_a_broker_whose_clients_come_through_its_gateway(name: str, tmp_path: Path) -> None:
    settings = set_up(in_kubernetes() if name == "in Kubernetes" else composed(name), tmp_path)
    listeners = dict(each.split("://") for each in settings["advertised.listeners"].split(","))
    bound = dict(each.split("://") for each in settings["listeners"].split(","))
    gateway = {"kafka-2": "localhost:9093", "in Kubernetes": "kafka-0.kafka:9092"}[name]
    assert listeners["CLIENT"] == gateway
    assert bound["CLIENT"].endswith(":19091")
    assert settings["inter.broker.listener.name"] == "INTERNAL"
    assert (tmp_path / "data" / "meta.properties").exists(), "formatted"
