"""deploy/kubernetes: by Kubernetes' own schemas, and by our own commands. No Kubernetes runs in the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientscope.config import ALL, StreamSettings
from clientscope.config_sources import parse

HERE = Path(__file__).parents[2] / "deploy" / "kubernetes"
PLAIN = ("kafka-with-gateways.yaml", "clientscope.yaml")
"""What Kubernetes itself knows; stream.yaml is the Spark operator's."""


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((HERE / name).read_text()))


def pods() -> list[tuple[str, dict[str, Any]]]:
    every = [each for name in PLAIN for each in documents(name)]
    return [(each["metadata"]["name"], each["spec"]["template"]["spec"]) for each in every if "template" in each["spec"]]


CONTAINERS = [(f"{name}-{each['name']}", each, spec) for name, spec in pods() for each in spec["containers"]]


def test_kubernetes_takes_them() -> None:
    command = [sys.executable, "-m", "kubernetes_validate", "--strict", *(str(HERE / name) for name in PLAIN)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize(("container", "spec"), [each[1:] for each in CONTAINERS], ids=[each[0] for each in CONTAINERS])
def test_a_container_can_do_little_and_its_volumes_are_there(container: dict[str, Any], spec: dict[str, Any]) -> None:
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert "memory" in container["resources"]["limits"]
    named = {volume["name"] for volume in spec.get("volumes", ())} | {"data"}
    assert {mount["name"] for mount in container.get("volumeMounts", ())} <= named
    ports = {port["name"] for port in container.get("ports", ())}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        if probe in container:
            how = container[probe].get("httpGet") or container[probe]["tcpSocket"]
            assert how["port"] in ports


@pytest.mark.parametrize("name", [name for name, container, _ in CONTAINERS if "args" in container])
def test_our_command_lines_are_taken_by_our_commands(name: str) -> None:
    (container,) = [container for each, container, _ in CONTAINERS if each == name]
    flags = [flag.replace("$(NODE_ID)", "0") for flag in container["args"]]
    assert flags[0] == "clientscope"
    parse(next(each for each in ALL if each.section == flags[1] and each.subcommand in ("", "run")), flags[2:])


def test_the_job_is_the_spark_operators() -> None:
    (job,) = documents("stream.yaml")
    assert (job["apiVersion"], job["kind"]) == ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
    settings = parse(StreamSettings, job["spec"]["arguments"])
    assert str(settings.checkpoint_dir).startswith(job["spec"]["driver"]["volumeMounts"][0]["mountPath"])
    assert job["spec"]["driver"]["volumeMounts"] == job["spec"]["executor"]["volumeMounts"]
    assert job["spec"]["restartPolicy"]["type"] == "Always"
    lock = (HERE.parents[1] / "requirements.lock").read_text()
    assert f"pyspark=={job['spec']['sparkVersion']}" in lock
