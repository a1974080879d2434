"""Lease of a name in a store, one process at a time: the lock of checkpoints and tables where there is no flock.

A lease is a file ``NAME.<number>``. To take it a process creates the next number, which a store lets one of several do. While it has it, it
rewrites the file every `RENEWAL_S`; who finds a file that hasn't changed for `LEASE_S`, by its own clock, may create the next number.
Where it says ``free``, it is. A holder that sees a higher number, or can't renew in time, has lost it.

Unlike the kernel's lock it is a promise about time: a holder that stands still for longer than `LEASE_S` (a suspended machine) and then
continues finds out by its next renewal, and what it writes before that isn't kept away.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from clientscope.stores.store_path import StorePath

LEASE_S = 30.0
RENEWAL_S = 8.0
_LOOK_S = 1.0
_MOST_SHOWN = 200
_FREE = b"free\n"


class HeldElsewhere(Exception):
    """Another process has it."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


class Lease:
    """A lease that this process has.

    Attributes:
        lost: whether another process may have it now; once true it stays so.
    """

    def __init__(self, path: StorePath, number: int, what: str) -> None:
        self._path, self._number, self._what = path, number, what
        self._renewed_s = time.monotonic()
        self._overtaken = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._thread.start()

    @property
    def age_s(self) -> float:
        """Seconds since it was last renewed."""
        return time.monotonic() - self._renewed_s

    @property
    def lost(self) -> bool:
        return self._overtaken or self.age_s > LEASE_S - RENEWAL_S

    def end(self) -> None:
        """Frees it, if it isn't lost."""
        self._ended.set()
        self._thread.join()
        if not self.lost:
            with suppress(OSError):  # the next one waits for `LEASE_S` then
                self._write(_FREE)

    def _run(self) -> None:
        while not self._ended.wait(RENEWAL_S) and not self.lost:
            with suppress(OSError):  # it is tried again until it is lost
                begun_s = time.monotonic()
                self._overtaken = max(_numbers(self._path), default=0) > self._number
                if not self._overtaken:
                    self._write(_content(self._what))
                    self._renewed_s = begun_s

    def _write(self, content: bytes) -> None:
        file = _file(self._path, self._number)
        file.store.write(file.key, content)


@contextmanager
def leased(path: StorePath, what: str, patience_s: float = 0.0, waits: Callable[[], None] = lambda: None) -> Iterator[Lease]:
    """Has a lease for as long as the context lasts.

    Args:
        path: its name.
        what: the work that holds it, for others to read.
        patience_s: how long to wait while another process renews it.
        waits: called once where a lease that nobody has freed has to run out.

    Raises:
        HeldElsewhere: another process has it.
        OSError: the store can't be asked, or refuses.
    """
    lease = Lease(path, _taken(path, what, time.monotonic() + patience_s, waits), what)
    try:
        yield lease
    finally:
        lease.end()


def holder(path: StorePath) -> str:
    """Who has a lease, in words; empty for nobody. By the store's clock and this machine's: where they differ by much, it may be wrong."""
    try:
        newest = _file(path, max(_numbers(path), default=0))
        renewed_s = newest.stat().st_mtime
        content = newest.read_bytes()
    except OSError:
        return ""
    return _shown(content) if content != _FREE and time.time() - renewed_s < LEASE_S else ""


def _taken(path: StorePath, what: str, deadline_s: float, waits: Callable[[], None]) -> int:
    watched: tuple[int, bytes] | None = None
    since_s = 0.0
    while True:
        number = max(_numbers(path), default=0)
        content = _FREE
        with suppress(FileNotFoundError):  # there is none yet, or it was overtaken
            content = _file(path, number).read_bytes()
        if content == _FREE or (watched == (number, content) and time.monotonic() - since_s > LEASE_S):
            if _created(path, number + 1, what):
                return number + 1
            continue
        if watched != (number, content):
            if watched is not None and time.monotonic() > deadline_s:
                raise HeldElsewhere(_shown(content))
            if watched is None:
                waits()
            watched, since_s = (number, content), time.monotonic()
        time.sleep(_LOOK_S)


def _created(path: StorePath, number: int, what: str) -> bool:
    """Creates the file of this number; False if another process has created it, or a higher one, before."""
    mine = _file(path, number)
    try:
        path.store.create(mine.key, _content(what))
    except FileExistsError:
        return False
    numbers = _numbers(path)
    if max(numbers, default=number) > number:  # this one had been created and removed since it was looked for
        mine.unlink(missing_ok=True)
        return False
    for older in numbers - {number}:
        _file(path, older).unlink(missing_ok=True)
    return True


def _numbers(path: StorePath) -> set[int]:
    names = (each.name for each in path.parent.iterdir())
    return {int(name[len(path.name) + 1 :]) for name in names if re.fullmatch(rf"{re.escape(path.name)}\.\d{{1,18}}", name)}


def _file(path: StorePath, number: int) -> StorePath:
    return path.with_name(f"{path.name}.{number}")


def _content(what: str) -> bytes:
    """Who has it, and another end each time, by which others see that it is renewed."""
    return f"{what}, process {os.getpid()} on {socket.gethostname()}\n{uuid.uuid4().hex}\n".encode()


def _shown(content: bytes) -> str:
    return content.decode(errors="replace").partition("\n")[0].strip()[:_MOST_SHOWN] or "another process"
