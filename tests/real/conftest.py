"""Real parts, each on ports and in directories of its own: a broker, a gateway in front of it, and the whole installation."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from certificates import Authority
from forked import Gateway
from groups import group_of
from kafka import KafkaAdminClient
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion
from observe import answers, gateway_connections, make_topic, page
from page_browser import Opens, started, watched
from patience import LIMIT_S
from places import TESTS
from played_fleet import OWNERS
from playwright.sync_api import Browser, expect
from programs import running as running_program
from stream_job import StreamJob

from clientscope import topics
from clientscope.client.raw import RawClient
from clientscope.demo.fleet import Fleet
from clientscope.demo.watch import jmx_connections
from clientscope.local.broker import BrokerPlan, EmbeddedBroker, new_cluster_id
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port

expect.set_options(timeout=1_000 * LIMIT_S)


@dataclass(frozen=True)
class RunningBroker:
    """Addresses of a broker that is up, with our topics on it."""

    internal: str
    client: str
    advertised: str
    jmx_port: int
    data_dir: Path

    @property
    def connections(self) -> dict[tuple[str, str], int]:
        """Those on its listener for clients by software, as its own JMX has them."""
        return jmx_connections(self.jmx_port)

    @contextmanager
    def gateway(
        self, log_dir: Path, *flags: str, upstream: str = "", listen: str = "", advertised: bool = False, policy: str = ""
    ) -> Iterator[RunningGateway]:
        """A `running_gateway` in front of it; if ``advertised``, where it leads its clients to.

        Args:
            policy: a class of tests/pure, which then is the gateway's policy.
        """
        listen = self.advertised if advertised else listen
        with pytest.MonkeyPatch.context() as patch:
            if policy:
                patch.setenv("PYTHONPATH", str(TESTS / "pure"), prepend=os.pathsep)
                flags = ("--client-config-policy-class-name", policy, *flags)
            with running_gateway(self.internal, upstream or self.client, log_dir, *flags, listen=listen) as running:
                yield running


@dataclass(frozen=True)
class RunningGateway:
    """Addresses of a gateway that is up, or will be."""

    address: str
    pid: int = 0
    metrics_url: str = field(default_factory=lambda: f"http://127.0.0.1:{free_port()}/metrics")
    admin: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")

    def arguments(self, internal: str, upstream: str, *flags: str) -> list[str]:
        """What starts it in front of a broker, once or again.

        The policy's process is niced, and the tests leave it little of two cores: at the default deadline it may be stopped after it has
        published, and the client pushes once more.
        """
        patience = () if "--config" in flags else ("--policy-deadline-ms", "10000")
        return [
            "gateway", "--bootstrap-servers", internal, "--listen", self.address, "--upstream", upstream,
            "--metrics-listen", self.metrics_url.split("/")[2], "--admin-listen", self.admin, "--heartbeat-interval-ms", "1000",
            *patience, *flags,
        ]  # fmt: skip

    @property
    def connections(self) -> dict[tuple[str, str], int]:
        """Those that are open by software, as its own metrics have them."""
        return gateway_connections(self.metrics_url)

    def probe(self, name: str) -> tuple[int, str]:
        """Status and text of its ``healthz`` or ``readyz``."""
        return page(self.metrics_url.replace("metrics", name))

    def connect(self, client_id: str) -> RawClient:
        return RawClient.connect(self.address, client_id, LIMIT_S)

    def named(self, client_id: str, software: str = "", version: str = "1", instance: UUID | None = None) -> RawClient:
        """A client that has said what it is, and was answered."""
        client = self.connect(client_id)
        try:
            assert client.api_versions(software or client_id, version, instance).error_code == 0
        except BaseException:
            client.close()
            raise
        return client


@dataclass(frozen=True)
class Installation:
    """Everything that an operator runs, and the processes behind it."""

    broker: RunningBroker
    gateway: RunningGateway
    page_url: str
    data_dir: Path
    job: StreamJob

    @property
    def internal(self) -> str:
        return self.broker.internal

    @property
    def processes(self) -> Fleet:
        """The job's, and those of all else."""
        return self.job.processes

    def api(self, path: str) -> Any:
        """What the page's API answers."""
        return json.loads(page(f"{self.page_url}api/v1/{path}")[1])

    def start_gateway(self) -> None:
        """Once, or again."""
        key = ("--digest-key-file", str(self.job.key))
        self.processes.start("gateway", *self.gateway.arguments(self.internal, self.broker.client, *key))


class ForkedFleet(Fleet):
    """Of gateways."""

    def start(self, name: str, *arguments: str, module: str = "clientscope.cli") -> None:
        self._children[name] = Gateway(arguments, self._log(name))  # type: ignore[assignment]


@contextmanager
def zookeeper(release: str, data_dir: Path) -> Iterator[str]:
    """The address of a ZooKeeper from the jars of an older release of Kafka, for a broker of that release."""
    data_dir.mkdir(parents=True)
    port, properties = free_port(), data_dir / "zookeeper.properties"
    properties.write_text(
        f"dataDir={data_dir / 'data'}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n"
    )
    command = [
        java(), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", os.pathsep.join(map(str, jars(release))),
        "-Dzookeeper.jmx.log4j.disable=true",  # its JMX needs Log4j 1's own classes
        "org.apache.zookeeper.server.quorum.QuorumPeerMain", properties,
    ]  # fmt: skip
    with running_program(data_dir / "zookeeper.log", *command, ready=lambda: answers(port)):
        yield f"127.0.0.1:{port}"


class BrokerWithZooKeeper(EmbeddedBroker):
    """A broker whose ZooKeeper ends with it."""

    def __init__(self, plan: BrokerPlan) -> None:
        self._zookeeper = ExitStack()
        address = self._zookeeper.enter_context(zookeeper(plan.release, plan.data_dir.with_name(f"{plan.data_dir.name}-zookeeper")))
        super().__init__(replace(plan, zookeeper=address))

    def stop(self) -> None:
        super().stop()
        self._zookeeper.close()


def start_broker(data_dir: Path, release: str = "broker", extra: Mapping[str, str] | None = None) -> tuple[EmbeddedBroker, RunningBroker]:
    """A broker that advertises an address where nothing listens yet; Kafka 2 has a ZooKeeper of its own."""
    plan = BrokerPlan(free_port(), free_port(), f"127.0.0.1:{free_port()}", data_dir, free_port(), release=release, extra=extra or {})
    broker = EmbeddedBroker(plan)
    if release.startswith("broker-2."):
        broker = BrokerWithZooKeeper(plan)
    elif release == "broker-3.6":  # a quorum without KIP-853
        broker = EmbeddedBroker(replace(plan, voters={1: free_port()}, cluster_id=new_cluster_id()))
    return broker, with_topics(broker, plan)


def with_topics(broker: EmbeddedBroker, plan: BrokerPlan) -> RunningBroker:
    """Starts it, and creates our topics."""
    try:
        broker.start()
        topics.create(plan.internal)
    except BaseException:
        broker.stop()
        raise
    return RunningBroker(plan.internal, f"127.0.0.1:{plan.port}", plan.advertised, plan.jmx_port, plan.data_dir)


@contextmanager
def running_broker(data_dir: Path, release: str = "broker", extra: Mapping[str, str] | None = None) -> Iterator[RunningBroker]:
    """A broker of its own, as `start_broker` has it."""
    started, running = start_broker(data_dir, release, extra)
    try:
        yield running
    finally:
        started.stop()


@contextmanager
def running_processes(log_dir: Path) -> Iterator[Fleet]:
    """Commands of ours that a test starts; all end when this is left."""
    processes = Fleet(log_dir, lambda line: None)
    try:
        yield processes
    finally:
        processes.stop()


@contextmanager
def running_brokers(plans: Iterable[BrokerPlan]) -> Iterator[list[EmbeddedBroker]]:
    """The brokers of one cluster."""
    brokers = [EmbeddedBroker(plan) for plan in plans]
    try:
        for broker in brokers:
            broker.launch()
        for broker in brokers:
            broker.await_up()
        yield brokers
    finally:
        with ThreadPoolExecutor() as pool:  # at once: the last of a quorum would wait in vain for the others
            list(pool.map(EmbeddedBroker.stop, brokers))


@contextmanager
def running_gateway(internal: str, upstream: str, log_dir: Path, *flags: str, listen: str = "") -> Iterator[RunningGateway]:
    """A gateway of its own with these flags."""
    processes = ForkedFleet(log_dir, lambda line: None)
    gateway = RunningGateway(listen or f"127.0.0.1:{free_port()}")
    processes.start("gateway", *gateway.arguments(internal, upstream, *flags))
    processes.await_ready("gateway")
    try:
        yield replace(gateway, pid=processes.pid("gateway"))
    finally:
        processes.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a module's own parts."""
    return tmp_path_factory.mktemp("module")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real one. Not for the session: its event loop runs in the tests' thread, where other modules' tests want one of their own."""
    with started() as one:
        yield one


@pytest.fixture
def opens(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Opens]:
    """Opens pages; what a browser writes to its console fails the test, but for what the module's ``is_allowed`` expects."""
    with watched(browser, getattr(request.module, "is_allowed", lambda message: False)) as opening:
        yield opening


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """A broker without the job, for what needs none."""
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="session")
def spare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """A broker that leads its clients to where no gateway is but what a test puts there."""
    with running_broker(tmp_path_factory.mktemp("spare")) as running:
        yield running


@pytest.fixture(scope="module")
def lone(folder: Path) -> Iterator[RunningBroker]:
    """A broker of one module's own."""
    with running_broker(folder / "broker") as running:
        yield running


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RunningBroker]:
    """A broker of one test's own."""
    with running_broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture(scope="session")
def gateway(broker: RunningBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    """A gateway in front of `broker`."""
    log_dir = tmp_path_factory.mktemp("gateway")
    with running_gateway(broker.internal, broker.client, log_dir, listen=broker.advertised) as running:
        yield running


@pytest.fixture(scope="module")
def topic(broker: RunningBroker, request: pytest.FixtureRequest) -> str:
    """One of a module's own, whose messages may be as long as a request."""
    make_topic(broker.internal, request.module.__name__, **{"max.message.bytes": str(110 * 2**20)})
    return str(request.module.__name__)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


PASSWORD = "canary-password-7f3a"
REAUTHENTICATE_MS = 5_000


def sasl(mechanisms: str, password: str, *users: str) -> dict[str, str]:
    """Settings of a broker whose listener CLIENT speaks SASL_PLAINTEXT; the users are PLAIN's."""
    required = {"PLAIN": "plain.Plain", "SCRAM-SHA-256": "scram.Scram", "OAUTHBEARER": "oauthbearer.OAuthBearer"}
    known = "".join(f' user_{each}="{password}"' for each in users)
    modules = {
        f"listener.name.client.{each.lower()}.sasl.jaas.config": f"org.apache.kafka.common.security.{required[each]}LoginModule required"
        f"{known if each == 'PLAIN' else ''};"
        for each in mechanisms.split(",")
    }
    protocols = "CLIENT:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT"
    return {"listener.security.protocol.map": protocols, "sasl.enabled.mechanisms": mechanisms, **modules}


@pytest.fixture(scope="session")
def sasl_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """A broker whose listener CLIENT speaks SASL_PLAINTEXT, and asks for it again every few seconds."""
    extra = {
        **sasl("PLAIN,SCRAM-SHA-256,OAUTHBEARER", PASSWORD, "alice", "mallory", "Gary"),
        "connections.max.reauth.ms": str(REAUTHENTICATE_MS),
        "connection.failed.authentication.delay.ms": "0",
    }
    with running_broker(tmp_path_factory.mktemp("sasl"), extra=extra) as running:
        with KafkaAdminClient(bootstrap_servers=running.internal) as admin:
            bob = UserScramCredentialUpsertion("bob", ScramMechanism.SCRAM_SHA_256, PASSWORD.encode(), iterations=4096)
            admin.alter_user_scram_credentials([bob])
        yield running


@pytest.fixture(scope="session")
def sasl_gateway(sasl_broker: RunningBroker) -> Iterator[RunningGateway]:
    """A gateway that finds out by itself that its listener asks for SASL."""
    logs = sasl_broker.data_dir / "gateway"
    with running_gateway(sasl_broker.internal, sasl_broker.client, logs, listen=sasl_broker.advertised) as running:
        yield running


@contextmanager
def running_installation(data_dir: Path, release: str = "broker") -> Iterator[Installation]:
    """Broker, gateway, job and page."""
    started, running = start_broker(data_dir / "broker", release)
    (data_dir / "owners.toml").write_text(OWNERS)
    owners = ("--owners", str(data_dir / "owners.toml"))
    page, job = f"127.0.0.1:{free_port()}", StreamJob(running.internal, data_dir, *owners)
    installed = Installation(running, RunningGateway(running.advertised), f"http://{page}/", data_dir, job)
    try:
        job.start()
        installed.start_gateway()
        job.processes.start(
            "serve", "serve", "--bootstrap-servers", running.internal, "--listen", page, "--data-docs-dir", f"{job.history}/data-docs",
            "--history-dir", str(job.history), *owners,
        )  # fmt: skip
        for name in ("gateway", "serve", "stream"):
            job.ready(name)
        yield installed
    finally:
        job.processes.stop()
        started.stop()


_journey = ExitStack()
_installed: list[Installation] = []


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Broker, gateway, job and page of today: one for all files of the journey, whose clients have names of their own."""
    if not _installed:
        _installed.append(_journey.enter_context(running_installation(tmp_path_factory.mktemp("installation"))))
    return _installed[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The installation ends with the group that has it: a job that idles would take CPU from all that follow."""
    if _installed and (nextitem is None or group_of(nextitem.nodeid) != group_of(item.nodeid)):
        _installed.clear()
        _journey.close()
