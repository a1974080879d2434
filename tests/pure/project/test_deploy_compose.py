"""docker-compose.yml: what can be known of it without a Docker engine.  Kafka's part is in tests/real/test_compose_brokers.py."""

from __future__ import annotations

import hashlib
import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import pyspark
import pytest
import yaml
from command_runs import settings_of
from dashboards import DEPLOY, queries, rules
from every import every
from places import ROOT
from private_files import private
from programs import python, ran
from prometheus_client import CollectorRegistry, generate_latest

from clientscope.commands.registry import COMMANDS
from clientscope.config import ServeSettings
from clientscope.gateway.metrics import GatewayMetrics
from clientscope.gateway.policy.metrics import PolicyMetrics
from sinks.alerts.delivery import DeliverMetrics
from sinks.dashboard.api.metrics import registry
from sinks.dashboard.http.access import access_of
from sinks.dashboard.state.state import State
from sinks.quality.quality import QualityMetrics
from streaming.job_metrics import JobMetrics


def volume_of(entry: str | dict[str, Any]) -> tuple[str, str, bool]:
    """Source, place and whether it is read-only, of either way to write it."""
    if isinstance(entry, str):
        source, target, *mode = entry.split(":")
        return source, target, mode == ["ro"]
    return entry["source"], entry["target"], entry.get("read_only", False)


COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"].startswith("clientscope:")}
"""What runs from our own image."""

READING = {name for name, service in SERVICES.items() if any(volume_of(each)[0] == "secrets" for each in service.get("volumes", ()))}
"""What reads the volume of secrets, or writes it."""

ENDING = {"prepare", "topics"}
"""What does its work and ends."""

IMAGES = dict(line.split("=", 1) for line in (ROOT / "deploy" / "images.txt").read_text().splitlines() if not line.startswith("#"))
"""What deploy/pin.sh looks up, by variable."""


def test_it_is_what_the_compose_specification_says() -> None:
    python("-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", ROOT / "docker-compose.yml")


def test_a_service_can_do_little_and_says_how_it_is() -> None:
    for name, service in SERVICES.items():
        assert (service["read_only"], service["cap_drop"], service["security_opt"]) == (True, ["ALL"], ["no-new-privileges:true"]), name
        assert ("healthcheck" in service) != (name in ENDING), name
        assert not str(service["user"]).startswith(("0", "root")), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name


def test_an_image_of_others_has_a_tag_that_a_digest_replaces() -> None:
    for name, service in SERVICES.items():
        if name in OURS:
            assert (service["image"], service["pull_policy"]) == ("clientscope:0.1.0", "never"), "made here, never fetched"
        else:
            variable = re.fullmatch(r"\$\{([A-Z]+_IMAGE):-(\S+)\}", service["image"])
            assert variable and variable[2] == IMAGES[variable[1]], name
    python = IMAGES["PYTHON_IMAGE"]
    # Several builds of one tag at once get in each other's way.
    assert {name: service["build"]["args"] for name, service in SERVICES.items() if "build" in service} == {
        "prepare": {"PYTHON_IMAGE": f"${{PYTHON_IMAGE:-{python}}}"}
    }


def test_secrets_are_made_before_they_are_read() -> None:
    def before(name: str) -> set[str]:
        direct: dict[str, Any] = SERVICES[name].get("depends_on", {})
        return set(direct) | {each for other in direct for each in before(other)}

    assert set(SERVICES) - READING == {"alertmanager", "grafana"}
    for name in READING - {"prepare"}:
        assert "prepare" in before(name), name
        assert {(target, ro) for source, target, ro in map(volume_of, SERVICES[name]["volumes"]) if source == "secrets"} >= {
            ("/run/secrets", True)
        }, name
    assert {SERVICES[name]["user"] for name in READING} == {"1000:1000"}, "secrets are for their owner alone"
    for service in SERVICES.values():
        for other, how in service.get("depends_on", {}).items():
            ends = how["condition"] == "service_completed_successfully"
            # By this condition `--wait` knows that a service may end.
            assert ends == (other in ENDING) and (ends or how["condition"] == "service_healthy")


def test_a_new_volume_belongs_to_who_writes_it() -> None:
    """A new volume takes its owner from the folder of the first image that it is mounted over: this must be ours."""
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text()
    owned = {"/run/secrets"} | {f"/var/lib/clientscope/{name}" for name in re.search(r"clientscope (history .*) \\", dockerfile)[1].split()}  # type: ignore[index]
    for name, service in SERVICES.items():
        for entry in service.get("volumes", ()):
            source, target, _ = volume_of(entry)
            if name in OURS and not source.startswith("./") and isinstance(entry, str):
                assert target in owned, (name, target)
            elif name in READING and not source.startswith("./"):
                assert entry["volume"] == {"nocopy": True}, (name, target)
                assert source in {volume_of(each)[0] for each in SERVICES["prepare"]["volumes"]}


def test_the_tags_whose_digests_are_looked_up_are_pinned() -> None:
    used = set(
        re.findall(r"\$\{([A-Z]+_IMAGE)", (ROOT / "docker-compose.yml").read_text() + (ROOT / "deploy/kubernetes/Dockerfile").read_text())
    )
    assert set(IMAGES) == used - {"CLIENTSCOPE_IMAGE"}
    assert all(re.fullmatch(r"docker\.io/[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*", image) for image in every(IMAGES.values()))


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
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", found):
        assert "has no digest" in ran(deploy / "pin.sh", env=environment, status=1).stderr
        assert not (tmp_path / ".env").exists()
        return
    ran(deploy / "pin.sh", env=environment)
    assert dict(line.split("=", 1) for line in (tmp_path / ".env").read_text().split()) == {
        name: f"{image}@{found}" for name, image in IMAGES.items()
    }
    made = yaml.safe_load((deploy / "kubernetes" / "kustomization.yaml").read_text())
    assert {image["digest"] for image in made["images"]} == {found}
    assert made["images"][1]["newName"] == "registry.example/clientscope"


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the service `prepare` makes in the volume of secrets, which belongs to its user as Dockerfile says."""
    assert "-m 700 /run/secrets\n" in (ROOT / "deploy" / "Dockerfile").read_text()
    folder = tmp_path_factory.mktemp("secrets", numbered=False)
    command = [
        each.replace("/srv/clientscope", str(ROOT / "deploy")).replace("/run/secrets", str(folder)) for each in OURS["prepare"]["command"]
    ]
    made = []
    for _ in range(2):
        ran(*command, env={"PATH": "/usr/bin:/bin"})
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert made[0] == made[1], "what was made stays what it is"
    return folder


def test_it_contains_no_secret(secrets: Path) -> None:
    assert "secrets" not in COMPOSE and not any("env_file" in service for service in SERVICES.values()), "Compose reads them at its start"
    assert not re.findall(r"[0-9a-f]{32,}", (ROOT / "docker-compose.yml").read_text())
    assert "deploy/secrets/" in (ROOT / ".gitignore").read_text().splitlines()
    made = {path.name for path in secrets.iterdir()}
    named = set(re.findall(r"/run/secrets/([\w.-]+)", yaml.safe_dump(SERVICES)))
    assert named | {"spark-defaults.conf", "spark-env.sh", "server.properties"} <= made
    assert not made & {"ca.key", "kafka.key"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in [secrets, *secrets.iterdir()]), "for their owner alone"


def test_internal_is_authenticated_and_encrypted_and_so_are_controllers() -> None:
    for number in (1, 2, 3):
        broker = SERVICES[f"kafka-{number}"]["environment"]
        speaks = dict(each.split(":") for each in broker["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(","))
        assert speaks == {"CLIENT": "PLAINTEXT", "INTERNAL": "SASL_SSL", "CONTROLLER": "SSL"}
        assert broker["KAFKA_LISTENER_NAME_CONTROLLER_SSL_CLIENT_AUTH"] == "required"
    for name, service in OURS.items():
        if "internal" in service.get("networks", ()) and "spark-worker" not in name:
            assert service["environment"]["CLIENTSCOPE_KAFKA_SECURITY_PROTOCOL"] == "SASL_SSL"
            assert service["environment"]["CLIENTSCOPE_KAFKA_SSL_CA_LOCATION"] == "/run/secrets/ca.crt"


def test_nothing_goes_round_a_gateway() -> None:
    """CLIENT and CONTROLLER are bound to a name in one network each, and nothing is published that isn't for people or their clients."""
    for number in (1, 2, 3):
        broker = SERVICES[f"kafka-{number}"]
        assert "ports" not in broker
        assert set(broker["networks"]) == {"controllers", "upstream", "internal"}
        bound = dict(each.split("://") for each in broker["environment"]["KAFKA_LISTENERS"].split(","))
        for listener, network in (("CLIENT", "upstream"), ("CONTROLLER", "controllers")):
            assert broker["networks"][network]["aliases"] == [bound[listener].split(":")[0]]
    within = {
        network: {name for name, service in SERVICES.items() if network in service.get("networks", ())} for network in COMPOSE["networks"]
    }
    assert within["controllers"] == {"kafka-1", "kafka-2", "kafka-3"}
    assert within["upstream"] == within["controllers"] | {"gateway-1", "gateway-2", "gateway-3"}
    assert within["internal"].isdisjoint({"prometheus", "alertmanager", "grafana", "spark-master"})
    assert all(COMPOSE["networks"][name] == {"internal": True} for name in ("controllers", "upstream", "internal", "spark"))
    assert all(service.get("networks") or service["network_mode"] == "none" for service in SERVICES.values()), "not the default network"


def test_sparks_processes_know_each_other_by_a_secret(secrets: Path) -> None:
    lines = (secrets / "spark-defaults.conf").read_text().splitlines()
    said = dict(line.split() for line in lines)
    assert (said["spark.authenticate"], said["spark.network.crypto.enabled"]) == ("true", "true")
    assert said["spark.master.rest.enabled"] == "false", "which knows no authentication"
    assert re.fullmatch(r"[0-9a-f]{64}", said["spark.authenticate.secret"])
    for name in ("spark-master", "spark-worker-1", "spark-worker-2", "stream"):
        assert SERVICES[name]["environment"]["SPARK_CONF_DIR"] == "/run/secrets"
        assert name in READING
    assert "--load-spark-defaults" in SERVICES["stream"]["command"], "beside the properties that it names"


def test_sparks_start_hands_kafkas_password_on(secrets: Path) -> None:
    """What spark-class and spark-submit do first."""
    start = Path(pyspark.__file__).parent / "bin" / "load-spark-env.sh"
    environment = {"PATH": "/usr/bin:/bin", "SPARK_CONF_DIR": str(secrets), "SPARK_HOME": str(start.parents[1])}
    given = ran("bash", "-c", f". {start}; printenv KAFKA_SASL_JAAS_CONFIG", env=environment).stdout
    assert given == (secrets / "jaas").read_text() + "\n"
    assert (secrets / "kafka.password").read_text().strip() in given


@pytest.mark.parametrize("name", [name for name, service in OURS.items() if service["command"][0] == "clientscope"])
def test_our_command_lines_are_taken_by_our_commands(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in ("digest.key", "reader.token", "admin.token", "kafka.password", "ca.crt"):
        private(tmp_path / secret, hashlib.sha256(secret.encode()).hexdigest() + "\n")
    flags = [flag.replace("/run/secrets", str(tmp_path)) for flag in OURS[name]["command"][1:]]
    for variable, value in OURS[name]["environment"].items():
        monkeypatch.setenv(variable, value.replace("/run/secrets", str(tmp_path)))
    which = next(each for each in COMMANDS if each.words in ([flags[0]], [flags[0], "run"])).settings
    settings = settings_of(which, flags[1:])
    if isinstance(settings, ServeSettings):
        assert access_of(settings, "0.0.0.0").authentication == "token"  # noqa: S104 - nothing listens
    assert settings.bootstrap_servers == "kafka-1:19092,kafka-2:19092,kafka-3:19092"  # type: ignore[attr-defined]


def test_alertmanager_takes_its_settings() -> None:
    found = shutil.which("amtool")
    assert found, "install Debian's prometheus-alertmanager (make prometheus)"
    ran(found, "check-config", ROOT / "deploy" / "alertmanager" / "alertmanager.yml")


TESTS = ("rules_test.yml", "rules_day_test.yml")
RUNBOOKS = ROOT / "docs" / "runbooks.md"


def promtool(*arguments: str) -> None:
    found = shutil.which("promtool")
    assert found, "install Debian's prometheus (make prometheus), or put promtool on PATH"
    ran(found, *arguments, cwd=DEPLOY / "prometheus")


def test_prometheus_takes_the_settings_and_the_rules_say_what_their_tests_expect(tmp_path: Path) -> None:
    shutil.copyfile(DEPLOY / "prometheus" / "rules.yml", tmp_path / "rules.yml")
    (tmp_path / "token").write_text("x")
    settings = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
    (tmp_path / "prometheus.yml").write_text(settings.replace("/run/secrets/reader.token", str(tmp_path / "token")))
    promtool("check", "config", str(tmp_path / "prometheus.yml"))
    promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yml")
    promtool("test", "rules", *TESTS)


def test_each_rule_says_how_bad_it_is_and_what_to_do_and_has_a_test() -> None:
    tested = "".join((DEPLOY / "prometheus" / name).read_text() for name in TESTS)
    anchors = {heading.lower() for heading in re.findall(r"^## (\S+)$", RUNBOOKS.read_text(), re.MULTILINE)}
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
        assert rule["annotations"]["runbook_url"] == f"docs/runbooks.md#{rule['alert'].lower()}"
        assert rule["alert"].lower() in anchors
        assert f"alertname: {rule['alert']}\n" in tested, "a test in which it alerts"
    assert anchors == {rule["alert"].lower() for rule in rules()}


def test_every_metric_that_is_asked_for_is_one_of_ours() -> None:
    job, gateway, policy = JobMetrics(), GatewayMetrics(), CollectorRegistry()
    QualityMetrics(job.registry)
    PolicyMetrics(policy, lambda: 0)
    deliver = DeliverMetrics(["r"])
    gateway.show_bypassed(lambda: False)
    gateway.show_connections(dict, {"cluster": "c", "broker": "1", "listener": "CLIENT"})
    page = "".join(generate_latest(each).decode() for each in (job.registry, gateway.registry, policy, registry(State()), deliver.registry))
    ours = set(re.findall(r"^# TYPE (\S+)", page, re.MULTILINE))
    asked = {name for _, expression in queries() for name in re.findall(r"\bclientscope_\w+", expression)}
    assert len(asked) > 30
    assert {name for name in asked if name not in ours and re.sub(r"_(bucket|sum|count)$", "", name) not in ours} == set()


def test_the_alert_of_full_tables_has_every_limit_whose_finding_is_severe() -> None:
    (asked,) = {expression for where, expression in queries() if "limit_reached" in expression}
    found = re.search(r'limit=~"([a-z_|]+)"', asked)
    listed = runpy.run_path(str(ROOT / "docs" / "make" / "limits.py"))["limits"]()
    assert found is not None
    assert found[1].split("|") == sorted(each.name for each in listed if each.severity == "high")
