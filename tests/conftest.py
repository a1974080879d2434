"""Configuration of all tests."""

from __future__ import annotations

import gc
import os
import sqlite3
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from groups import group_of
from quarantine import quarantined
from xdist.scheduler import LoadFileScheduling

from clientscope.errors import EnvironmentProblem
from clientscope.local import process
from clientscope.local.java import java

# A busy machine makes no test fail: neither one example's time nor the time in which examples are made.
# CI takes the same examples each time, as with Hypothesis's own profile for it; on a developer's machine `make test` looks for new ones.
hypothesis.settings.register_profile(
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], derandomize="CI" in os.environ
)
hypothesis.settings.load_profile("busy")

_QUARANTINED = quarantined((Path(__file__).parent / "quarantine.txt").read_text())

_CPU_S = 0.3
"""More than so much CPU time in a unit test is listed by the run."""

LONGEST, LONG_PURE = map(str.split, (Path(__file__).parent / "longest.txt").read_text().split("\n\n"))
"""Files that take more than half a minute, the longest first: begun last, one would leave the other worker without work. And files of
pure tests in which most of the time goes, into computing and other programs and not into what Python itself brings: Hypothesis, histories
that are played, Arrow, Prometheus, the project's own texts. On each other Python CI leaves them out (`TEST_SHORT_FORMS=1`);
`make test-pythons` runs them too."""


class WatchedConnection(sqlite3.Connection):
    """Warns of a database that nobody closed, as Python 3.13 does by itself."""

    _closed = False

    def close(self) -> None:
        super().close()
        self._closed = True

    def __del__(self) -> None:
        if not self._closed:
            warnings.warn(f"unclosed database in {self!r}", ResourceWarning, stacklevel=1, source=self)


if sys.version_info < (3, 13):
    _connect = sqlite3.connect

    def _watched(*arguments: Any, **named: Any) -> sqlite3.Connection:
        return _connect(*arguments, **{"factory": WatchedConnection, **named})

    sqlite3.connect = _watched


@pytest.fixture(autouse=True)
def nothing_is_left_open(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test leaves open, a file or a database, fails that test: its ResourceWarning comes now, and not in a later one.

    The first fixture of each test, so the last to end. What outlives a test is looked at no more, or each collection would take longer:
    parsed sources that tests share made it a second.
    """
    yield
    (getattr(request.node, "funcargs", None) or {}).clear()  # pytest itself holds what fixtures gave until the test's report is made
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """What is there before the first test is looked at no more: a collection after each test takes a millisecond instead of a hundred."""
    gc.collect()
    gc.freeze()


def pytest_configure() -> None:
    """JVMs start with `make class-data`'s archives. Two of pytest-xdist's workers never try the same port: each has a share of them."""
    _with_class_data(Path(sys.prefix) / "class-data")
    worker, workers = (os.environ.get(f"PYTEST_XDIST_WORKER{suffix}") for suffix in ("", "_COUNT"))
    if worker and workers:
        process.PORTS = process.PORTS[int(worker.removeprefix("gw")) :: int(workers)]


def _with_class_data(home: Path) -> None:
    """For the JVM that the archives were made with alone; any other one starts without, slower and otherwise alike."""
    try:
        ours = (home / "lib").exists() and (home / "lib").resolve().parent == Path(java()).resolve().parents[1]
    except EnvironmentProblem:  # tests that need Java say so
        return
    if ours:
        os.environ["JAVA_HOME"] = str(home)
        java.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu_s", sum(os.times()[:4]) - before))


_cpu_s: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" and report.nodeid.startswith("tests/pure/"):
        _cpu_s[report.nodeid] = dict(report.user_properties).get("cpu_s", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    busy = sorted((test for test, cpu_s in _cpu_s.items() if cpu_s > _CPU_S), key=_cpu_s.__getitem__, reverse=True)
    if busy:
        terminalreporter.section(f"unit tests that take over {_CPU_S} s of CPU: {sum(map(_cpu_s.__getitem__, busy)):.0f} s in all")
        for test in busy:
            terminalreporter.line(f"{_cpu_s[test]:.1f} s {test}")


class ByGroup(LoadFileScheduling):  # type: ignore[misc]
    """pytest-xdist's ``--dist loadfile``, of groups; its own (3.8.0) are lost with pytest 9.2, which no longer looks at `_nodeid`."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByGroup | None:
    return ByGroup(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_itemcollected(item: pytest.Item) -> None:
    for test, since, cause in _QUARANTINED:
        if item.nodeid == test:
            item.add_marker(pytest.mark.xfail(strict=False, reason=f"quarantined since {since}: {cause}"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest files come first.

    On another Python in CI, `LONG_PURE` doesn't run.
    """
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))
    long = [item for item in items if item.path.stem in LONG_PURE] if os.environ.get("TEST_SHORT_FORMS") == "1" else []
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
