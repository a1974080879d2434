"""Memory of a worker: glibc's malloc keeps freed memory (mallopt(3)); and the amount of memory available.

uvloop makes each read a new bytes object of up to 256 KB. By default glibc gives such memory back to the kernel when it is freed and takes
it anew for the next read, which the kernel must zero page by page: 77,000 page faults per GB produced, and nearly half of all CPU time.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_KEPT_BYTES = 16 * 1024 * 1024
_MAPPED_FROM_BYTES = 4 * 1024 * 1024
_MOST_BUDGET_BYTES = 1024 * 1024 * 1024
_CGROUP = Path("/sys/fs/cgroup")


def keep_freed() -> None:
    """Keeps up to 16 MB of freed memory in this process; where malloc isn't glibc's, nothing."""
    _libc("mallopt", _M_TRIM_THRESHOLD, _KEPT_BYTES)
    _libc("mallopt", _M_MMAP_THRESHOLD, _MAPPED_FROM_BYTES)


def one_arena() -> None:
    """Lets all threads of this process, and of those forked from it, share one arena: each of its own would be half a megabyte.

    Python's threads allocate one at a time anyway.
    """
    _libc("mallopt", _M_ARENA_MAX, 1)


def give_back() -> None:
    """Gives all freed memory back to the kernel, malloc_trim(3): after a peak; it takes a tenth of a second for a gigabyte."""
    _libc("malloc_trim", 0)


def _libc(function: str, *arguments: int) -> None:
    with suppress(AttributeError, OSError):  # musl and macOS have none of these
        getattr(ctypes.CDLL(None), function)(*arguments)


def default_budget_bytes() -> int:
    """What all connections of a gateway may hold where nothing is set: a quarter of its memory, and a gigabyte at most."""
    return min(limit_bytes() // 4, _MOST_BUDGET_BYTES)


def limit_bytes() -> int:
    """How much memory this process may take: the least of its control groups' limits (v2, v1) and the machine's memory."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    paths = [_CGROUP / "memory/memory.limit_in_bytes", _CGROUP / "memory.max"]
    with suppress(OSError):
        own = Path("/proc/self/cgroup").read_text().rpartition("0::/")[2].strip()
        paths += [_CGROUP / folder / "memory.max" for folder in (Path(own), *Path(own).parents)]
    for path in paths:
        with suppress(OSError, ValueError):  # "max" is no limit
            limits.append(int(path.read_text()))
    return min(limits)
