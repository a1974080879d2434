"""Child processes that don't outlive us, and free ports."""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from clientscope.config import split_address
from clientscope.errors import EnvironmentProblem

_PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    # A parent that is killed with -9 cannot stop its children; on Linux the kernel does (prctl(2)).  Elsewhere they stay.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def spawn(
    command: Sequence[str], log: IO[bytes] | int | None = None, env: Mapping[str, str] | None = None, stdout: IO[bytes] | int | None = None
) -> subprocess.Popen[bytes]:
    """Starts a child in a session of its own, so that a Ctrl-C in the terminal reaches us alone and we stop it in our order."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=stdout if stdout is not None else log,
        stderr=log,
        env=env,
        start_new_session=True,
        preexec_fn=_die_with_parent,  # noqa: PLW1509  one prctl call, which takes no lock
    )


def stop(child: subprocess.Popen[bytes], patience_s: float = 15.0) -> int:
    """SIGTERM, and SIGKILL if it has not ended within ``patience_s`` seconds; returns the exit status."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(patience_s)
        except subprocess.TimeoutExpired:
            child.kill()
    return child.wait()


def free_port() -> int:
    """A TCP port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def require_free(address: str, what: str) -> None:
    """Checks that ``HOST:PORT`` can be listened on.

    Raises:
        EnvironmentProblem: it is taken, or not an address of this machine; ``what`` is the flag that names another.
    """
    host, port = split_address(address)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise EnvironmentProblem(
                f"{what}: cannot listen on {address}: {error.strerror}", f"stop what listens there, or choose another with --{what}"
            ) from None


def tail(path: Path, lines: int = 5) -> str:
    """The last lines of a log, for an error message."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.is_file() else ""
