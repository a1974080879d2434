"""``clientscope-run``: real processes, whose kafka-python talks to a scripted broker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from places import ROOT
from scripted_broker import ScriptedBroker

from clientscope.autostart.command import FOLDER
from clientscope.commands.sources import load
from clientscope.config import ServeSettings

RUN = [sys.executable, "-m", "clientscope.autostart.command"]
APPLICATION = """
import sys
from kafka import KafkaAdminClient
client = KafkaAdminClient(bootstrap_servers=sys.argv[1])
client.list_topics()
client.close()
print("done")
"""
PUSHED_NOTHING = "clientscope-run: no configuration is pushed: "


@pytest.fixture
def server() -> Iterator[ScriptedBroker]:
    with closing(ScriptedBroker()) as running:
        yield running


def run(*arguments: str, path: str = str(ROOT), text: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run([*RUN, *arguments], cwd=ROOT, env=variables, input=text, capture_output=True, text=True, check=False, timeout=60)


def script(folder: Path, text: str, name: str = "app.py") -> str:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return str(folder / name)


def test_a_script_pushes(tmp_path: Path, server: ScriptedBroker) -> None:
    ended = run(sys.executable, script(tmp_path, APPLICATION), server.address)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
    assert len(server.pushes) == 1


def test_a_module_pushes(tmp_path: Path, server: ScriptedBroker) -> None:
    script(tmp_path, APPLICATION)
    ended = run(sys.executable, "-m", "app", server.address, path=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (ended.returncode, ended.stderr, len(server.pushes)) == (0, "", 1)


def test_a_console_script_on_path_pushes(tmp_path: Path, server: ScriptedBroker) -> None:
    script(tmp_path, f"#!{sys.executable}\n{APPLICATION}", "app")
    ended = run("app", server.address, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert (ended.returncode, ended.stderr, len(server.pushes)) == (0, "", 1)


def test_child_processes_push(tmp_path: Path, server: ScriptedBroker) -> None:
    forking = f"""
import multiprocessing, os, subprocess, sys
import kafka
def work(address):
    kafka.KafkaAdminClient(bootstrap_servers=address).close()
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        child = multiprocessing.get_context(method).Process(target=work, args=(sys.argv[1],))
        child.start()
        child.join()
    subprocess.run([sys.executable, {script(tmp_path, APPLICATION, "child.py")!r}, sys.argv[1]], check=True)
"""
    ended = run(sys.executable, script(tmp_path, forking), server.address)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(server.pushes) == 3
    assert len(server.instance_ids) == 3


def test_it_imports_nothing_for_others() -> None:
    say = "import sys; print(*sorted(sys.modules))"
    plain = subprocess.run([sys.executable, "-c", say], cwd=ROOT, capture_output=True, text=True, check=True)
    ended = run(sys.executable, "-c", say)
    assert set(ended.stdout.split()) - set(plain.stdout.split()) <= {"sitecustomize", "clientscope_autostart", "__future__"}


def test_it_leaves_the_path_and_kafka_s_loader_as_they_were() -> None:
    say = "import sys, kafka; print(sys.path, kafka.__loader__.__dict__, [type(f).__name__ for f in sys.meta_path], kafka.__spec__.origin)"
    plain = subprocess.run(
        [sys.executable, "-c", say], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    assert run(sys.executable, "-c", say).stdout == plain.stdout.decode()


def test_it_becomes_the_command(tmp_path: Path) -> None:
    say = "import os, sys; print(os.getpid(), sys.argv[1:], sys.stdin.read()); sys.exit(7)"
    with subprocess.Popen(
        [*RUN, sys.executable, "-c", say, "--help", "", "-x"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        out, _ = child.communicate("input")
    assert (child.returncode, out) == (7, f"{child.pid} ['--help', '', '-x'] input\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_the_commands(number: int) -> None:
    say = f"import signal, sys; signal.signal({int(number)}, lambda *_: sys.exit(9)); print('ready', flush=True); signal.pause()"
    with subprocess.Popen([*RUN, sys.executable, "-c", say], cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(number)
    assert child.returncode == 9


def test_a_writer_whose_reader_has_gone_ends_as_it_would_without() -> None:
    """Python ignores SIGPIPE, and a program keeps what its predecessor ignored."""
    with subprocess.Popen([*RUN, "yes"], cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.stdout.close()
    assert child.returncode == -signal.SIGPIPE


def test_there_is_no_such_command() -> None:
    ended = run("no-such-command")
    assert ended.returncode == 127
    assert ended.stderr.startswith("error: no-such-command: command not found\nhint: ")


def test_what_cannot_be_executed(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    ended = run(str(tmp_path / "app.py"))
    assert ended.returncode == 126
    assert "Permission denied" in ended.stderr and "python FILE" in ended.stderr


def test_help_and_usage() -> None:
    ended = run("--help")
    assert ended.returncode == 0
    assert "CLIENTSCOPE_CLIENT_ENABLE_CONFIG_PUSH" in ended.stdout
    assert run().returncode == 2
    assert run("--no-such-flag").returncode == 2


@pytest.mark.parametrize(
    ("present", "then"),
    [
        ("", [FOLDER]),
        (f"a{os.pathsep}", [FOLDER, "a", ""]),  # an empty entry is the current folder, as it was
        (os.pathsep.join([FOLDER, "a"]), [FOLDER, "a"]),
    ],
    ids=["nothing", "an empty entry", "itself"],
)
def test_it_stands_first_and_once_on_the_path(present: str, then: list[str]) -> None:
    ended = run(sys.executable, "-S", "-c", "import os; print(os.environ['PYTHONPATH'])", path=present)
    assert ended.stdout.rstrip("\n").split(os.pathsep) == then


def test_another_sitecustomize_is_imported(tmp_path: Path, server: ScriptedBroker) -> None:
    script(tmp_path, "theirs = 'theirs'\nprint(__name__)", "sitecustomize.py")
    application = f"import sitecustomize; print(sitecustomize.theirs)\n{APPLICATION}"
    ended = run(sys.executable, script(tmp_path, application), server.address, path=f"{tmp_path}{os.pathsep}{ROOT}")
    # The runner is Python too.
    assert (ended.stdout, ended.stderr) == ("sitecustomize\nsitecustomize\ntheirs\ndone\n", "")
    assert len(server.pushes) == 1


@pytest.mark.parametrize("text", ["1 / 0", "import no_such_module", "raise ImportError('sitecustomize')", "import sitecustomize"])
def test_another_sitecustomize_fails_as_it_would_without(tmp_path: Path, text: str) -> None:
    script(tmp_path, text, "sitecustomize.py")
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    say = [sys.executable, "-c", "print('on')"]
    plain = subprocess.run(say, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)
    ended = run(*say, path=path)
    assert (ended.returncode, ended.stdout) == (plain.returncode, plain.stdout)
    assert ended.stderr == plain.stderr * 2, "the runner's and the application's"


FAKES = {
    "kafka-python 2": ("kafka/__init__.py", "KafkaProducer = KafkaConsumer = KafkaAdminClient = object"),
    "no clientscope": ("clientscope/__init__.py", "raise ImportError('not here')"),
}


@pytest.mark.parametrize("fake", FAKES)
def test_a_failure_is_one_line_and_the_application_continues(tmp_path: Path, fake: str) -> None:
    file, text = FAKES[fake]
    (tmp_path / file).parent.mkdir()
    script(tmp_path, text, file)
    runner = {"PYTHONPATH": f"{FOLDER}{os.pathsep}{tmp_path}{os.pathsep}{ROOT}"}
    say = "import kafka; print(kafka.KafkaProducer.__name__)"
    ended = subprocess.run(
        [sys.executable, "-c", say], cwd=tmp_path, env={**os.environ, **runner}, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, len(ended.stdout.splitlines())) == (0, 1)
    assert ended.stderr.startswith(PUSHED_NOTHING) and len(ended.stderr.splitlines()) == 1


def test_a_kafka_that_fails_to_be_imported_fails_as_it_would_without(tmp_path: Path) -> None:
    (tmp_path / "kafka").mkdir()
    script(tmp_path, "raise ImportError('theirs')", "kafka/__init__.py")
    say = (
        "import importlib.util, sys\ntry: import kafka\nexcept ImportError as e: print(e)\nprint(importlib.util.find_spec('nothing_such'))"
    )
    ended = run(sys.executable, "-c", say, path=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (ended.stdout, ended.stderr) == ("theirs\nNone\n", "")


def test_without_kafka_python_it_says_nothing() -> None:
    ended = run(sys.executable, "-c", "import sys; sys.path[:] = []\ntry: import kafka\nexcept ModuleNotFoundError as e: print(e)")
    assert (ended.stdout, ended.stderr) == ("No module named 'kafka'\n", "")


def test_settings_from_the_environment(tmp_path: Path, server: ScriptedBroker) -> None:
    application = script(tmp_path, APPLICATION)
    assert run(sys.executable, application, server.address, CLIENTSCOPE_CLIENT_ENABLE_CONFIG_PUSH="FALSE").stderr == ""
    assert server.pushes == []
    keys = {"CLIENTSCOPE_CLIENT_CONFIG_PUSH_ALLOWED_KEYS": "retry.backoff.ms"}
    assert run(sys.executable, application, server.address, **keys).stderr == ""
    (push,) = server.pushes
    assert [config.config_key for config in push.configs] == ["retry.backoff.ms"]
    ended = run(sys.executable, application, server.address, CLIENTSCOPE_CLIENT_ENABLE_CONFIG_PUSH="perhaps")
    assert (ended.returncode, ended.stdout) == (0, "done\n")
    assert ended.stderr.startswith(f"{PUSHED_NOTHING}ValueError: CLIENTSCOPE_CLIENT_ENABLE_CONFIG_PUSH is 'perhaps'")
    assert len(server.pushes) == 1


def test_commands_of_clientscopes_own_bear_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLIENTSCOPE_CLIENT_ENABLE_CONFIG_PUSH", "true")
    monkeypatch.setenv("CLIENTSCOPE_CLIENT_CONFIG_PUSH_ALLOWED_KEYS", "acks")
    assert load(ServeSettings, {"bootstrap_servers": "localhost:9092"})


def test_an_instrumentation_of_the_same_kind_bears_it(tmp_path: Path, server: ScriptedBroker) -> None:
    """A finder that asks all finders, us again among them, as wrapt's and ddtrace's do."""
    other = """
import importlib.util, sys
class Finder:
    busy = False
    def find_spec(self, name, path=None, target=None):
        if name != "kafka" or self.busy:
            return None
        self.busy = True
        try:
            return importlib.util.find_spec(name)
        finally:
            self.busy = False
"""
    for place in ("0", "len(sys.meta_path)", "1"):
        text = f"{other}\nsys.meta_path.insert({place}, Finder())\nimport importlib.util; importlib.util.find_spec('kafka')\n{APPLICATION}"
        ended = run(sys.executable, script(tmp_path, text), server.address)
        assert (ended.stdout, ended.stderr) == ("done\n", "")
    assert len(server.pushes) == 3
