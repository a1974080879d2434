"""Parent's end of the policy's process: starts, kills and ends it; `process` is the other end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from clientscope.gateway.channel import Channel
from clientscope.gateway.policy.process import FORK, KILL, LENGTH

log = logging.getLogger(__name__)

_START_WITHIN_S = 5.0


class PolicyChild:
    """The policy's template, and the worker that it last forked.

    Their standard output and error are the gateway's standard error. Their session is their own, so a Ctrl-C reaches the gateway alone.

    Args:
        fork_template: a new process that runs `clientscope.gateway.policy.process.live`; the socket to it.
    """

    def __init__(self, class_name: str, fork_template: Callable[[], socket.socket]) -> None:
        self._class_name = class_name
        self._fork_template = fork_template
        self._control: socket.socket | None = None
        self._pid = 0

    async def fork(self, received: Callable[[Any], None], lost: Callable[[], None]) -> Channel:
        """A new worker instead of the last one, and the channel to it; starts the template if it isn't there.

        Raises:
            OSError: there is nothing to fork it from, or the template ends at once.
        """
        ours, theirs = socket.socketpair()
        try:
            if not self._sent(FORK, theirs):
                self._start()
                self._sent(FORK, theirs)
        finally:
            theirs.close()
        _, channel = await asyncio.get_running_loop().create_unix_connection(lambda: Channel(received, lost), sock=ours)
        return channel

    def kill(self) -> None:
        """Kills the worker; its channel is lost once all that it had sent has been read."""
        self._sent(KILL)

    async def close(self, patience_s: float = 5.0) -> None:
        """Ends template and worker."""
        if (control := self._control) is None:
            return
        self._control = None
        with control, suppress(OSError):
            control.shutdown(socket.SHUT_WR)
            control.settimeout(patience_s)
            try:
                await asyncio.to_thread(control.recv, 1)  # the end, which is that process's own
            except TimeoutError:
                os.kill(self._pid, signal.SIGKILL)

    def _start(self) -> None:
        if self._control is not None:
            log.error("the policy's process has ended; it is started again")
            self._control.close()
            self._control = None
        control = self._fork_template()
        try:
            control.settimeout(_START_WITHIN_S)
            name = self._class_name.encode()
            control.sendall(LENGTH.pack(len(name)) + name)
            answer = control.recv(LENGTH.size, socket.MSG_WAITALL)
            if len(answer) < LENGTH.size:
                raise ConnectionError("the policy's process has ended at its start")
        except OSError:
            control.close()
            raise
        (self._pid,) = LENGTH.unpack(answer)
        self._control = control

    def _sent(self, command: bytes, worker: socket.socket | None = None) -> bool:
        """Whether the template was there to hear it."""
        if self._control is not None:
            with suppress(OSError):
                if worker is None:
                    self._control.sendall(command)
                else:
                    socket.send_fds(self._control, [command], [worker.fileno()])
                return True
        return False
