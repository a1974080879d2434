"""The second look of tests/tier.py at files that failed, and the tiers' commands."""

from __future__ import annotations

import importlib
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import patience
import pytest
from every import every
from groups import JOURNEY
from patience import eventually, until
from places import ROOT
from programs import like_our_tests, python

sys.path.append(str(Path(__file__).parents[2]))

from shard import shards

TRIES = """
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def tries():
    with Path(__file__).with_suffix(".tries").open("a") as file:
        file.write("x")
    return len(Path(__file__).with_suffix(".tries").read_text())
"""
FINE = TRIES + "def test_fine(tries): pass\n"
FLAKY_TEST = TRIES + "def test_a(tries): pass\ndef test_b(tries): assert tries == 2\n"
FLAKY_FIXTURE = TRIES + "@pytest.fixture\ndef second(tries): assert tries == 2\ndef test_a(second): pass\ndef test_b(second): pass\n"
RED = TRIES + "def test_a(tries): pass\ndef test_red(tries): assert tries == 0\n"

STARTS = """
import pathlib, time, pytest

@pytest.fixture
def child():
    yield
    pathlib.Path("ended").touch()

def test_it(child):
    pathlib.Path("started").touch()
    time.sleep(60)
"""

ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin,pytest_timeout"}
"""Plugins of the tiers alone: the others take half of a process's time."""

STOPPED = {
    "too many failures": (RED + "@pytest.mark.parametrize('n', range(8))\ndef test_n(n): assert 0\n", ["-n", "0"]),
    "out of time": (RED + "def test_late(): pass\n", ["-n", "0", "--session-timeout", "0.001"]),
    "a file that can't be imported": (RED, ["-n", "2", "test_not_there.py"]),
    "an import that fails": ("import nothing_of_this_name\n", ["-n", "2"]),
    "a worker that died": (RED + "def test_die():\n    import os\n    os._exit(0)\n", ["-n", "2", "--dist", "loadfile"]),
    "no test": ("", ["-n", "0"]),
}


def tier(folder: Path, files: dict[str, str], *options: str) -> tuple[int, str]:
    (folder / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    for name, source in files.items():
        (folder / name).write_text(source)
    ended = python("-P", ROOT / "tests" / "tier.py", ".", *options, cwd=folder, env=ENVIRONMENT, status=None)
    return ended.returncode, ended.stdout


@pytest.mark.parametrize(("source", "workers"), [(FLAKY_TEST, "2"), (FLAKY_FIXTURE, "0")], ids=["test", "fixture"])
def test_file_that_passes_at_second_look_is_green_and_named(tmp_path: Path, source: str, workers: str) -> None:
    status, out = tier(tmp_path, {"test_fine.py": FINE, "test_flaky.py": source}, "-n", workers, "--dist", "loadfile")
    assert status == 0, out
    assert out.endswith("\nsecond look: test_flaky.py passed; its first failure is above\n3 passed, 0 failed\n")
    assert {path.stem: path.read_text() for path in tmp_path.glob("*.tries")} == {"test_fine": "x", "test_flaky": "xx"}


def test_file_that_fails_twice_is_red(tmp_path: Path) -> None:
    status, out = tier(tmp_path, {"test_fine.py": FINE, "test_flaky.py": FLAKY_TEST, "test_red.py": RED})
    assert status == 1
    assert "\nsecond look: test_flaky.py passed; its first failure is above\n" in out
    assert out.endswith("\nsecond look: test_red.py failed again\n4 passed, 1 failed\n")


def test_file_whose_failed_test_is_skipped_at_second_look_is_red(tmp_path: Path) -> None:
    skips = TRIES + "def test_a(tries):\n    if tries == 2: pytest.skip('there is nothing left')\n    assert 0\n"
    status, out = tier(tmp_path, {"test_it.py": skips})
    assert (status, out.splitlines()[-1]) == (1, "0 passed, 1 failed")


@pytest.mark.parametrize(
    ("stop", "ignored", "workers"),
    [(signal.SIGINT, False, "0"), (signal.SIGTERM, False, "2"), (signal.SIGINT, True, "2")],
    ids=["", "workers", "in the background"],
)
def test_stop_signal_ends_what_tests_have_started(tmp_path: Path, stop: signal.Signals, ignored: bool, workers: str) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (tmp_path / "test_it.py").write_text(STARTS)
    command = [sys.executable, "-P", str(ROOT / "tests" / "tier.py"), ".", "-n", workers]
    if ignored:
        command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    running = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    until((tmp_path / "started").exists)
    running.send_signal(stop)
    assert running.wait(60) != 0
    assert (tmp_path / "ended").exists(), "its teardown has run"


@pytest.mark.parametrize("what", STOPPED)
def test_run_that_stopped_gets_no_second_look(tmp_path: Path, what: str) -> None:
    source, options = STOPPED[what]
    status, out = tier(tmp_path, {"test_it.py": source, "test_later.py": RED if "import" in what else ""}, *options)
    assert status != 0
    assert "second look" not in out


def test_each_marker_of_a_tier_has_its_command() -> None:
    markers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    tiers = [re.match(r"\w+", marker)[0] for marker in markers]  # type: ignore[index]
    makefile = (ROOT / "Makefile").read_text()
    assert [tier for tier in tiers if f"\ntest-{tier}: " in makefile] == tiers
    assert f'-m "not ({" or ".join(tiers)})"' in makefile


def test_each_file_of_a_tier_with_shards_is_in_one() -> None:
    text = (ROOT / "tests" / "shards.txt").read_text()
    listed = shards(text)
    assert [line for line in text.splitlines() if not line.startswith("#")] == [str(each) for each in listed], "a green run finds its line"
    for tier in ("matrix", "long"):
        means = re.compile(rf"pytest\.mark\.{tier}\b" + r"|\beach_client\(" * (tier == "matrix"))
        marked = [path.stem for path in (ROOT / "tests").rglob("test_*.py") if means.search(path.read_text())]
        assert sorted(name for each in listed if each.tier == tier for name in each.files) == sorted(marked), tier


FLAT = {
    "heap in use, MB": 300.0, "other memory of the JVM's, MB": 200.0, "state, MB": 1.0, "all processes, MB (PSS)": 1_500.0,
    "open files": 400.0, "files of checkpoints": 800.0, "mean batch, ms: results": 200.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    """``bench.stream.soak``, which is not installed."""
    with pytest.MonkeyPatch.context() as path:
        path.syspath_prepend(str(ROOT))
        return importlib.import_module("bench.stream.soak")


def test_f26_what_stays_the_same_is_no_growth(soak: ModuleType) -> None:
    assert soak.grown([FLAT, FLAT, FLAT]) == []
    less = {what: 0.5 * value for what, value in FLAT.items()}
    assert soak.grown([less, FLAT, FLAT]) == [], "caches and checkpoints fill in the first third"


@pytest.mark.parametrize("what", FLAT)
def test_f26_growth_of_any_of_it_is_named(soak: ModuleType, what: str) -> None:
    """By a fifth, a batch's time as well; the heap, which is only collected now and then, by twice."""
    assert soak.grown([FLAT, FLAT, {**FLAT, what: FLAT[what] * (2.1 if "heap" in what else 1.21)}]) == [what]


@pytest.mark.parametrize(
    ("expected", "said"),
    [((), "it did not come: after 0 s there was []"), (([1],), "it did not come: after 0 s there was [], not [1]")],
    ids=["true", "a value"],
)
def test_says_what_was_seen_last(monkeypatch: pytest.MonkeyPatch, expected: tuple[list[int], ...], said: str) -> None:
    monkeypatch.setattr(patience, "LIMIT_S", 0.0)
    with pytest.raises(AssertionError) as caught:
        until(list, *expected)
    assert str(caught.value) == said
    with pytest.raises(AssertionError, match=r"^the page: after"):
        until(list, *expected, why="the page")
    assert not eventually(list)


def test_nothing_to_look_at_fails() -> None:
    assert every(iter("ab")) == ["a", "b"]
    with pytest.raises(AssertionError, match="nothing to look at"):
        every(())


CONFTEST = ROOT / "tests" / "conftest.py"
TESTS = '''
import sqlite3
import pytest

class Ring:
    """Only the garbage collector ends it."""

    def __init__(self, what):
        self.what, self.me = what, self

@pytest.fixture
def database():
    return sqlite3.connect(":memory:")

def test_database_left():
    Ring(sqlite3.connect(":memory:"))

def test_after_it():
    pass

def test_file_left():
    Ring(open("/dev/null"))

def test_after_that():
    pass

def test_fixture_left(database):
    pass

def test_closed():
    sqlite3.connect(":memory:").close()
    open("/dev/null").close()
'''


def test_who_leaves_something_open_fails_and_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    words = ["-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-W", "error", "-q", "-rE", "--tb=no"]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{CONFTEST.parent}:{CONFTEST.parent / 'pure'}",
        "PYTEST_XDIST_WORKER": "",
        "PYTEST_ADDOPTS": "",
    }
    ended = python(*words, tmp_path, cwd=tmp_path, env=environment, status=1)
    failed = [line.split("::")[1].split(" ")[0] for line in ended.stdout.splitlines() if line.startswith("ERROR")]
    assert failed == ["test_database_left", "test_file_left", "test_fixture_left"], ended.stdout + ended.stderr
    assert "6 passed, 3 errors" in ended.stdout


def test_group_has_one_process(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    like_our_tests(tmp_path)
    for name in (*JOURNEY, "test_tls"):
        source = "import os, pathlib\nimport pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_n(n):\n"
        source += "    pathlib.Path(__file__ + '.' + os.environ['PYTEST_XDIST_WORKER']).touch()\n"
        (tmp_path / "real" / f"{name}.py").write_text(source)
    words = ["-P", "-m", "pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
    ended = python(*words, cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    assert f"{4 * (len(JOURNEY) + 1)} passed" in ended.stdout, ended.stdout
    workers = {name: [path.suffix for path in (tmp_path / "real").glob(f"{name}.py.*")] for name in (*JOURNEY, "test_tls")}
    assert workers["test_tls"] != workers["test_path"], workers
    assert [workers[name] for name in JOURNEY] == [workers["test_path"]] * len(JOURNEY) and len(workers["test_path"]) == 1, workers
