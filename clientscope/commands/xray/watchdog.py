"""A process of its own that outlives a run, and restores what the run has raised and left (F51).

It is forked before the run has a thread, knows the journals that the run names through a pipe, and waits for the pipe's end, which the
kernel closes with the run, however that ends.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from kafka.errors import KafkaError

from clientscope.commands.xray.raised import Connect, restore
from clientscope.errors import ClientscopeError

_TRIES_S = 60.0
"""How long a broker is tried that doesn't answer: one that is down starts with its configured level, and the next run tries again."""
_WAIT_S = 3.0
"""How long a run waits for the watchdog at its own end."""


class Watchdog:
    """The run's side."""

    def __init__(self, pid: int, pipe: int) -> None:
        self.pid = pid
        self._pipe = pipe

    def watch(self, journal: Path) -> None:
        """Has the watchdog look after a journal.

        Raises:
            OSError: the watchdog is gone, so that nothing must be raised.
        """
        os.write(self._pipe, f"{journal}\n".encode())

    def end(self) -> bool:
        """Lets the watchdog end; whether it has nothing left to restore."""
        os.close(self._pipe)
        end = time.monotonic() + _WAIT_S
        while time.monotonic() < end:
            with suppress(ChildProcessError):
                if os.waitpid(self.pid, os.WNOHANG) == (0, 0):
                    time.sleep(0.01)
                    continue
            return True
        return False


def start(connect: Connect, patience_s: float) -> Watchdog:
    """Forks the watchdog; to be called before this process has a thread.

    Args:
        patience_s: for how long a run may keep a level raised, even if it still lives (stopped, or stuck).
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(reader)
        return Watchdog(pid, writer)
    os.close(writer)
    status = 1
    try:
        _become_independent()
        _watch(reader, connect, patience_s)
        status = 0
    finally:
        os._exit(status)


def _become_independent() -> None:
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def _watch(pipe: int, connect: Connect, patience_s: float) -> None:
    named = ""
    deadline: float | None = None
    while True:
        timeout = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([pipe], [], [], timeout)[0]:
            break  # the run is stuck
        if not (chunk := os.read(pipe, 4096)):
            break
        named += chunk.decode()
        deadline = time.monotonic() + patience_s
    stuck = deadline is not None and time.monotonic() >= deadline
    for name in dict.fromkeys(named.splitlines()):
        _try(partial(restore, Path(name), connect, wait=True, force=stuck))


def _try(restoring: Callable[[], object]) -> None:
    end = time.monotonic() + _TRIES_S
    while True:
        try:
            restoring()
        except (ClientscopeError, KafkaError, OSError, ValueError):
            if time.monotonic() > end:
                return
            time.sleep(1.0)
        else:
            return
