"""The gateway's template in a program of its own, since a test's process may have threads, and then may not fork."""

from __future__ import annotations

import socket
import subprocess
import sys

from clientscope.gateway.template import Template

_PROGRAM = "import socket, sys; from clientscope.gateway import template; template.live(socket.socket(fileno=int(sys.argv[1])))"


class SpawnedTemplate(Template):
    """To be closed. Paths of this process's environment count for what it imports."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen([sys.executable, "-c", _PROGRAM, str(theirs.fileno())], pass_fds=[theirs.fileno()])
        self._pid = self._process.pid

    def close(self) -> None:
        super().close()
        self._process.poll()
