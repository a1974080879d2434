"""local/process: stopping when asked, however often and whenever."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from observe import is_gone
from patience import until
from programs import python

from clientscope.local import process
from clientscope.local.process import StopRequest, free_port, spawn, stop

WAITER = """
from clientscope.local.process import StopRequest
with StopRequest().installed() as stop:
    print("ready", flush=True)
    while not stop.wait(0.0001):
        pass
"""


def test_a_hail_of_signals_stops_it_once_and_leaves_no_lock_behind() -> None:
    for _ in range(5):
        with subprocess.Popen([sys.executable, "-c", WAITER], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None and child.stdout.readline() == b"ready\n"
            for _ in range(50):
                child.send_signal(signal.SIGTERM)
                child.send_signal(signal.SIGINT)
            try:
                assert child.wait(10) in (0, -signal.SIGTERM, -signal.SIGINT)  # the last of them may come after the handlers are gone
            finally:
                child.kill()


def test_it_stays_set_and_gives_the_handlers_back() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopRequest().installed() as request:
        assert not request.wait(0)
        signal.raise_signal(signal.SIGTERM)
        assert request.wait(0) and request.wait(0)
    assert signal.getsignal(signal.SIGTERM) is before


STUCK = """
import socket
from clientscope.local.process import StopRequest
here, _there = socket.socketpair()
with StopRequest().installed(limit_s=0.2):
    print("ready", flush=True)
    here.recv(1)
"""


def test_who_is_stuck_after_a_signal_is_ended_at_the_limit_and_not_before_a_signal() -> None:
    with subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.5)
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == -signal.SIGALRM


PARENT = """
import subprocess, sys
from clientscope.local.process import StopRequest, children_ignore_sigterm
with StopRequest().installed() as stop:
    with children_ignore_sigterm():
        child = subprocess.Popen(["sleep", "60"], preexec_fn=lambda: None)
        print("started", flush=True)
        heard = stop.wait(30)
    after = subprocess.Popen(["sleep", "60"], preexec_fn=lambda: None)
    after.terminate()
    print(heard, child.poll(), after.wait(), flush=True)
    child.kill()
"""


def test_a_signal_to_the_group_while_a_child_starts_is_heard_by_the_parent_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == "started\n"
        os.killpg(parent.pid, signal.SIGTERM)
        assert parent.stdout.readline() == f"True None {-signal.SIGTERM}\n"


def test_a_child_that_does_not_listen_is_killed() -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    child = spawn([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout:
        child.stdout.readline()
        assert stop(child, patience_s=0.2) == -signal.SIGKILL


OWNING_THREADS = """
import os, subprocess, sys, threading
from clientscope.local.process import spawn

class Owned:
    def __del__(self):
        os.write(1, b"ours" if os.getpid() == us else b"another's")

def hold():
    here.owned = Owned()
    holds.set()
    ends.wait()

us, here, holds, ends = os.getpid(), threading.local(), threading.Event(), threading.Event()
thread = threading.Thread(target=hold)
thread.start()
holds.wait()
assert spawn(["true"]).wait() == 0
ends.set()
thread.join()
"""


def test_a_child_of_a_process_with_threads_runs_nothing_of_theirs() -> None:
    """Python's own fork clears other threads' data: py4j's connections log then, and the child waits for a lock that nobody has."""
    assert python("-c", OWNING_THREADS).stdout == "ours"


KILLED_PARENT = """
import os, signal, subprocess
from clientscope.local.process import spawn
child = spawn(["sleep", "60"])
while open(f"/proc/{child.pid}/comm").read() != "sleep\\n":
    pass
print(child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends it")
def test_a_child_ends_with_a_parent_that_is_killed() -> None:
    done = python("-c", KILLED_PARENT, status=-signal.SIGKILL)
    until(lambda: is_gone(int(done.stdout)))


def test_a_child_whose_parent_is_gone_before_it_could_ask_does_not_start() -> None:
    """Its parent is another process by then."""
    assert python("-IS", "-c", process._END_WITH_PARENT, str(2**22), "echo", "started", status=1).stdout == ""


def test_what_cannot_be_started_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        spawn(["no-such-program"])
    assert missing.value.strerror == "No such file or directory"
    file = tmp_path / "file"
    file.write_text("exit 3")
    with pytest.raises(PermissionError):
        spawn([str(file)])
    with pytest.raises(PermissionError):
        spawn(["file"], env={"PATH": str(tmp_path)})


def test_a_child_starts_as_if_nothing_were_between(tmp_path: Path) -> None:
    file = tmp_path / "program"
    file.write_text("#!/bin/sh\necho $0 $1 $2 $PPID $ONLY; grep SigIgn /proc/$$/status; exec cat")
    file.chmod(0o755)
    child = spawn(
        ["program", "a b", "-c"], env={"PATH": f"{tmp_path}:/bin:/usr/bin", "ONLY": "this"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    said, _ = child.communicate(b"input\n", timeout=60)
    named, ignored, echoed, _ = said.decode().split("\n")
    assert (named, echoed) == (f"{file} a b -c {os.getpid()} this", "input")
    ours = re.search(r"SigIgn:\t(\w+)", Path("/proc/self/status").read_text())
    assert ours is not None
    of_python = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    assert int(ignored.split()[1], 16) == int(ours[1], 16) & ~of_python, "what nohup has set, say, and nothing of Python's"
    assert child.returncode == 0


def test_free_ports_are_below_those_of_outgoing_connections() -> None:
    assert all(20_000 <= free_port() < 32_000 for _ in range(20))


def test_a_port_is_not_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([1, 1, 2, 2, 1, 3, 4])
    monkeypatch.setattr(process.secrets, "randbelow", lambda _: next(drawn))
    monkeypatch.setattr(process, "PORTS", range(18_000, 18_010))  # no other test has been given one of these
    assert [free_port(), free_port(), free_port(besides=[18_003])] == [18_001, 18_002, 18_004]
