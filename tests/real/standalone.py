"""A real Spark cluster: a master and two workers from PySpark's own jars, each in a directory of its own, all on 127.0.0.1.

Its machines have what the job depends on, and not the job: neither the driver nor an executor finds any of our packages but in the zip
that spark-submit ships.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyspark
from observe import children, command_line, page
from patience import LIMIT_S, eventually
from places import ROOT
from programs import ran

from clientscope.local.process import free_port, spawn, stop

SPARK = Path(pyspark.__file__).parents[1]
"""The folder with the installed PySpark."""

OTHER_SPARKS = ROOT / ".sparks"
"""Where `make sparks` puts other releases: a folder of that name for each, with its PySpark and Py4J and nothing else."""

_OF_SPARK = ("pyspark", "py4j")
_PACKAGES = ("clientscope", "udfs", "streaming", "sinks")


def for_submit(folder: Path, jars: str = "spark") -> None:
    """Makes what spark-submit is given, by the commands of docs/cluster.md.

    Args:
        jars: the set for the cluster's release of Spark.
    """
    text = (ROOT / "docs" / "cluster.md").read_text()
    commands = (
        text[text.index("pip wheel") :].split("```")[0].replace("/srv/clientscope", str(folder)).replace("--only spark", f"--only {jars}")
    )
    folder.mkdir(parents=True)
    # pip's variable is inverted: 0 builds with what the environment has, rather than fetching it.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PIP_NO_BUILD_ISOLATION": "0"}
    ran("/bin/bash", "-ec", commands, cwd=ROOT, env=environment)
    properties = folder / "clientscope.properties"
    properties.write_text(properties.read_text().replace("/srv/clientscope", str(folder)))


def environment_without_us(folder: Path, spark: Path) -> Path:
    """A Python environment that has all we depend on but not our packages; returns its interpreter.

    Args:
        spark: the folder with its PySpark and Py4J.
    """
    ran(sys.executable, "-m", "venv", "--without-pip", "--symlinks", folder)
    own = next(folder.glob("lib/python*/site-packages"))
    installed = [each for each in Path(sysconfig.get_path("purelib")).iterdir() if not each.name.startswith(_OF_SPARK)]
    for entry in [*installed, *(each for each in spark.iterdir() if each.name.startswith(_OF_SPARK))]:
        if "clientscope" not in entry.name and entry.name not in _PACKAGES:
            (own / entry.name).symlink_to(entry)
    python = folder / "bin" / "python"
    found = ran(python, "-c", "import kafka, pyarrow, pyspark, clientscope", cwd=folder, env=scrubbed(), status=1)
    assert "No module named 'clientscope'" in found.stderr, found.stderr
    return python


def make_deadly(python: Path) -> None:
    """Decoders that this interpreter runs die of certain records, as ``deadly/sitecustomize.py`` says."""
    own = next(python.parent.parent.glob("lib/python*/site-packages"))
    shutil.copyfile(Path(__file__).with_name("deadly") / "sitecustomize.py", own / "sitecustomize.py")


def scrubbed(**more: str) -> dict[str, str]:
    """The environment of a machine that knows nothing of these tests."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "JAVA_HOME", "LANG", "TMPDIR") if key in os.environ}
    return kept | {"SPARK_LOCAL_IP": "127.0.0.1"} | more


def secret(folder: Path) -> Path:
    """The folder with what deploy/prepare.sh makes for Spark alone: its processes know each other by a secret, and encrypt."""
    (folder / "conf").mkdir()
    ran(ROOT / "deploy" / "prepare.sh", folder / "deploy")
    shutil.copy(folder / "deploy" / "spark-defaults.conf", folder / "conf")
    return folder / "conf"


class Standalone:
    """The cluster's processes.

    Attributes:
        master: its URL.
        python: the interpreter of its machines.
    """

    def __init__(
        self,
        folder: Path,
        conf: Path | None = None,
        spark: Path = SPARK,
        environment: Mapping[str, str] | None = None,
        executor_mb: int = 512,
    ) -> None:
        """
        Args:
            conf: the folder with ``spark-defaults.conf`` and ``spark-env.sh`` (SPARK_CONF_DIR) of its machines, if they have one.
            spark: the folder with PySpark and Py4J.
            environment: of workers and driver, beside ``spark-env.sh``.
            executor_mb: the heap of each of the two executors.
        """
        self.folder, self._conf_folder = folder, conf
        self._environment = dict(environment or {})
        self._executor_mb = executor_mb
        self._home = spark / "pyspark"
        self._conf = {"SPARK_HOME": str(self._home)} | ({"SPARK_CONF_DIR": str(conf)} if conf else {})
        self.python = environment_without_us(folder / "python", spark)
        make_deadly(self.python)
        self._port, self._page = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{self._port}"
        self._children: list[subprocess.Popen[bytes]] = []
        self._driver: Any = None

    def start(self) -> None:
        self._start("master", "master.Master", "--port", str(self._port), "--webui-port", str(self._page))
        for name in ("worker-1", "worker-2"):
            self._start_worker(name)
        assert eventually(lambda: self.state().count('"state" : "ALIVE"') == 2), self._log("master")

    def refuses(self, name: str) -> bool:
        """Whether a further worker, whose machine hasn't the others' ``spark-defaults.conf``, gets no further than connecting."""
        conf, self._conf = self._conf, {"SPARK_HOME": str(self._home)}
        self._start_worker(name)
        self._conf = conf
        return eventually(lambda: "Failed to connect to master" in self._log(name)) and self.state().count('"state" : "ALIVE"') == 2

    def _start_worker(self, name: str) -> None:
        self._start(
            name, "worker.Worker", "--port", str(free_port()), "--webui-port", str(free_port()), "--cores", "1",
            "--memory", f"{self._executor_mb + 88}m",
            "--work-dir", str(self.folder / name), self.master,
        )  # fmt: skip

    def run(self, folder: Path, servers: str, store: Path | str, key: Path, *flags: str, given: Sequence[str] = ()) -> None:
        """Starts the job with history in a store."""
        self.submit(
            folder, "--bootstrap-servers", servers,
            "--checkpoint-dir", str(self.folder / "checkpoints"), "--history-dir", f"{store}/history",
            "--history-interval-seconds", "2", "--metrics-listen", "127.0.0.1:0", "--digest-key-file", str(key), *flags, given=given,
        )  # fmt: skip

    def submit(self, folder: Path, *flags: str, given: Sequence[str] = ()) -> None:
        """Starts the job by spark-submit, as docs/cluster.md says."""
        command = [
            str(self._home / "bin" / "spark-submit"), "--master", self.master, *self._properties(folder),
            "--driver-memory", "768m", "--executor-memory", f"{self._executor_mb}m", "--executor-cores", "1",
            "--total-executor-cores", "2",
            "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1", *given,
            str(folder / "submit.py"), *flags,
        ]  # fmt: skip
        driver = self.folder / "driver"
        driver.mkdir(exist_ok=True)
        with (self.folder / "driver.log").open("ab") as log:
            environment = scrubbed(PYSPARK_PYTHON=str(self.python), **self._conf, **self._environment)
            self._driver = subprocess.Popen(
                command, cwd=driver, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def _properties(self, folder: Path) -> list[str]:
        """Flags that give the folder's and those of ``spark-defaults.conf``; before Spark 4.0 in one file, which only its owner reads."""
        ours = folder / "clientscope.properties"
        if not next(self._home.parent.glob("pyspark-*.dist-info")).name.startswith("pyspark-3."):
            return ["--properties-file", str(ours), "--load-spark-defaults"]
        both = self.folder / "both.properties"
        both.touch(0o600)
        both.write_text(((self._conf_folder / "spark-defaults.conf").read_text() if self._conf_folder else "") + ours.read_text())
        return ["--properties-file", str(both)]

    def await_ready(self) -> None:
        assert eventually(lambda: "clientscope stream: ready" in self.log() or self._ended()), self.log()
        assert self._driver.poll() is None, self.log()

    def executors(self) -> list[int]:
        """The processes of the executors' JVMs."""
        below = [pid for child in self._children for pid in children(child.pid)]
        return [pid for pid in below if "CoarseGrainedExecutorBackend" in str(command_line(pid))]

    def pids(self) -> list[int]:
        """The job's spark-submit, and the workers."""
        return [self._driver.pid, *(child.pid for child in self._children[1:])]

    def log(self) -> str:
        """What the job has said."""
        return self._log("driver")

    def stop_job(self) -> int:
        """SIGTERM to the job's Python process, which ends in its own order; returns spark-submit's exit status."""
        if self._driver.poll() is None:
            # The first is the program: what it forks has its arguments too, until it runs something else.
            program = next(pid for pid in children(self._driver.pid) if "submit.py" in str(command_line(pid)))
            with suppress(ProcessLookupError):
                os.kill(program, signal.SIGTERM)
        try:
            return self._driver.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._driver.pid, signal.SIGKILL)
            raise

    def kill_job(self) -> None:
        """Kills spark-submit, its JVM and its Python with -9."""
        os.killpg(self._driver.pid, signal.SIGKILL)
        self._driver.wait(LIMIT_S)

    def stop(self) -> None:
        try:
            if self._driver is not None:
                self.stop_job()
        finally:
            for child in reversed(self._children):
                stop(child)

    def _ended(self) -> bool:
        return self._driver is not None and self._driver.poll() is not None

    def state(self) -> str:
        """What the master says of workers and applications, in JSON."""
        return page(f"http://127.0.0.1:{self._page}/json/")[1]

    def _start(self, name: str, what: str, *arguments: str) -> None:
        folder = self.folder / name
        folder.mkdir(parents=True)
        command = [str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", "--host", "127.0.0.1", *arguments]
        own = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false"}
        environment = scrubbed(**own, **self._conf, **self._environment)
        with (self.folder / f"{name}.log").open("wb") as log:
            self._children.append(spawn(["env", "-C", str(folder), *command], log, environment))

    def _log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.is_file() else ""


@contextmanager
def standalone(folder: Path, conf: Path | None = None, spark: Path = SPARK) -> Iterator[Standalone]:
    """A cluster that is up, and the job on it stopped before it."""
    cluster = Standalone(folder, conf, spark)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
