"""No process that sees what clients send leaves a core dump: each program of ours that is started as one, and what it forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dumpable import PLAINLY, allow_core_dumps, cores, leaves_none, may_be_dumped
from observe import children
from patience import eventually
from programs import python

from clientscope.backoff import Backoff

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


def test_what_forbids_it_and_what_it_forks_leaves_none(tmp_path: Path) -> None:
    forbidding = FORKING.format(forbid="from clientscope import core_dumps; core_dumps.forbid()")
    with started("-c", forbidding, cwd=tmp_path) as one:
        assert one.stdout is not None and one.stdout.readline() == b"ready\n"
        assert leaves_none(one.pid) and leaves_none(children(one.pid)[0])
        os.kill(children(one.pid)[0], signal.SIGKILL)
        one.send_signal(signal.SIGSEGV)
        assert not os.WCOREDUMP(os.waitpid(one.pid, 0)[1])
    assert not cores(tmp_path)


def test_and_others_do(tmp_path: Path) -> None:
    """Or these tests would say nothing."""
    with started("-c", FORKING.format(forbid=""), cwd=tmp_path) as one:
        assert one.stdout is not None and one.stdout.readline() == b"ready\n"
        assert may_be_dumped(one.pid) and may_be_dumped(children(one.pid)[0])
        os.kill(children(one.pid)[0], signal.SIGKILL)
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
            assert eventually(lambda: Path(f"/proc/{one.pid}/cmdline").read_bytes().startswith(os.fsencode(sys.executable)))
            assert eventually(lambda: leaves_none(one.pid))
            assert one.poll() is None
        finally:
            one.kill()


_SCRIPT = """
import gc, weakref
from clientscope.garbage import settle

class Cycle:
    def __init__(self):
        self.itself = self

before, stays = weakref.ref(Cycle()), [[] for _ in range(1_000)]
settle()
assert before() is None, "garbage goes first"
assert not any(each is stays for each in gc.get_objects())
after = weakref.ref(Cycle())
gc.collect()
assert after() is None, "what is made later is collected as ever"
"""


def test_what_stays_is_exempt_and_garbage_is_not() -> None:
    python("-c", _SCRIPT)


def test_pauses_double_and_have_an_end_however_often_it_fails() -> None:
    backoff = Backoff(1.0, 60.0)
    assert [backoff.seconds(retry) for retry in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff.seconds(1_000_000) == 60


def test_a_pause_is_spread_once_it_is_bounded_and_bounded_again() -> None:
    low, high = (Backoff(1.0, 8.0, spread=(0.5, 1.5), random=lambda value=value: value) for value in (0.0, 1.0))
    assert [low.seconds(retry) for retry in range(5)] == [0.5, 1, 2, 4, 4], "at the longest pause, too, not all come back at once"
    assert [high.seconds(retry) for retry in range(5)] == [1.5, 3, 6, 8, 8]
