"""Cost of a tree of processes as it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import psutil

Answer = TypeVar("Answer")


def asked(root: int, ask: Callable[[psutil.Process], Answer]) -> dict[int, Answer]:
    """What a process and all of its descendants answer, by id; one that has ended isn't there."""
    found = {}
    with suppress(psutil.NoSuchProcess):
        for process in (psutil.Process(root), *psutil.Process(root).children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                found[process.pid] = ask(process)
    return found


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def cpu_seconds(root: int) -> float:
    """Of user and system."""
    return sum(asked(root, _cpu_seconds).values())


def cpu_by_command(root: int) -> dict[str, float]:
    """The same by the processes' commands; the root's own is under ``driver``."""
    found: Counter[str] = Counter()
    for name, seconds in asked(root, lambda each: ("driver" if each.pid == root else each.name(), _cpu_seconds(each))).values():
        found[name] += seconds
    return found


def cpu_seconds_of(root: int, begin: str) -> float:
    """Of the processes below ``root`` whose command begins so, and of their children that have ended."""
    spent = asked(root, lambda each: sum(each.cpu_times()[:4]) if each.pid != root and each.name().startswith(begin) else 0.0)
    return sum(spent.values())


def pss_of(process: psutil.Process) -> int:
    """Proportional set size in bytes: what is shared is counted once."""
    return process.memory_full_info().pss


def pss_bytes(root: int) -> int:
    """The same of all."""
    return sum(asked(root, pss_of).values())
