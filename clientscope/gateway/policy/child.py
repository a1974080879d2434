"""Parent's end of the policy's process: starts, kills and ends it; `process` is the other end."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from clientscope.gateway.channel import Channel
from clientscope.gateway.policy.process import FORK, KILL

log = logging.getLogger(__name__)

_STDERR = 2


class PolicyChild:
    """The template process, and the worker that it last forked.

    Its standard output and error are the gateway's standard error. Its session is its own, so a Ctrl-C reaches the gateway alone.
    """

    def __init__(self, class_name: str) -> None:
        self._class_name = class_name
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def pid(self) -> int:
        """The template's process id; 0 before the first `fork`."""
        return self._process.pid if self._process else 0

    async def fork(self, received: Callable[[Any], None], lost: Callable[[], None]) -> Channel:
        """A new worker instead of the last one, and the channel to it; starts the template if it isn't there (half a second)."""
        ours, theirs = socket.socketpair()
        try:
            if not self._sent(FORK, theirs):
                self._spawn()
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
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            try:
                await asyncio.to_thread(self._process.wait, patience_s)
            except subprocess.TimeoutExpired:
                self._process.kill()
                await asyncio.to_thread(self._process.wait)

    def _spawn(self) -> None:
        if self._process is not None:
            log.error("the policy's process has ended; it is started again")
            assert self._control is not None
            self._control.close()
            self._process.kill()
            self._process.wait()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "clientscope.gateway.policy.process", str(theirs.fileno()), self._class_name],
                stdin=subprocess.DEVNULL,
                stdout=_STDERR,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

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
