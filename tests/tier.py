"""Runs a tier of tests, and gives each file that fails a second look: python -P tests/tier.py FOLDER [options of pytest].

A busy machine may hold up a broker or Spark for longer than a test waits. A file that failed runs once more in a process of its own, with
nothing beside it and nothing left of its first run. The tier is red if a file is red twice, and at once if the run stopped before its last
test: interrupted, out of time, too many failures, a worker that died, a file that can't be imported.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

LIMITS = ("--session-timeout", "4200", "--maxfail", "8", "--max-worker-restart", "0")


class Outcomes:
    """A plugin of pytest that writes down which tests passed and which failed, if all of them ran."""

    def __init__(self, file: Path) -> None:
        self._file, self._all_ran = file, True
        self._passed: set[str] = set()
        self._failed: dict[str, set[str]] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._all_ran &= not report.failed

    def pytest_testnodedown(self, error: object | None) -> None:
        self._all_ran &= error is None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:  # in setup or teardown, too
            self._failed.setdefault(report.nodeid.partition("::")[0], set()).add(report.nodeid)
        elif report.passed and report.when == "call":
            self._passed.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # The exit status doesn't say that a run was stopped: after too many failures it is 1 without xdist, and 2 with it.
        if self._all_ran and not session.shouldstop and not session.shouldfail:
            failed = {os.path.relpath(session.config.rootpath / file): sorted(tests) for file, tests in sorted(self._failed.items())}
            self._file.write_text(json.dumps([sorted(self._passed.difference(*self._failed.values())), failed]))


def run(*arguments: str) -> tuple[int, list[str], dict[str, list[str]]]:
    """Runs pytest in a new process: its exit status and, if all tests ran, those that passed, and those that failed by file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.json"
        command = [sys.executable, "-P", __file__, "--outcomes", str(file), *LIMITS, *arguments]
        # First, since the background jobs of a shell ignore SIGINT, and a child would inherit that.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: os.killpg(child.pid, signal.SIGINT))  # as Ctrl-C: pytest ends what its tests started
        child = subprocess.Popen(command, process_group=0)
        status = child.wait()
        return (status, *json.loads(file.read_text())) if file.exists() else (status or 1, [], {})


def main(folder: str, *options: str) -> int:
    status, passed, to_look_at = run(folder, *options)
    if status != pytest.ExitCode.TESTS_FAILED or not to_look_at:
        return status
    failed, lines = [], []
    for file, tests in to_look_at.items():
        print(f"\nsecond look: {file}", flush=True)
        status, second_passed, _ = run(file, *options, "-n", "0")
        if status == pytest.ExitCode.INTERRUPTED:
            return status
        left = [test for test in tests if status or test not in second_passed]  # what is skipped now hasn't passed
        passed += set(second_passed) - set(passed) if not left else ()
        failed += left
        lines.append(f"second look: {file} " + ("failed again" if left else "passed; its first failure is above"))
    print("", *lines, f"{len(passed)} passed, {len(failed)} failed", sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    own = sys.argv[1] == "--outcomes"
    sys.exit(pytest.main(sys.argv[3:], plugins=[Outcomes(Path(sys.argv[2]))]) if own else main(*sys.argv[1:]))
