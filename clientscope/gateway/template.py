"""Process that workers and the policy's processes are forked from.

It is itself forked before the main process has a thread or an event loop: forking is sound only then, and workers must be made
for as long as the gateway lives. All that is imported is shared with them, unwritten pages never twice in memory. The settings aren't
read yet, so the policy's processes have no secret of theirs. Whatever the main process' end, the template and its workers end too.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import NoReturn

from clientscope.gateway.policy import process as policy
from clientscope.gateway.worker import memory
from clientscope.gateway.worker import process as worker

log = logging.getLogger(__name__)

_PATIENCE_S = 2.0
_WORKER, _POLICY, _KILL = b"w", b"p", b"k"
_PID = struct.Struct("!i")
_PR_SET_NAME = 15


class Template:
    """The main process's end.

    Construct it before any thread is started.
    """

    def __init__(self) -> None:
        gc.collect()
        memory.give_back()
        gc.freeze()  # what is shared stays shared: the collector won't write into it
        self._control, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            self._control.close()
            _leave(partial(live, theirs))
        theirs.close()

    def fork_worker(self, listeners: Sequence[socket.socket]) -> socket.socket:
        """A new worker, which accepts on ``listeners``, two at most; returns the main process's end of their channel.

        Raises:
            OSError: the template is gone.
        """
        return self._fork(_WORKER, listeners)

    def fork_policy(self) -> socket.socket:
        """A new process of the policy; returns the main process's end of their channel (`clientscope.gateway.policy.process`).

        Raises:
            OSError: the template is gone.
        """
        return self._fork(_POLICY)

    def kill_policy(self, pid: int) -> None:
        """Kills a process of the policy, and what it started. Not so the main process: only a parent knows whose the pid is now."""
        with suppress(OSError):
            self._control.sendall(_KILL + _PID.pack(pid))

    def close(self) -> None:
        """Ends template and workers; waits for them, for two seconds at most."""
        self._control.close()
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _fork(self, command: bytes, listeners: Sequence[socket.socket] = ()) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [command], [theirs.fileno(), *(listener.fileno() for listener in listeners)])
        return ours


def live(control: socket.socket) -> None:
    """The template's life, until the other end of ``control`` is closed."""
    os.setsid()  # a Ctrl-C reaches the main process alone, which ends us in its own order
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a process manager may signal them all
    _name("gw-template")
    policies: set[int] = set()
    while True:
        command, fds, _, _ = socket.recv_fds(control, 1, 3)
        _reap(policies)
        if not command:
            break
        if command == _KILL:
            (pid,) = _PID.unpack(control.recv(_PID.size, socket.MSG_WAITALL))
            if pid in policies:
                _kill_group(pid)
            continue
        pid = os.fork()
        if pid == 0:
            control.close()
            channel, *listeners = [socket.socket(fileno=fd) for fd in fds]
            if command == _WORKER:
                _name("gw-worker")
                _leave(partial(worker.run, channel, listeners))
            _name("gw-policy")
            _leave(partial(policy.live, channel))
        if command == _POLICY:
            policies.add(pid)
        for fd in fds:
            os.close(fd)
    for pid in policies:
        _kill_group(pid)
    deadline = time.monotonic() + _PATIENCE_S
    while _reap(policies) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(0, signal.SIGKILL)


def _name(text: str) -> None:
    """The name of this process in ``ps`` and ``top``, of 15 bytes at most: PR_SET_NAME(2const)."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_PR_SET_NAME, text.encode(), 0, 0, 0)


def _reap(policies: set[int]) -> bool:
    """Takes note of processes that have ended, and ends what those of the policy have started; whether others run."""
    try:
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            if pid in policies:
                policies.discard(pid)
                _kill_group(pid)
    except ChildProcessError:
        return False
    return True


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _leave(life: Callable[[], None]) -> NoReturn:
    """Lives, and never returns into what the parent was doing."""
    status = 1
    try:
        life()
        status = 0
    except BaseException:
        log.exception("a process of the gateway ends")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
