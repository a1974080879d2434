"""Disabling core dumps of processes that see what clients send: passwords in SASL exchanges, values of settings before redaction."""

from __future__ import annotations

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid() -> None:
    """Forbids this process, and all that it forks, to leave a core dump.

    The limit alone isn't enough: Linux doesn't ask it where ``core_pattern`` is a pipe (core(5)), as with systemd-coredump.  A process that
    isn't dumpable (PR_SET_DUMPABLE(2const)) is also closed to debuggers of the same user, and its files in /proc are root's: write to those
    before.  A program that is executed is dumpable again, and has to say so itself.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
