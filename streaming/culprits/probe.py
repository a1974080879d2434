"""Probe of a kernel in a process of its own, with a deadline and a memory limit: whether it survives given records."""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from clientscope import core_dumps

Kernel = Callable[[pa.Array], pa.Array]
"""Importable by name, or a `functools.partial` of such a function: it goes to a new interpreter."""

_START_S = 60.0
_DEADLINE_S = 20.0
_MEMORY = 2 * 1024**3
_PAGE = resource.getpagesize()


class Probe:
    """Runs a kernel over records; a context manager, since it has a child process while it is asked.

    Args:
        deadline_s: for one answer; a process that takes longer hasn't survived.
        memory_bytes: of address space, more than the process has when it begins.
    """

    def __init__(self, kernel: Kernel, deadline_s: float = _DEADLINE_S, memory_bytes: int = _MEMORY) -> None:
        self._kernel, self._deadline_s, self._memory = kernel, deadline_s, memory_bytes
        self._child: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def fatal(self, values: Sequence[bytes], most: int = 100) -> list[int]:
        """The positions of those that the kernel doesn't survive: all together first, and where that fails one by one.

        After ``most`` of them it looks no further. None where it survives each by itself, though not all together: then no single
        record is to blame.

        Raises:
            TimeoutError: the child process doesn't even start.
        """
        if self._survives(values):
            return []
        found: list[int] = []
        for position, value in enumerate(values):
            if len(found) < most and not self._survives([value]):
                found.append(position)
        return found

    def _survives(self, values: Sequence[bytes]) -> bool:
        pipe = self._pipe or self._start()
        try:
            pipe.send(list(values))
            if pipe.poll(self._deadline_s):
                return bool(pipe.recv())
        except (EOFError, OSError):
            pass  # it is gone
        self.close()
        return False

    def _start(self) -> Connection:
        # A new interpreter: forking this one, with its threads and its JVM's sockets, would not be sound.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._child = context.Process(target=_serve, args=(theirs, self._kernel, self._memory), daemon=True)
        self._child.start()
        theirs.close()
        try:
            if self._pipe.poll(_START_S) and self._pipe.recv():
                return self._pipe
        except EOFError:
            pass
        self.close()
        raise TimeoutError("a process to try a batch's records in doesn't start")

    def close(self) -> None:
        """Ends the child process, whatever it does."""
        if self._pipe is not None:
            self._pipe.close()
        if self._child is not None:
            self._child.kill()
            self._child.join()
            self._child.close()
        self._pipe = self._child = None

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _serve(pipe: Connection, kernel: Kernel, memory_bytes: int) -> None:
    _limit(memory_bytes)
    pipe.send(True)
    while True:
        try:
            values: list[Any] = pipe.recv()
        except EOFError:
            return
        try:
            kernel(pa.array(values, pa.binary()))
        except BaseException:
            os._exit(1)
        pipe.send(True)


def _limit(memory_bytes: int) -> None:
    core_dumps.forbid()
    try:
        now = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * _PAGE
        resource.setrlimit(resource.RLIMIT_AS, (now + memory_bytes, now + memory_bytes))
    except (OSError, ValueError):
        pass  # not on Linux; the deadline remains
