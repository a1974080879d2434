"""A plain `pip install` of the wheel, without extras: small, and gateway, push, xray, lint, readiness and doctor work with it."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pytest
from conftest import RunningGateway
from golden import cases
from observe import children, read_all
from packaging.requirements import Requirement
from patience import until
from places import ROOT
from programs import built_wheel, ran, running, says

from clientscope.local.process import free_port
from clientscope.model.topics import CONFIGS

MOST_MB = 340
MOST_REQUIREMENTS = 18
EXTRA_COMMANDS = {"stream": "pyspark", "serve": "fastapi", "deliver": "urllib3", "demo": "pyspark"}


def requirements(of: Distribution) -> list[Requirement]:
    """Those of a plain installation."""
    read = [Requirement(text) for text in of.requires or ()]
    return [each for each in read if each.marker is None or each.marker.evaluate({"extra": ""})]


def closure(of: Distribution) -> dict[str, Distribution]:
    """All that pip would install, in the versions that the lock has."""
    found: dict[str, Distribution] = {}
    waiting = requirements(of)
    while waiting:
        name = waiting.pop().name
        if name not in found:
            found[name] = distribution(name)
            waiting += requirements(found[name])
    return found


@pytest.fixture(scope="module")
def site(folder: Path) -> Path:
    """Site-packages of a bare environment: the wheel's content, and links to what it requires."""
    ran(sys.executable, "-m", "venv", "--without-pip", "--symlinks", folder / "venv")
    site = next(folder.glob("venv/lib/python*/site-packages"))
    with zipfile.ZipFile(built_wheel(folder)) as wheel:
        wheel.extractall(site)
    for each in closure(Distribution.at(next(site.glob("clientscope-*.dist-info")))).values():
        for entry in {file.parts[0] for file in each.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (site / entry).exists():  # google is a folder that several share
                (site / entry).symlink_to(Path(str(each.locate_file(entry))))
    return site


@pytest.fixture(scope="module")
def python(site: Path) -> Path:
    return site.parents[2] / "bin" / "python"


def run(python: Path, *words: str, folder: Path) -> Any:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CLIENTSCOPE_CONFIG")}
    return ran(python, "-m", "clientscope", *words, cwd=folder, env=environment, status=None)


def test_is_small(site: Path) -> None:
    ours = Distribution.at(next(site.glob("clientscope-*.dist-info")))
    assert len(requirements(ours)) <= MOST_REQUIREMENTS
    found = closure(ours)
    heavy = {"pyspark", "pandas", "great-expectations", "deltalake", "fastapi", "apprise", "textual", "hdfs-native", "obstore"}
    assert found.keys() & heavy == set()
    links = [entry for entry in site.iterdir() if entry.name != "__pycache__"]
    files = [file for entry in links for file in ([entry] if entry.is_file() else entry.resolve().rglob("*")) if file.is_file()]
    assert sum(file.stat().st_size for file in files if "__pycache__" not in file.parts) < MOST_MB * 1_000_000


def test_every_import_is_declared() -> None:
    """Also of modules that another requirement brings: what it drops would be missing here."""
    ours = distribution("clientscope")
    declared = {Requirement(text).name.lower().replace("-", "_") for text in ours.requires or ()}
    declared |= {"yaml", "google", "opentelemetry", "kafka"} | {"clientscope", "udfs", "streaming", "sinks"}
    imported = re.compile(r"^\s*(?:import|from) ([a-z_0-9]+)", re.MULTILINE)
    files = [file for package in ("clientscope", "udfs", "streaming", "sinks") for file in (ROOT / package).rglob("*.py")]
    code = {file: re.sub(r'""".*?"""', "", file.read_text(), flags=re.DOTALL) for file in files}
    found = {name for text in code.values() for name in imported.findall(text) if name not in sys.stdlib_module_names}
    assert found <= declared


@pytest.mark.parametrize(("command", "module"), EXTRA_COMMANDS.items())
def test_names_the_extra_that_a_command_needs(python: Path, tmp_path: Path, command: str, module: str) -> None:
    given = {"demo": ("--data-dir", str(tmp_path))}.get(command, ("--bootstrap-servers", "127.0.0.1:1"))
    ended = run(python, command, *given, folder=tmp_path)
    assert ended.returncode == 1
    error, hint = ended.stderr.strip().splitlines()[-2:]
    assert error.startswith("error: ") and module in error.lower()
    assert re.fullmatch(r"hint: pip install 'clientscope\[[a-z]+\]'", hint), ended.stderr


@pytest.fixture
def gateway(python: Path, broker: Any, tmp_path: Path) -> Iterator[tuple[str, int]]:
    """Address and process of a gateway that runs in it."""
    gateway, log = RunningGateway(f"127.0.0.1:{free_port()}"), tmp_path / "gateway.log"
    command = (python, "-m", "clientscope", *gateway.arguments(broker.internal, broker.client))
    with running(log, "env", "-C", tmp_path, *command, ready=says(log, "ready")) as process:
        yield gateway.address, process.pid


def test_gateway_takes_a_push_without_arrow(python: Path, broker: Any, gateway: tuple[str, int], tmp_path: Path) -> None:
    address, pid = gateway
    settings = tmp_path / "app.properties"
    settings.write_text(f"bootstrap.servers={address}\nclient.id=core-app\nacks=0\n")
    ended = run(python, "push", "--properties", str(settings), folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    until(lambda: any(b"core-app" in message.value for message in read_all(broker.internal, CONFIGS)))
    for process in (pid, *children(pid)):
        mapped = Path(f"/proc/{process}/maps").read_text()
        assert "pyarrow" not in mapped and "numpy" not in mapped


def test_every_core_command_works(python: Path, broker: Any, tmp_path: Path) -> None:
    """Without a traceback, and with what each says of a real broker."""
    settings = tmp_path / "app.properties"
    settings.write_text("bootstrap.servers=kafka:9092\nacks=0\n")
    given = {"settings": settings, "servers": f"--bootstrap-servers {broker.internal}", "root": ROOT}
    for words, said in cases(__file__, "core_commands.txt"):
        ended = run(python, *words.format(**given).split(), folder=tmp_path)
        assert said in ended.stdout, (words, ended.stderr)
        assert "Traceback" not in ended.stderr and "bug in clientscope" not in ended.stderr, ended.stderr
