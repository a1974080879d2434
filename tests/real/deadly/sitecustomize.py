"""Start-up module on PYTHONPATH of a job under test: its decoder dies of marked records, in every process that decodes them.

The job's own code knows nothing of this. Python imports a module of this name at each start, Spark's workers included.
"""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from typing import Any

import udfs.decode

MARK = b"deadly:"
_read_each = udfs.decode.read_each


def _take_all_there_is() -> None:
    """Of a quarter of a gigabyte more than the process has: the machine's is needed."""
    mapped = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + 2**28, resource.getrlimit(resource.RLIMIT_AS)[1]))
    taken = []
    while True:
        taken.append(bytearray(2**24))


def _dying(read: Any, values: Any) -> Any:
    for value in values.to_pylist():
        if value is not None and MARK in value:
            what = value.split(MARK)[1]
            if what.startswith(b"exit"):
                os._exit(9)
            if what.startswith(b"segfault"):
                os.kill(os.getpid(), signal.SIGSEGV)
            if what.startswith(b"memory"):
                _take_all_there_is()
    return _read_each(read, values)


udfs.decode.read_each = _dying
