"""No process that sees what clients send leaves a core dump: each program of ours that is started as one, and what it forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dumpable import PLAINLY, allow_core_dumps, cores, leaves_none, may_be_dumped, soon

FORKING = """
import os, signal, sys, time
{forbid}
if os.fork() == 0:
    signal.pause()
print("ready", flush=True)
signal.pause()
"""


def started(*command: str, cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*PLAINLY, sys.executable, *command],
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=allow_core_dumps,  # noqa: PLW1509
    )


def child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def test_what_forbids_it_and_what_it_forks_leaves_none(tmp_path: Path) -> None:
    forbidding = FORKING.format(forbid="from clientscope import core_dumps; core_dumps.forbid()")
    with started("-c", forbidding, cwd=tmp_path) as one:
        assert one.stdout is not None and one.stdout.readline() == b"ready\n"
        assert leaves_none(one.pid) and leaves_none(child(one.pid))
        os.kill(child(one.pid), signal.SIGKILL)
        one.send_signal(signal.SIGSEGV)
        assert not os.WCOREDUMP(os.waitpid(one.pid, 0)[1])
    assert not cores(tmp_path)


def test_and_others_do(tmp_path: Path) -> None:
    """Or these tests would say nothing."""
    with started("-c", FORKING.format(forbid=""), cwd=tmp_path) as one:
        assert one.stdout is not None and one.stdout.readline() == b"ready\n"
        assert may_be_dumped(one.pid) and may_be_dumped(child(one.pid))
        os.kill(child(one.pid), signal.SIGKILL)
        one.kill()


@pytest.mark.parametrize(
    "program",
    [
        ("sinks.dashboard.past.process", "."),
        ("streaming.worker_daemon", "pyspark.worker"),
    ],
)
def test_programs_that_are_started_for_a_part_of_the_work_leave_none(program: tuple[str, ...], tmp_path: Path) -> None:
    with started("-m", *program, cwd=tmp_path) as one:
        try:
            assert soon(lambda: Path(f"/proc/{one.pid}/cmdline").read_bytes().startswith(os.fsencode(sys.executable)))
            assert soon(lambda: leaves_none(one.pid))
            assert one.poll() is None
        finally:
            one.kill()
