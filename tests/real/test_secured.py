"""A cluster where everything is TLS, SCRAM and ACLs: our own processes with the least rights that docs/security.md lists."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import confluent_kafka
import psutil
import pytest
from certificates import Authority
from conftest import running_processes
from forked import clientscope, refused
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    KafkaAdminClient,
    ResourcePattern,
    ResourceType,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from observe import command_line, page, private_file, read_json
from patience import LIMIT_S, eventually, until
from places import ROOT

from clientscope.client import KafkaProducer
from clientscope.kafka.access import KafkaAccess
from clientscope.local.broker import BrokerPlan, EmbeddedBroker
from clientscope.local.process import free_port
from clientscope.model.topics import DECISIONS, QUARANTINE, RESULTS, STATUS

pytestmark = pytest.mark.faults

TOPIC = "test.secured"
PROCESSES = ("topics", "gateway", "stream", "serve", "findings")
STARTED = ("gateway", "stream", "serve")
LATER = {("serve", DECISIONS)}
"""Rights that are asked for when somebody does what needs them: a page that only shows needs no right to decide."""
DOC = ROOT / "docs" / "security.md"
_MODULES = "org.apache.kafka.common.security"
_OPERATIONS = {"".join(word.capitalize() for word in operation.name.split("_")): operation for operation in ACLOperation}


def password(user: str) -> str:
    """Without the words by which Spark redacts: what is searched for must not be hidden by chance."""
    return f'canary-"{user}"-7f3a'


def documented() -> list[ACL]:
    """What docs/security.md says, one ACL per principal, operation and resource."""
    acls = []
    for line in DOC.read_text().splitlines():
        if line.startswith("kafka-acls.sh"):
            words = shlex.split(line)[2:]
            given: dict[str, list[str]] = {}
            for flag, value in zip(words, [*words[1:], ""], strict=True):
                if flag.startswith("--"):
                    given.setdefault(flag, []).append(value)
            kind = ACLResourcePatternType.PREFIXED if "--resource-pattern-type" in given else ACLResourcePatternType.LITERAL
            patterns = [ResourcePattern(ResourceType.TOPIC, topic, kind) for topic in given.get("--topic", [])]
            patterns += [ResourcePattern(ResourceType.CLUSTER, "kafka-cluster") for _ in given.get("--cluster", [])]
            patterns += [ResourcePattern(ResourceType.TRANSACTIONAL_ID, name, kind) for name in given.get("--transactional-id", [])]
            acls += [
                ACL(given["--allow-principal"][0], "*", _OPERATIONS[operation], ACLPermissionType.ALLOW, pattern)
                for operation in given["--operation"]
                for pattern in patterns
            ]
    unique = {(acl.principal, acl.operation, acl.resource_pattern.resource_name): acl for acl in acls}
    return list(unique.values())


@dataclass(frozen=True)
class Secured:
    """The cluster, and what is needed to get in.

    Attributes:
        mutual: ``HOST:PORT`` of a listener that knows everybody by certificate.
    """

    plan: BrokerPlan
    home: Path
    authority: Authority
    mutual: str

    def access(self, user: str, mechanism: str = "SCRAM-SHA-256") -> dict[str, Any]:
        """kafka-python's arguments; ``admin``, who may do all, comes by PLAIN."""
        return KafkaAccess(self.plan.internal, "SASL_SSL", mechanism, user, password(user), self.authority.certificate).client_arguments()

    def admin(self) -> Any:
        return KafkaAdminClient(**self.access("admin", "PLAIN"))

    @contextmanager
    def without(self, right: ACL) -> Iterator[None]:
        """Nobody has this right."""
        with self.admin() as admin:
            which = ACLFilter(right.principal, "*", right.operation, right.permission_type, right.resource_pattern)
            assert admin.delete_acls([which])
            time.sleep(0.3)
            try:
                yield
            finally:
                admin.create_acls([right])  # the broker's authorizer has it before it has the next one's end

    def config(self, user: str) -> str:
        """A process' file of settings."""
        secret, file = private_file(self.home / f"{user}.password", password(user)), self.home / f"{user}.toml"
        file.write_text(
            f'[kafka]\n"bootstrap.servers" = "{self.plan.internal}"\n"security.protocol" = "SASL_SSL"\n'
            f'"sasl.mechanism" = "SCRAM-SHA-256"\n"sasl.username" = "{user}"\n"sasl.password.file" = "{secret}"\n'
            f'"ssl.ca.location" = "{self.authority.certificate}"\n'
        )
        return str(file)

    def command(self, process: str, config: Path | None = None) -> list[str]:
        """What starts one of our processes, by its own file of settings or another."""
        more: dict[str, list[str]] = {
            "gateway": [
                "--listen", self.plan.advertised, "--upstream", f"127.0.0.1:{self.plan.port}", "--heartbeat-interval-ms", "1000",
                "--admin-listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
                "--upstream-ssl-ca-location", str(self.authority.certificate),
                "--ssl-certificate-location", str(self.home / "gateway.crt"), "--ssl-key-location", str(self.home / "gateway.key"),
            ],
            "stream": [
                "--checkpoint-dir", str(self.home / "checkpoints"), "--history-dir", str(self.home / "history"),
                "--history-interval-seconds", "2", "--driver-memory", "1g", "--metrics-listen", "127.0.0.1:0",
            ],
            "serve": ["--listen", "127.0.0.1:0"],
            "findings": ["00000000", "--why", "to see what it needs"],
        }  # fmt: skip
        words = ["findings", "reopen"] if process == "findings" else [process]
        return [*words, "--config", str(config or self.config(process)), *more.get(process, [])]


@pytest.fixture(scope="module")
def secured(folder: Path) -> Iterator[Secured]:
    """A broker that knows everybody by SASL over TLS, and lets nobody do anything that isn't allowed."""
    authority = Authority(folder)
    authority.sign("gateway")
    scram, plain = f"{_MODULES}.scram.ScramLoginModule required;", f"{_MODULES}.plain.PlainLoginModule required"
    secret = password("admin").replace('"', '\\"')
    extra = {
        "listener.security.protocol.map": "CLIENT:SASL_SSL,INTERNAL:SASL_SSL,MUTUAL:SSL,CONTROLLER:PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.sign("broker").both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.internal.sasl.enabled.mechanisms": "SCRAM-SHA-256,PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.client.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.internal.scram-sha-256.sasl.jaas.config": scram,
        "listener.name.internal.plain.sasl.jaas.config": f'{plain} username="admin" password="{secret}" user_admin="{secret}";'.replace(
            "\\", "\\\\"
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # Without SASL nobody gets in but by CONTROLLER, which is the broker's own.
        "super.users": "User:admin;User:ANONYMOUS;User:CN=process",
    }
    port, internal, mutual, controller, advertised = (free_port() for _ in range(5))
    listeners = {"CLIENT": port, "INTERNAL": internal, "MUTUAL": mutual, "CONTROLLER": controller}
    advertises = {"CLIENT": advertised, "INTERNAL": internal, "MUTUAL": mutual}
    extra |= {
        "listeners": ",".join(f"{name}://127.0.0.1:{number}" for name, number in listeners.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{number}" for name, number in advertises.items()),
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "listener.name.mutual.ssl.client.auth": "required",
    }
    plan = BrokerPlan(port, internal, f"127.0.0.1:{advertised}", folder / "broker", extra=extra)
    made = Secured(plan, folder, authority, f"127.0.0.1:{mutual}")
    with EmbeddedBroker(plan):
        with made.admin() as admin:
            admin.create_topics({TOPIC: {"num_partitions": 1}}, wait_for_metadata=True)
            admin.alter_user_scram_credentials(
                [
                    UserScramCredentialUpsertion(user, ScramMechanism.SCRAM_SHA_256, password(user).encode(), iterations=4096)
                    for user in (*PROCESSES, "alice")
                ]
            )
            topic = ResourcePattern(ResourceType.TOPIC, TOPIC)
            alice = ACL("User:alice", "*", ACLOperation.WRITE, ACLPermissionType.ALLOW, topic)
            assert not admin.create_acls([*documented(), alice])["failed"]
        time.sleep(0.5)
        yield made


def run(secured: Secured, process: str) -> subprocess.CompletedProcess[str]:
    """Runs a process that is expected to end by itself."""
    return clientscope(*secured.command(process))


def get(url: str) -> str:
    return page(url)[1]


def test_everything_works_with_the_least_rights_and_no_password_is_anywhere(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    created = run(secured, "topics")
    assert (created.returncode, created.stderr) == (0, "")
    assert run(secured, "findings").stderr.startswith("error: no finding has the fingerprint 00000000")
    events = secured.home / "events"
    events.mkdir(exist_ok=True)
    (secured.home / "spark-defaults.conf").write_text(
        f"spark.eventLog.enabled true\nspark.eventLog.compress false\nspark.eventLog.dir {events.as_uri()}\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(secured.home))
    page, spark_ui = (f"127.0.0.1:{free_port()}" for _ in range(2))
    flags = {
        "gateway": [],
        "stream": ["--ui-port", spark_ui.split(":")[1]],
        "serve": ["--listen", page],
    }
    with running_processes(secured.home / "logs") as processes:
        for name in ("stream", "gateway", "serve"):
            processes.start(name, *secured.command(name), *flags[name])
        for name in ("gateway", "serve", "stream"):
            processes.await_ready(name, timeout_s=LIMIT_S)
        with sent(secured):
            found = eventually(lambda: '"alice-app"' in get(f"http://{page}/api/v1/results"))
        assert found, get(f"http://{page}/api/v1/results")[:500]
        # What is inferred of the client that pushes nothing may come first.
        admin = secured.access("admin", "PLAIN")
        (seen, *_) = until(lambda: [each for each in read_json(topic=RESULTS, **admin) if each["client_id"] == "alice-app"])
        assert (seen["principal"], seen["security_protocol"], seen["software_name"]) == ("User:alice", "SASL_SSL", "kafka-python")
        shown = spark_pages(f"http://{spark_ui}")
        processes.check()
        command_lines = "".join(word for name in STARTED for child in session(processes.pid(name)) for word in command_line(child))
    assert "org.apache.spark" in command_lines
    searched = {"pages": shown, "command lines": command_lines}
    for path in secured.home.rglob("*"):
        if path.is_file() and path.suffix != ".password" and "broker" not in path.relative_to(secured.home).parts[0]:
            searched[str(path)] = path.read_bytes().decode(errors="replace")
    assert any("events" in name and "kafka" in text for name, text in searched.items())
    assert [name for name, text in searched.items() if "canary" in text] == []


def session(leader: int) -> list[int]:
    """A process of ours with all that it has started, the JVM among them."""
    found = []
    for number in psutil.pids():
        with suppress(ProcessLookupError):
            if os.getsid(number) == leader:
                found.append(number)
    return found


@contextmanager
def sent(secured: Secured) -> Iterator[None]:
    """One client that pushes and one that doesn't, both by TLS and SCRAM through the gateway.

    The first stays open meanwhile: a push that takes longer than the records of its client ends with the client.
    """
    settings = {**secured.access("alice"), "bootstrap_servers": secured.plan.advertised, "client_id": "alice-app", "acks": "all"}
    other = confluent_kafka.Producer(
        {
            "bootstrap.servers": secured.plan.advertised, "client.id": "alice-other", "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "alice", "sasl.password": password("alice"),
            "ssl.ca.location": str(secured.authority.certificate),
        }
    )  # fmt: skip
    failed: list[Any] = []
    with KafkaProducer(**settings) as producer:
        producer.send(TOPIC, b"by kafka-python").get(LIMIT_S)
        other.produce(TOPIC, b"by librdkafka", on_delivery=lambda error, _: failed.append(error) if error else None)
        assert other.flush(LIMIT_S) == 0
        assert failed == []
        yield


def spark_pages(ui: str) -> str:
    """Whatever Spark's own page shows of settings and plans."""
    application = json.loads(get(f"{ui}/api/v1/applications"))[0]["id"]
    queries = json.loads(get(f"{ui}/api/v1/applications/{application}/sql?details=true&planDescription=true&length=50"))
    plans = json.dumps(queries)
    assert "kafka" in plans.lower()
    return plans + get(f"{ui}/environment/") + get(f"{ui}/api/v1/applications/{application}/environment")


@pytest.mark.parametrize("process", PROCESSES)
def test_each_right_is_needed_and_named_when_it_is_missing(secured: Secured, process: str) -> None:
    mine = [
        acl for acl in documented() if acl.principal == f"User:{process}" and (process, acl.resource_pattern.resource_name) not in LATER
    ]
    assert mine
    # What an option needs is documented, too.
    options = ("--client-telemetry",) if process in ("gateway", "stream") else ()
    wrong = []
    run(secured, "topics")
    for acl in mine:
        pattern = acl.resource_pattern
        if acl.operation == ACLOperation.CREATE:
            with secured.admin() as admin:
                admin.delete_topics([QUARANTINE])
        said = "nothing"
        with secured.without(acl), suppress(subprocess.TimeoutExpired):
            ended = clientscope(*secured.command(process), *options)
            said = next((line for line in ended.stderr.splitlines() if line.startswith("error: ")), said)
        operation = next(name for name, value in _OPERATIONS.items() if value == acl.operation)
        kinds = {ResourceType.CLUSTER: "the cluster", ResourceType.TRANSACTIONAL_ID: f"transactional id {pattern.resource_name}"}
        place = kinds.get(pattern.resource_type, f"topic {pattern.resource_name}")
        if not said.startswith(f"error: User:{process} has no right to {operation} on {place}"):
            wrong.append((operation, place, said))
    time.sleep(0.3)  # until it has the last one, too
    assert wrong == [], "\n".join(map(str, wrong))


def test_a_gateway_whose_listener_protocol_is_set_needs_no_right_on_the_cluster(secured: Secured) -> None:
    (right,) = [acl for acl in documented() if acl.resource_pattern.resource_type == ResourceType.CLUSTER]
    run(secured, "topics")
    with secured.without(right), running_processes(secured.home / "told") as processes:
        processes.start("gateway", *secured.command("gateway"), "--security-protocol", "SASL_SSL")
        processes.await_ready("gateway")


def test_our_processes_by_certificate(secured: Secured) -> None:
    run(secured, "topics")
    own = secured.authority.sign("process", subject="/CN=process")
    settings = secured.home / "process.toml"
    settings.write_text(
        f'[kafka]\n"bootstrap.servers" = "{secured.mutual}"\n"security.protocol" = "SSL"\n'
        f'"ssl.ca.location" = "{secured.authority.certificate}"\n'
        f'"ssl.certificate.location" = "{own.certificate}"\n"ssl.key.location" = "{own.key}"\n'
    )
    with running_processes(secured.home / "by-certificate") as processes:
        for name in ("stream", "serve"):
            processes.start(name, *secured.command(name, settings))
        for name in ("serve", "stream"):
            processes.await_ready(name, timeout_s=LIMIT_S)


def xray(secured: Secured, user: str, state: Path) -> subprocess.CompletedProcess[str]:
    log = str(secured.plan.data_dir / "broker.log")
    return clientscope("xray", "--config", secured.config(user), "--seconds", "1", "--yes", log, XDG_STATE_HOME=str(state))


def test_xray_without_rights_is_one_line_and_with_them_it_works(secured: Secured, tmp_path: Path) -> None:
    """The right that docs/xray.md names, given to a principal that has others."""
    refused = xray(secured, "findings", tmp_path)
    assert refused.returncode == 2
    (line,) = [line for line in refused.stderr.splitlines() if line.startswith("error:")]
    assert "needs DescribeConfigs and AlterConfigs on the cluster" in line
    assert "clientscope xray PATH" in line
    assert "Traceback" not in refused.stderr
    assert list(tmp_path.rglob("*.json")) == []
    rights = [
        ACL("User:findings", "*", operation, ACLPermissionType.ALLOW, ResourcePattern(ResourceType.CLUSTER, "kafka-cluster"))
        for operation in (ACLOperation.DESCRIBE_CONFIGS, ACLOperation.ALTER_CONFIGS)
    ]
    with secured.admin() as admin:
        try:
            admin.create_acls(rights[:1])
            until(lambda: "doesn't allow its log levels to be read and set" in xray(secured, "findings", tmp_path).stderr)
            assert list(tmp_path.rglob("*.json")) == []
            admin.create_acls(rights[1:])
            until(lambda: "AlterConfigs" not in xray(secured, "findings", tmp_path).stderr)
        finally:
            admin.delete_acls(
                [ACLFilter("User:findings", "*", right.operation, right.permission_type, right.resource_pattern) for right in rights]
            )
    assert list(tmp_path.rglob("*.json")) == []


@pytest.mark.parametrize(
    ("key", "said"),
    [("sasl.password.file", "doesn't accept User:serve with this password"), ("ssl.ca.location", "certificate verify failed")],
)
def test_what_doesnt_fit_is_said_and_is_no_traceback(secured: Secured, tmp_path: Path, key: str, said: str) -> None:
    wrong = private_file(tmp_path / "wrong", "canary-wrong") if key.startswith("sasl") else Authority(tmp_path / "others").certificate
    file = tmp_path / "c.toml"
    file.write_text(re.sub(rf'"{key}" = ".*"', f'"{key}" = "{wrong}"', Path(secured.config("serve")).read_text()))
    error = refused("serve", "--config", str(file), "--listen", "127.0.0.1:0", status=1)
    assert said in error and "canary" not in error


def test_doctor_names_the_right_that_is_missing_and_no_password(secured: Secured) -> None:
    """By the gateway's principal: its own rights, its listeners over TLS, and what it can't see."""

    def doctor(*flags: str) -> tuple[int, dict[str, list[dict[str, str]]]]:
        ended = clientscope("doctor", "--config", secured.config("gateway"), "-o", "json", *flags)
        assert "canary" not in ended.stdout + ended.stderr and "Traceback" not in ended.stderr
        found: dict[str, list[dict[str, str]]] = {}
        for each in json.loads(ended.stdout)["results"]:
            found.setdefault(each["check"], []).append(each)
        return ended.returncode, found

    run(secured, "topics")
    _, found = doctor()
    assert found["rights"][0]["text"] == "User:gateway has the rights of gateway"
    assert {each["outcome"] for each in found["rights"][1:]} == {"warning"}
    assert found["brokers"][0]["outcome"] == "ok"
    listeners = {each["text"].split()[0]: each for each in found["listeners"] if not each["text"].startswith("certificate")}
    assert listeners["CLIENT"]["outcome"] == "problem" and "no connection" in listeners["CLIENT"]["text"]
    assert listeners["INTERNAL"]["outcome"] == "ok", listeners
    assert listeners["MUTUAL"]["outcome"] == "not checked", "it takes clients with a certificate alone"
    (certificate,) = (each for each in found["listeners"] if each["text"].startswith("certificate of INTERNAL"))
    assert "expires in 2 days" in certificate["text"]
    (right,) = (
        acl for acl in documented()
        if (acl.principal, acl.operation, acl.resource_pattern.resource_name) == ("User:gateway", ACLOperation.WRITE, STATUS)
    )  # fmt: skip
    with secured.without(right):
        status, found = doctor("--process", "gateway")
    (missing,) = found["rights"]
    assert (status, missing["outcome"]) == (1, "problem")
    assert missing["text"] == f"User:gateway lacks rights of gateway: Write on {STATUS}"
    assert missing["command"] == f"kafka-acls.sh --add --allow-principal User:gateway --operation Write --topic {STATUS}"
