"""A real Kafka broker from its jars, in KRaft mode, one node or one of several; for trying and testing, not for production.

Three listeners: CLIENT advertises the gateway's address, so that every client comes through it; INTERNAL is for clientscope's
own processes; CONTROLLER is KRaft's, on a port of its own choosing.
"""

from __future__ import annotations

import re
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from clientscope.errors import EnvironmentProblem
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port, require_free, spawn, stop, tail

_LOG4J = Path(__file__).with_name("log4j2-broker.xml")
JMX_RULES = Path(__file__).with_name("jmx-exporter.yaml")


def new_cluster_id() -> str:
    """A cluster id as Kafka makes them: 16 random bytes in base64, for URLs and without padding."""
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


@dataclass(frozen=True)
class BrokerPlan:
    """Where a broker listens and what it advertises.

    Attributes:
        port: of listener CLIENT, on 127.0.0.1.
        internal_port: of listener INTERNAL, on 127.0.0.1.
        advertised: ``HOST:PORT`` that listener CLIENT advertises: the gateway's.
        data_dir: logs and metadata; formatted when it is new.
        jmx_port: where the JMX exporter answers HTTP on 127.0.0.1, or 0 for none.
        node_id: Kafka's ``node.id``.
        voters: node id → port of listener CONTROLLER on 127.0.0.1, for each node of the quorum, this one among them; empty for a
            quorum of this node alone, on a port of its own choosing. All nodes need the same voters and the same ``cluster_id``.
        cluster_id: what the directory is formatted with; empty for a new random one.
        extra: further properties of the broker; they override those set here.
        release: the configuration of ``ivy.xml`` that is run: ``broker``, or another age of Kafka. One before 3.9 needs ``voters`` or
            ``zookeeper``.
        zookeeper: ``HOST:PORT`` of ZooKeeper, for Kafka before 4.0; empty for KRaft.
    """

    port: int
    internal_port: int
    advertised: str
    data_dir: Path
    jmx_port: int = 0
    node_id: int = 1
    voters: Mapping[int, int] = field(default_factory=dict)
    cluster_id: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    release: str = "broker"
    zookeeper: str = ""

    @property
    def internal(self) -> str:
        """``HOST:PORT`` of listener INTERNAL."""
        return f"127.0.0.1:{self.internal_port}"

    def properties(self, controller_port: int) -> dict[str, str]:
        """Kafka's server.properties.

        Args:
            controller_port: of listener CONTROLLER, where no voters are named.
        """
        listeners = f"CLIENT://127.0.0.1:{self.port},INTERNAL://127.0.0.1:{self.internal_port}"
        if self.zookeeper:
            return {
                "broker.id": str(self.node_id),
                "zookeeper.connect": self.zookeeper,
                "listeners": listeners,
                "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT",
                **self._common(),
            }
        if self.voters:
            controller_port = self.voters[self.node_id]
            quorum = {"controller.quorum.voters": ",".join(f"{node}@127.0.0.1:{port}" for node, port in self.voters.items())}
        else:
            quorum = {"controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}"}
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node_id),
            **quorum,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller_port}",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
            **self._common(),
        }

    def _common(self) -> dict[str, str]:
        """The properties of every broker, with KRaft or ZooKeeper."""
        return {
            "advertised.listeners": f"CLIENT://{self.advertised},INTERNAL://{self.internal}",
            "inter.broker.listener.name": "INTERNAL",
            "log.dirs": str(self.data_dir / "logs"),
            "num.partitions": "1",
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            # A newcomer's first consumer group should not wait three seconds for members that don't come.
            "group.initial.rebalance.delay.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "auto.create.topics.enable": "false",
            **self.extra,
        }


class EmbeddedBroker:
    """A running broker; a context manager that stops it."""

    def __init__(self, plan: BrokerPlan, progress: Callable[[str], None] = lambda line: None) -> None:
        self.plan = plan
        self._progress = progress
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the broker prints."""
        return self.plan.data_dir / "broker.log"

    def start(self, timeout_s: float = 60.0) -> None:
        """Launches Kafka, and returns once both listeners answer; may be called again after `stop`.

        Raises:
            EnvironmentProblem: no Java, a port that is taken, or a broker that does not come up; says what to do.
        """
        self.launch()
        self.await_up(timeout_s)

    def launch(self) -> None:
        """Formats the directory if it is new and starts Kafka, without waiting: one node of several needs others to come up.

        Raises:
            EnvironmentProblem: no Java, or a port that is taken.
        """
        plan = self.plan
        class_path = ":".join(str(jar) for jar in jars(plan.release, self._progress))
        require_free(f"127.0.0.1:{plan.port}", "port")
        require_free(plan.internal, "internal-port")
        if plan.jmx_port:
            require_free(f"127.0.0.1:{plan.jmx_port}", "jmx-port")
        plan.data_dir.mkdir(parents=True, exist_ok=True)
        controller = free_port(besides=(plan.port, plan.internal_port, plan.jmx_port))
        properties = plan.data_dir / "server.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in plan.properties(controller).items()))
        base = [java(), "-Xmx512m", f"-Dlog4j2.configurationFile={_LOG4J}", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1"]
        if plan.jmx_port:
            agent = next(jar for jar in jars("broker") if jar.name.startswith("jmx_prometheus_javaagent"))
            agent_option = [f"-javaagent:{agent}=127.0.0.1:{plan.jmx_port}:{JMX_RULES}"]
        else:
            agent_option = []
        base_cp = ["-cp", class_path]
        # With ZooKeeper a broker makes its directory itself.
        if not plan.zookeeper and not (plan.data_dir / "logs" / "meta.properties").is_file():
            # A static quorum (controller.quorum.voters) must not be formatted as standalone; KIP-853.
            kind = [] if plan.voters else ["--standalone"]
            cluster_id = f"--cluster-id={plan.cluster_id or new_cluster_id()}"
            formatted = subprocess.run(
                [*base, *base_cp, "kafka.tools.StorageTool", "format", *kind, cluster_id, "-c", str(properties)],
                capture_output=True,
                text=True,
                check=False,
            )
            if formatted.returncode != 0:
                raise EnvironmentProblem(
                    f"Kafka could not format {plan.data_dir}: {java_cause(formatted.stderr)}",
                    "choose a writable directory that is empty or has a broker's data",
                )
        with self.log.open("ab") as log:
            self._child = spawn([*base, *agent_option, *base_cp, "kafka.Kafka", str(properties)], log)

    def await_up(self, timeout_s: float = 60.0) -> None:
        """Returns once both listeners answer.

        Raises:
            EnvironmentProblem: it ended, or does not answer in time.
        """
        assert self._child is not None
        deadline = time.monotonic() + timeout_s
        for port in (self.plan.internal_port, self.plan.port):
            while True:
                if self._child.poll() is not None:
                    raise EnvironmentProblem(f"the broker ended with {self._child.returncode}: {tail(self.log, 2)}", f"see {self.log}")
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        self.stop()
                        raise EnvironmentProblem(f"the broker is not up after {timeout_s:.0f} s", f"see {self.log}") from None
                    time.sleep(0.1)

    @property
    def pid(self) -> int | None:
        """The JVM's, while it runs."""
        return self._child.pid if self._child else None

    def wait(self, timeout_s: float | None = None) -> int:
        """Waits for the broker's own end; returns its exit status."""
        assert self._child is not None
        return self._child.wait(timeout_s)

    def stop(self) -> None:
        """Stops it as Kafka wants to be stopped; safe to call twice."""
        if self._child is not None:
            stop(self._child)

    def __enter__(self) -> EmbeddedBroker:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def java_cause(trace: str) -> str:
    """The innermost cause that a Java program ended with; without a stack trace its last line."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    thrown = [line for line in lines if re.match(r"Caused by: |Exception |[\w.]+(?:Exception|Error)\b", line)]
    return (thrown or lines or ["it said nothing"])[-1]
