"""local/process: stopping when asked, however often and whenever."""

from __future__ import annotations

import signal
import subprocess
import sys

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


def test_a_child_that_does_not_listen_is_killed() -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
    child = spawn([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    assert child.stdout is not None
    with child.stdout:
        child.stdout.readline()
        assert stop(child, patience_s=0.2) == -signal.SIGKILL


def test_free_ports_are_below_those_of_outgoing_connections() -> None:
    assert all(20_000 <= free_port() < 32_000 for _ in range(20))
