"""Disabling core dumps of processes that see what clients send: passwords in SASL exchanges, values of settings before redaction."""

from __future__ import annotations

import ctypes
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PR_SET_DUMPABLE = 4


def forbid() -> None:
    """Forbids this process, and all that it forks, to leave a core dump.

    The limit alone isn't enough: Linux doesn't ask it where ``core_pattern`` is a pipe (core(5)), as with systemd-coredump.  A process that
    isn't dumpable (PR_SET_DUMPABLE(2const)) is also closed to debuggers of the same user, and its files in /proc are root's (`own_files`).
    A program that is executed is dumpable again, and has to say so itself.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _set_dumpable(0)


@contextmanager
def own_files() -> Iterator[None]:
    """Lets this process write to its own files in /proc meanwhile; afterwards it isn't dumpable. For one that has seen nothing yet."""
    _set_dumpable(1)
    try:
        yield
    finally:
        _set_dumpable(0)


def _set_dumpable(value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, value, 0, 0, 0)
