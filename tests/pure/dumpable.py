"""Whether a process may leave a core dump, asked of the kernel whatever core_pattern says."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

# Root may look at any process; without its capabilities it is a user like others, of processes that have none either.
PLAINLY = ("/usr/bin/setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()


def may_be_dumped(pid: int) -> bool:
    """By PR_SET_DUMPABLE: ptrace(2) says that nobody without CAP_SYS_PTRACE may look into a process that isn't dumpable.

    The process has to run by `PLAINLY`.
    """
    command = [*PLAINLY, "/bin/cat", f"/proc/{pid}/environ"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def core_limit(pid: int) -> tuple[int, int]:
    """RLIMIT_CORE."""
    return resource.prlimit(pid, resource.RLIMIT_CORE)


def allow_core_dumps() -> None:
    """In a child before it executes: as much as this machine allows."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def leaves_none(pid: int) -> bool:
    return not may_be_dumped(pid) and core_limit(pid) == (0, 0)


def cores(folder: Path) -> list[Path]:
    """Core files, by Linux's default names."""
    return [path for path in folder.rglob("core*") if path.is_file()]
