"""Clients of every age, for `clientscope.readiness`: each produces a record, consumes it in a group, and commits; or it fails.

``python tools/readiness_clients.py`` runs all of them against real brokers, and writes tests/fixtures/readiness.json, of which
docs/readiness.md and a pure test are made. With words it runs the clients whose names have one of them, and keeps the others' lines.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kafka
from releases import fetch_jars

from clientscope.local.jars import jars
from clientscope.local.java import java
from clientscope.readiness import ObservedUses

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS / "real"), str(TESTS / "pure")]

from conftest import start_broker  # noqa: E402
from tap import Tap  # noqa: E402

SOURCES = Path(__file__).with_name("readiness_programs")
RECORDED = TESTS / "fixtures" / "readiness.json"
SEEN_ON = {"3.9.2": "broker-3.9", "2.4.1": "broker-2.4"}
TARGETS = {"4.0.0": "broker-4.0.0", "4.0.1": "broker-4.0.1", "4.4.0": "broker"}
"""Release → the configuration of ivy.xml that runs it."""
_RUN_S = 45
_BUILD_S = 400

Prepare = Callable[[Path], Sequence[str]]


@dataclass(frozen=True)
class AgedClient:
    """A release of a client library.

    Attributes:
        library, version: what it is.
        prepare: fetches and builds it in a folder, and returns the command; address, topic, group and value follow it.
        arguments: what follows those: settings.
        setting: the same for a reader; empty for the defaults.
    """

    library: str
    version: str
    prepare: Prepare
    arguments: tuple[str, ...] = ()
    setting: str = ""

    @property
    def name(self) -> str:
        """Unique among all of them."""
        return f"{self.library} {self.version}{f', {self.setting}' if self.setting else ''}"


def _call(*command: str, cwd: Path | None = None, **env: str) -> None:
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, timeout=_BUILD_S, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"


def _java(version: str) -> Prepare:
    def prepare(folder: Path) -> Sequence[str]:
        fetch_jars([("kafka-clients", version)], folder)
        paths = [folder / f"kafka-clients-{version}.jar", *(jar for jar in jars("broker") if jar.name.startswith("slf4j-api"))]
        class_path = ":".join(map(str, paths))
        _call(str(Path(java()).with_name("javac")), "-cp", class_path, "-d", str(folder), str(SOURCES / "ProduceConsume.java"))
        return [java(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}:{class_path}", "ProduceConsume"]

    return prepare


def _pip(script: str, *requirements: str) -> Prepare:
    """A folder of packages rather than a venv, which takes ten seconds more."""

    def prepare(folder: Path) -> Sequence[str]:
        if requirements:
            _call(sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", str(folder), *requirements)
        path = str(folder) if requirements else sysconfig.get_paths()["purelib"]
        code = f"import sys, runpy; sys.path.insert(0, {path!r}); sys.argv.pop(0); runpy.run_path(sys.argv[0], run_name='__main__')"
        return [sys.executable, "-c", code, str(SOURCES / script)]

    return prepare


def _librdkafka(version: str) -> Prepare:
    """Of confluent-kafka's wheel for Python 3.7, which every release from 0.11.6 to 2.11 has; only the C library of it is loaded."""

    def prepare(folder: Path) -> Sequence[str]:
        platforms = ("manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64")
        chosen = [word for platform in platforms for word in ("--platform", platform)]
        fetch = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", "3.7", *chosen)
        _call(*fetch, "-d", str(folder), f"confluent-kafka=={version}")
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder, [name for name in archive.namelist() if "libs/" in name])
        (library,) = folder.rglob("librdkafka*.so*")
        # The oldest wheels' libraries don't say where the others are.
        return ["env", f"LD_LIBRARY_PATH={library.parent}", sys.executable, str(SOURCES / "with_librdkafka.py"), str(library)]

    return prepare


def _go(program: str, module: str, version: str) -> Prepare:
    def prepare(folder: Path) -> Sequence[str]:
        source = (SOURCES / "go" / program / "main.go").read_text()
        (folder / "main.go").write_text(source.replace('"SARAMA"', f'sarama "{module}"'))
        _call("go", "mod", "init", "clientscope.test/readiness", cwd=folder)
        _call("go", "get", f"{module}@{version}", cwd=folder)
        _call("go", "mod", "tidy", cwd=folder)
        _call("go", "build", "-buildvcs=false", "-o", "client", ".", cwd=folder, CGO_ENABLED="0")
        return [str(folder / "client")]

    return prepare


def _kafkajs(version: str) -> Prepare:
    def prepare(folder: Path) -> Sequence[str]:
        shutil.copy(SOURCES / "node" / "main.js", folder)
        _call("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", f"kafkajs@{version}", cwd=folder)
        return ["node", "--no-warnings", str(folder / "main.js")]

    return prepare


SHOPIFY, IBM = "github.com/Shopify/sarama", "github.com/IBM/sarama"
FRANZ = "github.com/twmb/franz-go"
SEGMENTIO = "github.com/segmentio/kafka-go"
KAFKA_PYTHON, AIOKAFKA = (importlib.metadata.version(name) for name in ("kafka-python", "aiokafka"))
FALLBACK = ("api.version.request=false", "broker.version.fallback=0.9.0.1")

CLIENTS = (
    *(
        AgedClient("Java", version, _java(version))
        for version in ("0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.4.1", "2.8.2", "3.9.2", "4.4.0")
    ),
    *(AgedClient("librdkafka", version, _librdkafka(version)) for version in ("0.11.6", "1.0.0", "1.4.0", "1.8.2", "2.0.2", "2.11.0")),
    AgedClient("librdkafka", "1.8.2", _librdkafka("1.8.2"), FALLBACK, ", ".join(FALLBACK)),
    AgedClient("kafka-python", "1.4.7", _pip("with_kafka_python.py", "kafka-python==1.4.7")),
    AgedClient("kafka-python", "2.0.2", _pip("with_kafka_python.py", "kafka-python==2.0.2")),
    AgedClient("kafka-python", "2.0.2", _pip("with_kafka_python.py", "kafka-python==2.0.2"), ("0.10.1",), "api_version=(0, 10, 1)"),
    AgedClient("kafka-python", "2.0.2", _pip("with_kafka_python.py", "kafka-python==2.0.2"), ("0.11",), "api_version=(0, 11)"),
    AgedClient("kafka-python", KAFKA_PYTHON, _pip("with_kafka_python.py")),
    AgedClient("aiokafka", "0.8.1", _pip("with_aiokafka.py", "aiokafka==0.8.1", "kafka-python==2.0.2")),
    AgedClient("aiokafka", AIOKAFKA, _pip("with_aiokafka.py")),
    *(AgedClient("KafkaJS", version, _kafkajs(version)) for version in ("1.4.6", "1.15.0", "2.2.4")),
    AgedClient("Sarama", "1.27.2", _go("sarama", SHOPIFY, "v1.27.2")),
    AgedClient("Sarama", "1.27.2", _go("sarama", SHOPIFY, "v1.27.2"), ("0.10.2.0",), "Config.Version 0.10.2.0"),
    AgedClient("Sarama", "1.30.1", _go("sarama", SHOPIFY, "v1.30.1")),
    AgedClient("Sarama", "1.30.1", _go("sarama", SHOPIFY, "v1.30.1"), ("2.1.0",), "Config.Version 2.1.0"),
    AgedClient("Sarama", "1.41.0", _go("sarama", IBM, "v1.41.0")),
    AgedClient("Sarama", "1.43.3", _go("sarama", IBM, "v1.43.3")),
    *(AgedClient("kafka-go", version, _go("kafkago", SEGMENTIO, f"v{version}")) for version in ("0.4.47", "0.4.48")),
    *(AgedClient("franz-go", version, _go("franz", FRANZ, f"v{version}")) for version in ("1.0.0", "1.22.2")),
)
"""Libraries in the order of docs/readiness.md, the oldest release of each first."""


class Workshop:
    """Where clients are fetched and built, each once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._commands: dict[Prepare | str, list[str]] = {}

    def command(self, client: AgedClient) -> list[str]:
        """What runs it, without the arguments of a run."""
        key = f"{client.library} {client.version}"
        if key not in self._commands:
            folder = self._folder / key.replace(" ", "-")
            folder.mkdir()
            self._commands[key] = list(client.prepare(folder))
        return self._commands[key]

    def works(self, client: AgedClient, broker: TappedBroker) -> tuple[bool, str]:
        """Whether it produces, consumes and commits; and what it printed at its end."""
        run = uuid.uuid4().hex[:12]
        group = f"group-{run}"
        command = [*self.command(client), broker.address, broker.topic, group, f"value-{run}", *client.arguments]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_RUN_S, check=False, env=environment, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired:
            return False, f"no end after {_RUN_S} s"
        lines = (done.stdout + done.stderr).strip().splitlines() or [""]
        if done.returncode == 0 and not broker.committed(group):
            return False, "nothing was committed, without an error"
        return done.returncode == 0, lines[-1][:300]


@dataclass(frozen=True)
class TappedBroker:
    """A broker behind a tap.

    Attributes:
        tap: what clients send.
        address: for clients: the tap's.
        internal: of the broker's other listener.
        topic: to produce to and consume from.
    """

    tap: Tap
    address: str
    internal: str
    topic: str

    def committed(self, group: str) -> bool:
        """Whether a group has an offset: some clients report no failure."""
        with closing(kafka.KafkaAdminClient(bootstrap_servers=self.internal)) as admin:
            return any(committed.offset > 0 for committed in admin.list_group_offsets(group).get(group, {}).values())


@contextmanager
def tapped(configuration: str, folder: Path) -> Iterator[TappedBroker]:
    """A broker behind a tap, with a topic."""
    started, running = start_broker(folder, configuration)
    topic = "test.readiness"
    try:
        with Tap(running.advertised, running.client) as tap:
            with closing(kafka.KafkaAdminClient(bootstrap_servers=running.internal)) as admin:
                admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
            yield TappedBroker(tap, running.advertised, running.internal, topic)
    finally:
        started.stop()


def watched(
    workshop: Workshop, clients: Sequence[AgedClient], configuration: str, release: str, folder: Path
) -> Mapping[str, tuple[ObservedUses, bool, str]]:
    """What each client uses of a broker, whether it works, and what it printed."""
    found = {}
    with tapped(configuration, folder) as broker:
        for client in clients:
            workshop.command(client)
            broker.tap.forget()
            works, printed = workshop.works(client, broker)
            found[client.name] = (broker.tap.observed(release), works, printed)
            print(release, client.name, works, printed if not works else "", file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Each client at the brokers that see it, then at each target."""
    wanted = sys.argv[1:]
    clients = [client for client in CLIENTS if not wanted or any(word in client.name for word in wanted)]
    with tempfile.TemporaryDirectory(prefix="clientscope-readiness-") as scratch:
        folder = Path(scratch)
        workshop = Workshop(folder)
        found = {release: watched(workshop, clients, name, release, folder / release) for release, name in (SEEN_ON | TARGETS).items()}
    rows = {client.name: _row(client, {release: each[client.name] for release, each in found.items()}) for client in clients}
    if wanted:
        kept = {_name(row): row for row in json.loads(RECORDED.read_text())}
        rows = {client.name: found_row for client in CLIENTS if (found_row := rows.get(client.name) or kept.get(client.name))}
    text = ",\n".join(" " + json.dumps(row) for row in rows.values())
    RECORDED.write_text(f"[\n{text}\n]\n")


def _name(row: Mapping[str, Any]) -> str:
    return AgedClient(row["library"], row["version"], lambda folder: (), setting=row["setting"]).name


def _row(client: AgedClient, found: Mapping[str, tuple[ObservedUses, bool, str]]) -> dict[str, Any]:
    seen = {}
    for release in SEEN_ON:
        observed, works, printed = found[release]
        assert works, f"{client.name} at {release}: {printed}"
        uses = sorted([use.api_key, use.api_version] for use in observed.uses)
        seen[release] = {"software": [observed.software_name, observed.software_version], "uses": uses}
    works_at = {target: found[target][1] for target in TARGETS}
    return {"library": client.library, "version": client.version, "setting": client.setting, "seen": seen, "works": works_at}


if __name__ == "__main__":
    main()
