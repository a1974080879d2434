"""Cost of a tree of processes, from /proc (proc(5))."""

from __future__ import annotations

import os
import re
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def tree(root: int) -> list[int]:
    """A process and all of its descendants, by id."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        fields = _stat(int(path.parent.name))
        if fields:
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_seconds(root: int) -> float:
    """utime + stime, over the tree as it is now."""
    return sum((int(f[11]) + int(f[12])) / _TICKS for f in map(_stat, tree(root)) if f)


def cpu_by_command(root: int) -> dict[str, float]:
    """utime + stime of the tree as it is now, by the processes' commands; the root's own is under ``driver``."""
    found: dict[str, float] = {}
    for pid in tree(root):
        if fields := _stat(pid):
            name = "driver" if pid == root else command(pid).strip()
            found[name] = found.get(name, 0.0) + (int(fields[11]) + int(fields[12])) / _TICKS
    return found


def cpu_seconds_of(root: int, begin: str) -> float:
    """utime + stime of the processes below ``root`` whose command begins so, and of their children that have ended."""
    pids = [pid for pid in tree(root)[1:] if command(pid).startswith(begin)]
    return sum(sum(map(int, fields[11:15])) / _TICKS for fields in map(_stat, pids) if fields)


def pss_bytes(root: int) -> int:
    """Proportional set size over the tree: what is shared is counted once."""
    return sum(map(pss_of, tree(root)))


def pss_of(pid: int) -> int:
    """Proportional set size of one process, in bytes; 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def open_files(pid: int) -> int:
    """Its file descriptors; 0 for a process that has ended."""
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def command(pid: int) -> str:
    """The name of its program, with a line end; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    """Fields of /proc/<pid>/stat from the state on; the command before them may hold blanks and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
