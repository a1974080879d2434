"""A broker's request logger at DEBUG or INFO for a time, and back at its level whatever happens (F51).

Before a level is raised, a journal with the level before is on the disk, under a lock that the kernel releases when its owner ends.
Whoever gets the lock and finds the journal restores the level: this process at its end, the watchdog once this process is gone, or the
next start.  A journal is of one broker of one cluster.

The watchdog is a process of its own that outlives a run. It is forked before the run has a thread, knows the journals that the run names
through a pipe, and waits for the pipe's end, which the kernel closes with the run, however that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from kafka.errors import KafkaError

from clientscope.commands.lint.shown import plain
from clientscope.errors import ClientscopeError, EnvironmentProblem
from clientscope.kafka.admin import AdminClient, logger_level, set_logger_level

_LEVELS = ("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")
"""Each logs all that those behind it log."""

Connect = Callable[[], AdminClient]


def journal_of(cluster_id: str, broker: int) -> Path:
    """The journal of a broker, in ``$XDG_STATE_HOME/clientscope/xray``, by default below ``~/.local/state``."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "clientscope" / "xray" / f"{re.sub(r'[^A-Za-z0-9_-]', '_', cluster_id)[:64]}-{broker}.json"


@contextmanager
def raised(journal: Path, connect: Connect, broker: int, watch: Callable[[Path], None], level: str) -> Iterator[None]:
    """The request logger at a level for as long as the context lasts, or at its own where that logs more.

    Args:
        watch: has the watchdog look after a journal.

    Raises:
        EnvironmentProblem: another run looks at this broker, or the broker doesn't let us.
        KafkaError: the broker doesn't answer.
    """
    journal.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(journal, wait=False):
        if (left := _read(journal)) is not None:  # by a run that was killed together with its watchdog
            _set(connect, *left)
        journal.write_text("")
        try:
            before = _known_level(connect, broker)
        except BaseException:
            journal.unlink()
            raise
        if _logs(before, level):  # it does already, and nothing is to be restored
            journal.unlink()
            yield
            return
        _write(journal, broker, before)
        refused = False
        try:
            try:
                watch(journal)
                _set(connect, broker, level)
            except (OSError, EnvironmentProblem) as error:
                refused = True
                if isinstance(error, OSError):
                    raise EnvironmentProblem("the watchdog has ended, so no log level is raised", "start clientscope xray again") from None
                raise
            yield
        finally:
            if not refused:
                _set(connect, broker, before)
            journal.unlink(missing_ok=True)


def raise_again(connect: Connect, broker: int, level: str) -> bool:
    """Sets the level of a broker that has lost it in a restart; whether it had.

    Raises:
        EnvironmentProblem, KafkaError: the broker can't be reached, or refuses.
    """
    if lost := not _logs(_known_level(connect, broker), level):
        _set(connect, broker, level)
    return lost


def _logs(level: str, wanted: str) -> bool:
    return _LEVELS.index(level) <= _LEVELS.index(wanted)


def _set(connect: Connect, broker: int, level: str) -> None:
    """By a connection of its own: one that waited for days may be lost."""
    with closing(connect()) as admin:
        set_logger_level(admin, broker, level)


def _known_level(connect: Connect, broker: int) -> str:
    with closing(connect()) as admin:
        level = logger_level(admin, broker)
    if level not in _LEVELS:
        raise EnvironmentProblem(f"broker {broker} has an unknown log level {plain(level, 20)}", "set it to WARN, and try again")
    return level


def restore(journal: Path, connect: Connect, *, wait: bool = False, force: bool = False) -> str | None:
    """Restores the level that a journal names, and returns it; None if there is nothing to restore.

    Args:
        wait: until its owner is gone; otherwise a living owner is an error.
        force: although its owner lives.

    Raises:
        InUseError: its owner lives.
        EnvironmentProblem, KafkaError: the broker can't be reached, or refuses; the journal stays.
    """
    try:
        with nullcontext() if force else _locked(journal, wait=wait, create=False):
            if (left := _read(journal)) is not None:
                _set(connect, *left)
            journal.unlink(missing_ok=True)
            return left and left[1]
    except FileNotFoundError:
        return None


class InUseError(EnvironmentProblem):
    """The owner of a journal lives."""


@contextmanager
def _locked(journal: Path, *, wait: bool, create: bool = True) -> Iterator[None]:
    while True:
        descriptor = os.open(journal, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                raise InUseError("another clientscope xray looks at this broker", "wait until it has ended") from None
            if _is(descriptor, journal):
                yield
                return
            # Its owner removed the file meanwhile, and a lock on that is worth nothing.
        finally:
            os.close(descriptor)


def _is(descriptor: int, path: Path) -> bool:
    try:
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False


def _write(journal: Path, broker: int, before: str) -> None:
    with journal.open("w") as file:
        json.dump([broker, before], file)
        file.flush()
        os.fsync(file.fileno())


def _read(journal: Path) -> tuple[int, str] | None:
    """The broker, and its level before; None for a journal that was never written, so that nothing was raised."""
    try:
        broker, level = json.loads(journal.read_text())
    except ValueError:
        return None  # empty
    return (int(broker), level) if level in _LEVELS else None


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


def start_watchdog(connect: Connect, patience_s: float) -> Watchdog:
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
    timeout: float | None = None
    while True:
        stuck = not select.select([pipe], [], [], timeout)[0]
        if stuck or not (chunk := os.read(pipe, 4096)):
            break
        named += chunk.decode()
        timeout = patience_s
    for name in dict.fromkeys(named.splitlines()):
        _restore_at_last(Path(name), connect, force=stuck)


def _restore_at_last(journal: Path, connect: Connect, force: bool) -> None:
    end = time.monotonic() + _TRIES_S
    while True:
        try:
            restore(journal, connect, wait=True, force=force)
        except (ClientscopeError, KafkaError, OSError, ValueError):
            if time.monotonic() > end:
                return
            time.sleep(1.0)
        else:
            return
