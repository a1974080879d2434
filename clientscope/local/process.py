"""Child processes that end with their parent, and free ports."""

from __future__ import annotations

import errno
import os
import queue
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from clientscope.config_types import split_address
from clientscope.errors import EnvironmentProblem

# A parent that is killed with -9 cannot stop its children; on Linux the kernel does (prctl(2), PR_SET_PDEATHSIG is 1). Elsewhere they stay.
# A small program asks for that, and becomes the child's: `preexec_fn` would have Python itself fork, which clears what the parent's other
# threads own. Of the job's these are py4j's connections. They log as they end, and wait for ever for a lock that a thread had.
_END_WITH_PARENT = """
import ctypes, os, signal, sys
for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python, and then by what it becomes
    signal.signal(ignored, signal.SIG_DFL)
ctypes.CDLL(None).prctl(1, signal.SIGTERM)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    sys.exit(f"error: {error.strerror}: {sys.argv[2]}")
"""


def spawn(
    command: Sequence[str],
    log: IO[bytes] | int | None = None,
    env: Mapping[str, str] | None = None,
    stdout: IO[bytes] | int | None = None,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Starts a child in a session of its own, so that a Ctrl-C in the terminal reaches us alone and we stop it in our order.

    Raises:
        OSError: there is no such program, or it can't be executed.
    """
    _require_program(command[0], (os.environ if env is None else env).get("PATH", os.defpath))
    if sys.platform == "linux":
        command = [sys.executable, "-IS", "-c", _END_WITH_PARENT, str(os.getpid()), *command]
    return subprocess.Popen(command, stdin=stdin, stdout=stdout if stdout is not None else log, stderr=log, env=env, start_new_session=True)


def _require_program(name: str, path: str) -> None:
    if shutil.which(name, path=path) is None:
        places = [Path(name)] if os.sep in name else [Path(folder, name) for folder in path.split(os.pathsep)]
        reason = errno.EACCES if any(place.exists() for place in places) else errno.ENOENT
        raise OSError(reason, os.strerror(reason), name)


def stop(child: subprocess.Popen[bytes], patience_s: float = 15.0, asked: bool = False) -> int:
    """SIGTERM unless it was ``asked`` already, and SIGKILL if it has not ended within ``patience_s`` seconds; returns its exit status."""
    if child.poll() is None:
        if not asked:
            child.terminate()
        try:
            child.wait(patience_s)
        except subprocess.TimeoutExpired:
            child.kill()
    return child.wait()


class StopRequest:
    """SIGTERM and SIGINT, from `install` on, as something that the main thread waits for.

    Not a threading.Event: a signal that arrives while ``wait`` holds its lock, or a second one within ``set``, would wait for that
    lock for ever. ``SimpleQueue.put`` is reentrant, and is documented to be fit for this.
    """

    def __init__(self) -> None:
        self._asked: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_set = False

    def set(self) -> None:
        """Asks to stop; from a signal handler, or any thread."""
        self._asked.put(None)

    def wait(self, timeout_s: float) -> bool:
        """Whether stopping has been asked for; waits at most ``timeout_s`` seconds for that."""
        if not self._is_set:
            try:
                self._asked.get(timeout=max(0.0, timeout_s))
                self._is_set = True
            except queue.Empty:
                pass
        return self._is_set

    @contextmanager
    def installed(self, limit_s: float | None = None) -> Iterator[StopRequest]:
        """Takes the two signals for as long as the context lasts; for the main thread.

        Args:
            limit_s: how many seconds after the first signal the process may still be in the context; then the kernel ends it (SIGALRM),
                whatever it waits for.  For work that may be cut off anywhere, and waits for others that may never answer.
        """

        def handle(*_: object) -> None:
            if limit_s is not None and signal.getitimer(signal.ITIMER_REAL)[0] == 0.0:
                signal.setitimer(signal.ITIMER_REAL, limit_s)
            self.set()

        numbers = (signal.SIGTERM, signal.SIGINT)
        previous = {number: signal.signal(number, handle) for number in numbers}
        try:
            yield self
        finally:
            if limit_s is not None:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            for number, handler in previous.items():
                signal.signal(number, handler)


@contextmanager
def children_ignore_sigterm() -> Iterator[None]:
    """For starting a child that outlives a SIGTERM to the whole group (systemd sends one), because it is still needed while we stop.

    Only the child ignores it, from its fork on: were it ignored here meanwhile, a signal to us would be lost.
    """
    starting = [True]
    os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN) if starting else None)
    try:
        yield
    finally:
        starting.clear()  # a hook can't be taken back


PORTS = range(20_000, 32_000)
"""Below the range from which outgoing connections get theirs (32768 and up on Linux): one of those could take a port before we do."""

_given: deque[int] = deque(maxlen=1_000)


def free_port(besides: Collection[int] = ()) -> int:
    """A TCP port of 127.0.0.1, one of `PORTS`, that was free a moment ago.

    A port that was returned recently isn't returned again, since its user may not listen yet.

    Args:
        besides: ports that are about to be used.
    """
    for _ in range(100):
        port = PORTS[secrets.randbelow(len(PORTS))]
        if port in _given or port in besides:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            _given.append(port)
            return port
    raise EnvironmentProblem(f"no free TCP port from {PORTS[0]} to {PORTS[-1]} on 127.0.0.1", "list the listeners: ss -ltn")


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
