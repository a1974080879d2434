"""ZooKeeper from the jars of an older release of Kafka, for a broker of that release."""

from __future__ import annotations

import subprocess
from pathlib import Path

from observe import answers
from patience import eventually

from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.local.process import free_port, spawn, stop, tail


class ZooKeeper:
    """One server, on 127.0.0.1 and a port of its own.

    Attributes:
        address: ``HOST:PORT`` where it takes clients.
    """

    def __init__(self, release: str, data_dir: Path) -> None:
        data_dir.mkdir(parents=True)
        port = free_port()
        self.address = f"127.0.0.1:{port}"
        properties = data_dir / "zookeeper.properties"
        properties.write_text(
            f"dataDir={data_dir / 'data'}\nclientPort={port}\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\nmaxClientCnxns=0\n"
        )
        class_path = ":".join(str(jar) for jar in jars(release))
        command = [java(), "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path]
        log = data_dir / "zookeeper.log"
        with log.open("wb") as file:
            # Without its JMX, which needs Log4j 1's own classes.
            command += ["-Dzookeeper.jmx.log4j.disable=true", "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(properties)]
            self._child: subprocess.Popen[bytes] = spawn(command, file)
        if not eventually(lambda: self._child.poll() is not None or answers(port)) or self._child.poll() is not None:
            self.stop()
            raise AssertionError(f"ZooKeeper is not up: {tail(log)}")

    def stop(self) -> None:
        """Ends it; safe to call twice."""
        stop(self._child)
