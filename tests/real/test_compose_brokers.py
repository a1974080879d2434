"""The brokers of docker-compose.yml and deploy/kubernetes: the settings that Kafka's own image makes of their variables."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kafka
import pytest
import yaml
from kafka.errors import KafkaError
from patience import eventually
from places import ROOT
from programs import ran

from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port, spawn, stop

pytestmark = pytest.mark.faults


def composed(name: str) -> dict[str, str]:
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"][name]
    return {key: str(value) for key, value in service["environment"].items()}


def in_kubernetes() -> dict[str, str]:
    """The first pod's, with what Kubernetes fills in."""
    documents = yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / "kafka-with-gateways.yaml").read_text())
    pod: Any = next(each for each in documents if each["kind"] == "StatefulSet")["spec"]["template"]["spec"]
    given = {each["name"]: each.get("value", "0") for each in pod["containers"][0]["env"]}
    return {key: value.replace("$(POD_NAME)", "kafka-0") for key, value in given.items() if key != "POD_NAME"}


def set_up(variables: Mapping[str, str], folder: Path, secrets: Path) -> dict[str, str]:
    """What apache/kafka's image does before it starts a broker, by the same program; returns the broker's settings."""
    for name in ("default", "final", "data"):
        (folder / name).mkdir()
    for name in ("server.properties", "log4j2.yaml", "tools-log4j2.yaml"):
        (folder / "default" / name).write_text("")
    path = ":".join(str(jar) for jar in jars("broker"))
    given = {"default": folder / "default", "mounted": secrets, "final": folder / "final"}
    folders = [f"--{name}-configs-dir={where}" for name, where in given.items()]
    command = [java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", path, "kafka.docker.KafkaDockerWrapper", "setup", *folders]
    environment = {"PATH": os.environ["PATH"], **variables, "KAFKA_LOG_DIRS": str(folder / "data")}
    ran(*command, env=environment)
    lines = (folder / "final" / "server.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


@pytest.fixture(scope="module")
def secrets(folder: Path) -> Path:
    """What deploy/prepare.sh makes."""
    ran(ROOT / "deploy" / "prepare.sh", folder)
    return folder


@pytest.mark.parametrize("name", ["kafka-2", "in Kubernetes"])
def test_a_brokers_variables_make_a_broker_that_runs_with_clients_behind_its_gateway(name: str, tmp_path: Path, secrets: Path) -> None:
    """It runs by its own settings but for hosts, ports and folders, of which this machine has others; and alone, as its own controller."""
    settings = set_up(in_kubernetes() if name == "in Kubernetes" else composed(name), tmp_path, secrets)
    listeners = dict(each.split("://") for each in settings["advertised.listeners"].split(","))
    bound = dict(each.split("://") for each in settings["listeners"].split(","))
    gateway = {"kafka-2": "localhost:9093", "in Kubernetes": "kafka-0.kafka:9092"}[name]
    assert listeners["CLIENT"] == gateway
    assert bound["CLIENT"].endswith(":19091")
    assert settings["inter.broker.listener.name"] == "INTERNAL"
    assert (tmp_path / "data" / "meta.properties").exists(), "formatted"
    protocols = dict(each.split(":") for each in settings["listener.security.protocol.map"].split(","))
    assert (protocols["INTERNAL"], protocols["CONTROLLER"]) == ("SASL_SSL", "SSL")
    assert "user_clientscope" in settings["listener.name.internal.plain.sasl.jaas.config"], "of the file that is mounted"

    ports = {listener: free_port() for listener in ("CLIENT", "INTERNAL", "CONTROLLER")}
    settings |= {
        "listeners": ",".join(f"{listener}://localhost:{port}" for listener, port in ports.items()),
        "advertised.listeners": f"CLIENT://localhost:{ports['CLIENT']},INTERNAL://localhost:{ports['INTERNAL']}",
        "controller.quorum.voters": f"{settings['node.id']}@localhost:{ports['CONTROLLER']}",
        "ssl.keystore.location": str(secrets / "kafka.pem"),
        "ssl.truststore.location": str(secrets / "ca.crt"),
        "offsets.topic.replication.factor": "1", "default.replication.factor": "1", "min.insync.replicas": "1",
    }  # fmt: skip
    (tmp_path / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    path = ":".join(str(jar) for jar in jars("broker"))
    with (tmp_path / "broker.log").open("wb") as log:
        command = [str(java()), "-Xmx384m", "-XX:TieredStopAtLevel=1", "-cp", path, "kafka.Kafka", str(tmp_path / "server.properties")]
        broker = spawn(command, log)
    try:
        internal = f"localhost:{ports['INTERNAL']}"
        ours = {
            "security_protocol": "SASL_SSL", "sasl_mechanism": "PLAIN", "sasl_plain_username": "clientscope",
            "sasl_plain_password": (secrets / "kafka.password").read_text().strip(), "ssl_cafile": str(secrets / "ca.crt"),
        }  # fmt: skip

        def cluster(**given: str) -> str:
            with kafka.KafkaAdminClient(bootstrap_servers=internal, bootstrap_timeout_ms=5_000, **given) as admin:
                return str(admin.describe_cluster()["cluster_id"])

        def answers() -> bool:
            try:
                return cluster(**ours) == "Y2xpZW50c2NvcGUtZGVtbw"
            except KafkaError:
                assert broker.poll() is None, (tmp_path / "broker.log").read_text()[-3_000:]
                return False

        assert eventually(answers), (tmp_path / "broker.log").read_text()[-3_000:]
        for wrong in ({"sasl_plain_password": "guess"}, {"security_protocol": "SASL_PLAINTEXT"}, {"security_protocol": "PLAINTEXT"}):
            with pytest.raises(KafkaError):
                cluster(**ours | wrong)
        context = ssl.create_default_context(cafile=str(secrets / "ca.crt"))
        with (
            socket.create_connection(("localhost", ports["CONTROLLER"]), 10) as plain,
            pytest.raises(ssl.SSLError, match="certificate"),
            context.wrap_socket(plain, server_hostname="localhost") as without_a_certificate,
        ):
            without_a_certificate.recv(1)  # TLS 1.3 refuses a missing certificate after the handshake
    finally:
        stop(broker)
