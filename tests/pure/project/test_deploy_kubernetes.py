"""deploy/kubernetes: by Kubernetes' own schemas, and by our own commands. No Kubernetes runs in the tests."""

from __future__ import annotations

import re
from typing import Any

import yaml
from command_runs import settings_of
from every import every
from places import ROOT
from programs import python

from clientscope.commands.registry import COMMANDS
from clientscope.config import StreamSettings

HERE = ROOT / "deploy" / "kubernetes"
ALONE = "stream-without-operator.yaml"
PLAIN = ("network.yaml", "kafka-with-gateways.yaml", "clientscope.yaml", "stream-access.yaml", ALONE)
"""What Kubernetes itself knows; stream.yaml is the Spark operator's."""


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((HERE / name).read_text()))


def pods() -> list[tuple[str, dict[str, Any]]]:
    every = [each for name in PLAIN for each in documents(name)]
    return [(each["metadata"]["name"], each["spec"]["template"]["spec"]) for each in every if "template" in each.get("spec", ())]


CONTAINERS = [(f"{name}-{each['name']}", each, spec) for name, spec in pods() for each in spec["containers"]]


def test_kubernetes_takes_them() -> None:
    python("-m", "kubernetes_validate", "--strict", *(HERE / name for name in PLAIN))


def test_a_container_can_do_little_and_its_volumes_are_there() -> None:
    for name, container, spec in CONTAINERS:
        assert (spec["securityContext"]["runAsNonRoot"], spec["automountServiceAccountToken"]) == (True, False), name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }, name  # fmt: skip
        assert "memory" in container["resources"]["limits"], name
        named = {volume["name"] for volume in spec.get("volumes", ())} | {"data"}
        assert {mount["name"] for mount in container.get("volumeMounts", ())} <= named, name
        ports = {port["name"] for port in container.get("ports", ())}
        probes = [container[probe] for probe in ("startupProbe", "readinessProbe", "livenessProbe") if probe in container]
        assert {(probe.get("httpGet") or probe["tcpSocket"])["port"] for probe in probes} <= ports, name


def test_our_command_lines_are_taken_by_our_commands() -> None:
    for line in every(container["args"] for _, container, _ in CONTAINERS if "args" in container):
        program, word, *flags = (flag.replace("$(NODE_ID)", "0") for flag in line)
        assert program == "clientscope"
        settings_of(next(each.settings for each in COMMANDS if each.words in ([word], [word, "run"])), flags)


def test_the_job_is_the_spark_operators() -> None:
    (job,) = documents("stream.yaml")
    assert (job["apiVersion"], job["kind"]) == ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
    settings = settings_of(StreamSettings, job["spec"]["arguments"])
    history, *others = job["spec"]["driver"]["volumeMounts"]
    assert settings.history_dir.startswith(history["mountPath"])
    assert others == job["spec"]["executor"]["volumeMounts"]
    assert job["spec"]["restartPolicy"]["type"] == "Always"
    lock = (HERE.parents[1] / "requirements.lock").read_text()
    assert f"pyspark=={job['spec']['sparkVersion']}" in lock


def test_the_driver_may_start_executors_and_no_more() -> None:
    account, role, binding = documents("stream-access.yaml")
    (job,) = documents("stream.yaml")
    assert job["spec"]["driver"]["serviceAccount"] == account["metadata"]["name"] == binding["subjects"][0]["name"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert "serviceAccount" not in job["spec"]["executor"]
    granted = [(rule["apiGroups"], resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]]
    assert {resource for groups, resource, _ in granted if groups == [""]} == {"pods", "configmaps"}, "no secrets"
    assert all(groups == [""] for groups, _, _ in every(granted)), "nothing of other groups"
    assert not [each for each in granted if each[2] in ("*", "update", "patch")]


def driver() -> dict[str, Any]:
    """The container of the job without the operator."""
    return next(each for name, each, _ in CONTAINERS if name == "clientscope-stream-driver")


def test_the_job_without_the_operator_is_the_operators() -> None:
    service, template, deployment = documents(ALONE)
    (job,) = documents("stream.yaml")
    command = driver()["command"]
    at = command.index("/srv/clientscope/submit.py")
    assert command[at + 1 :] == job["spec"]["arguments"]
    conf = dict(each.removeprefix("--conf=").split("=", 1) for each in command[:at] if each.startswith("--conf="))
    assert job["spec"]["sparkConf"].items() <= conf.items()
    assert conf["spark.driver.host"] == service["metadata"]["name"] and service["spec"]["clusterIP"] == "None"
    pod = deployment["spec"]["template"]
    assert service["spec"]["selector"] == deployment["spec"]["selector"]["matchLabels"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert pod["spec"]["serviceAccountName"] == documents("stream-access.yaml")[0]["metadata"]["name"]
    named = {each["name"] for each in driver()["env"]}
    assert {name for each in command for name in re.findall(r"\$\((\w+)\)", each)} <= named
    executor = yaml.safe_load(template["data"]["executor.yaml"])
    assert "clientscope/role" not in executor["metadata"]["labels"], "the service names the driver alone"
    assert executor["spec"]["containers"][0]["securityContext"] == driver()["securityContext"]
    assert not executor["spec"]["automountServiceAccountToken"] and "projected" not in template["data"]["executor.yaml"]


def test_no_image_runs_without_a_digest() -> None:
    """As they stand the names are invalid: kustomization.yaml, which deploy/pin.sh writes, puts digests in."""
    made = yaml.safe_load((HERE / "kustomization.in").read_text())
    images = {each["image"] for _, each, _ in CONTAINERS} | {documents("stream.yaml")[0]["spec"]["image"]}
    assert images == {f"{each['name']}@sha256:unpinned" for each in made["images"]}
    assert all(re.fullmatch(r"@[A-Z]+@", each["digest"]) for each in every(made["images"])), "nobody has looked one up here"
    assert {*made["resources"]} == {*PLAIN, "stream.yaml"} - {ALONE}, "one of the two"
    placed = yaml.safe_load((HERE / "kustomize-spark.yaml").read_text())["images"]
    assert {"path": "spec/template/spec/containers[]/env[]/value", "kind": "Deployment"} in placed
    environment = {each["name"]: each.get("value") for each in driver()["env"]}
    assert environment["EXECUTOR_IMAGE"] == driver()["image"]


def policies() -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"] for each in documents("network.yaml")}


def allowed(to: dict[str, str], port: str, who: dict[str, str]) -> bool:
    """Whether a pod may reach a port of another, by Kubernetes' rules: what some policy selects gets what some policy allows."""
    chosen = [spec for spec in policies().values() if spec["podSelector"]["matchLabels"].items() <= to.items()]
    rules = [rule for spec in chosen for rule in spec.get("ingress", ())]
    return not chosen or any(
        ("ports" not in rule or port in {each["port"] for each in rule["ports"]})
        and ("from" not in rule or any(peer["podSelector"]["matchLabels"].items() <= who.items() for peer in rule["from"]))
        for rule in rules
    )


def test_nothing_goes_round_a_gateway() -> None:
    every = [each for name in PLAIN for each in documents(name) if "template" in each.get("spec", ())]
    labels = {each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"] for each in every}
    job = documents("stream.yaml")[0]["spec"]
    labels |= {"driver": job["driver"]["labels"], "executor": job["executor"]["labels"]}
    stranger, prometheus = {"app": "orders"}, {"app.kubernetes.io/name": "prometheus"}
    kafka = labels["kafka"]
    assert allowed(kafka, "client", stranger)
    for port in ("internal", "controller", "metrics"):
        assert not allowed(kafka, port, stranger)
    for name in labels:
        assert allowed(kafka, "internal", labels[name])
        assert allowed(kafka, "controller", labels[name]) is (name == "kafka")
        assert not allowed(labels[name], "anything", stranger)
    assert allowed(kafka, "metrics", prometheus) and allowed(labels["clientscope-deliver"], "metrics", prometheus)
    assert allowed(labels["driver"], "anything", labels["executor"]) and allowed(labels["executor"], "anything", labels["driver"])
    assert allowed(labels["clientscope-serve"], "http", stranger)
    broker = next(each for _, each, _ in CONTAINERS if each["image"].startswith("docker.io/apache/kafka"))
    environment = {each["name"]: each.get("value", "") for each in broker["env"]}
    assert "CLIENT://127.0.0.1:19091" in environment["KAFKA_LISTENERS"], "what the pod alone reaches"
    (service,) = [each for each in documents("kafka-with-gateways.yaml") if each["kind"] == "Service"]
    assert {port["name"] for port in service["spec"]["ports"]} == {"client", "metrics"}, "neither INTERNAL nor the controller"


def test_internal_is_authenticated_and_encrypted() -> None:
    for name, container, spec in CONTAINERS:
        environment = {each["name"]: each.get("value", "") for each in container["env"]}
        if name == "kafka-kafka":
            assert "INTERNAL:SASL_SSL,CONTROLLER:SSL" in environment["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"]
            assert environment["KAFKA_LISTENER_NAME_CONTROLLER_SSL_CLIENT_AUTH"] == "required"
        else:
            assert environment["CLIENTSCOPE_KAFKA_SECURITY_PROTOCOL"] == "SASL_SSL"
            secrets = {volume["secret"]["secretName"] for volume in spec["volumes"] if "secret" in volume}
            assert "clientscope-kafka-client" in secrets
    job = documents("stream.yaml")[0]["spec"]
    assert settings_of(StreamSettings, job["arguments"]).kafka_security_protocol == "SASL_SSL"
    assert (job["sparkConf"]["spark.authenticate"], job["sparkConf"]["spark.network.crypto.enabled"]) == ("true", "true")
    assert job["driver"]["envSecretKeyRefs"] == job["executor"]["envSecretKeyRefs"]
