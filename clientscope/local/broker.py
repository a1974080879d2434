"""A real Kafka broker from its jars: one node, KRaft mode, for trying and testing; not for production.

Three listeners: CLIENT advertises the gateway's address, so that every client comes through it; INTERNAL is for clientscope's
own processes; CONTROLLER is KRaft's, on a port of its own choosing.
"""

from __future__ import annotations

import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from clientscope.errors import EnvironmentProblem
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port, require_free, spawn, stop, tail

_LOG4J = Path(__file__).with_name("log4j2-broker.yaml")
_JMX_RULES = Path(__file__).with_name("jmx-exporter.yaml")


@dataclass(frozen=True)
class BrokerPlan:
    """Where a broker listens and what it advertises.

    Attributes:
        port: of listener CLIENT, on 127.0.0.1.
        internal_port: of listener INTERNAL, on 127.0.0.1.
        advertised: ``HOST:PORT`` that CLIENT tells clients to come to: the gateway's.
        data_dir: logs and metadata; formatted when it is new.
        jmx_port: where the JMX exporter answers HTTP on 127.0.0.1, or 0 for none.
    """

    port: int
    internal_port: int
    advertised: str
    data_dir: Path
    jmx_port: int = 0

    @property
    def internal(self) -> str:
        """``HOST:PORT`` of listener INTERNAL."""
        return f"127.0.0.1:{self.internal_port}"

    def properties(self, controller_port: int) -> dict[str, str]:
        """Kafka's server.properties."""
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"CLIENT://127.0.0.1:{self.port},INTERNAL://127.0.0.1:{self.internal_port},"
            f"CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"CLIENT://{self.advertised},INTERNAL://{self.internal}",
            "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
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
        }


class Broker:
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
        """Formats the directory if it is new, starts Kafka, and returns once both listeners answer.

        Raises:
            EnvironmentProblem: no Java, a port that is taken, or a broker that does not come up; says what to do.
        """
        plan = self.plan
        class_path = ":".join(str(jar) for jar in jars("broker", self._progress))
        require_free(f"127.0.0.1:{plan.port}", "port")
        require_free(plan.internal, "internal-port")
        if plan.jmx_port:
            require_free(f"127.0.0.1:{plan.jmx_port}", "jmx-port")
        plan.data_dir.mkdir(parents=True, exist_ok=True)
        properties = plan.data_dir / "server.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in plan.properties(free_port()).items()))
        base = [java(), "-Xmx512m", f"-Dlog4j2.configurationFile={_LOG4J}", "-XX:+UseG1GC", "-XX:TieredStopAtLevel=1"]
        if plan.jmx_port:
            agent = next(jar for jar in jars("broker") if jar.name.startswith("jmx_prometheus_javaagent"))
            agent_option = [f"-javaagent:{agent}=127.0.0.1:{plan.jmx_port}:{_JMX_RULES}"]
        else:
            agent_option = []
        base_cp = ["-cp", class_path]
        if not (plan.data_dir / "logs" / "meta.properties").is_file():
            cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            formatted = subprocess.run(
                [*base, *base_cp, "kafka.tools.StorageTool", "format", "--standalone", f"--cluster-id={cluster_id}", "-c", str(properties)],
                capture_output=True,
                text=True,
                check=False,
            )
            if formatted.returncode != 0:
                raise EnvironmentProblem(
                    f"Kafka could not format {plan.data_dir}: {formatted.stderr.strip().splitlines()[-1:]}",
                    "is the directory writable, and empty or a broker's?",
                )
        with self.log.open("ab") as log:
            self._child = spawn([*base, *agent_option, *base_cp, "kafka.Kafka", str(properties)], log)
        self._wait_until_up(timeout_s)

    def _wait_until_up(self, timeout_s: float) -> None:
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

    def __enter__(self) -> Broker:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()
