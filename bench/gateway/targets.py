"""Targets of the measurements: the broker itself, the gateway in front of it or of its cluster, and a peer in front of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from clientscope.errors import EnvironmentProblem
from clientscope.local.broker import BrokerPlan
from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port, spawn, stop, tail

_HERE = Path(__file__).parent
PEER_HEAP = "-Xmx512m"
_PEER_YAML = """\
virtualClusters:
  - name: bench
    targetCluster:
      bootstrapServers: {upstream}
    gateways:
      - name: bench
        portIdentifiesNode:
          bootstrapAddress: {address}
"""


@dataclass
class Target:
    """One way to the broker.

    Attributes:
        address: where clients connect.
        command: starts it; empty for the broker itself, which runs already.
        sign: what its log says once it is ready.
    """

    name: str
    address: str
    command: list[str] = field(default_factory=list)
    sign: str = "ready"
    log: Path = Path(os.devnull)
    _child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The root of its processes; None for the broker itself, whose cost is not the question."""
        return self._child.pid if self._child else None

    def start(self) -> None:
        """Starts it and waits until it says that it is ready.

        Raises:
            EnvironmentProblem: it isn't within a minute.
        """
        if not self.command:
            return
        with self.log.open("wb") as log:
            self._child = spawn(self.command, log)
        deadline = time.monotonic() + 60
        while self.sign not in self.log.read_text(errors="replace"):
            if self._child.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise EnvironmentProblem(f"{self.name} does not start: {tail(self.log, 3)}", f"see {self.log}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stops it; safe to call twice."""
        if self._child is not None:
            stop(self._child)
            self._child = None


def direct(plan: BrokerPlan) -> Target:
    """Listener INTERNAL, which advertises itself."""
    return Target("direct", plan.internal)


def gateway(plan: BrokerPlan, scratch: Path) -> Target:
    """The gateway as its command starts it, with its defaults; its metrics endpoint is up."""
    command = [sys.executable, "-m", "clientscope.cli", "gateway", "--bootstrap-servers", plan.internal, "--listen", plan.advertised]
    command += ["--upstream", f"127.0.0.1:{plan.port}", "--metrics-listen", f"127.0.0.1:{free_port()}"]
    command += ["--admin-listen", "127.0.0.1:0"]
    return Target("gateway", plan.advertised, command, "gateway: ready", scratch / "gateway.log")


def cluster_gateway(plan: BrokerPlan, scratch: Path) -> Target:
    """The gateway in front of a whole cluster, whose brokers' addresses it replaces (``--broker-ports``), as the peer does."""
    address, ports = f"127.0.0.1:{free_port()}", free_port()
    command = [sys.executable, "-m", "clientscope.cli", "gateway", "--bootstrap-servers", plan.internal, "--listen", address]
    command += ["--broker-ports", f"{ports}-{ports}", "--first-broker-id", str(plan.node_id), "--admin-listen", "127.0.0.1:0"]
    command += ["--metrics-listen", f"127.0.0.1:{free_port()}"]
    return Target("cluster", address, command, "gateway: ready", scratch / "cluster.log")


def peer(plan: BrokerPlan, scratch: Path) -> Target:
    """Kroxylicious 0.12.0 without filters.

    Raises:
        EnvironmentProblem: no JDK to compile its main with, or its jars can't be had; the benchmark then goes without it.
    """
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=str(Path(home) / "bin") if home else None)
    if javac is None:
        raise EnvironmentProblem(
            "no javac: the peer's main must be compiled", "install a JDK (Debian: apt-get install openjdk-17-jdk-headless)"
        )
    class_path = os.pathsep.join([*map(str, jars("peer", print)), str(scratch)])
    compiled = subprocess.run(
        [javac, "-proc:none", "-cp", class_path, "-d", str(scratch), str(_HERE / "Peer.java")], capture_output=True, text=True, check=False
    )
    if compiled.returncode != 0:
        raise EnvironmentProblem(f"the peer's main does not compile: {compiled.stderr.strip()[:300]}")
    address = f"127.0.0.1:{free_port()}"  # its nodes 0 to 2 take the three ports above
    settings = scratch / "peer.yaml"
    settings.write_text(_PEER_YAML.format(upstream=plan.internal, address=address))
    return Target("peer", address, [java(), PEER_HEAP, "-cp", class_path, "Peer", str(settings)], "peer: ready", scratch / "peer.log")
