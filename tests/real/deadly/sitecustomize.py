"""On PYTHONPATH of a job under test: its decoder dies of records that say so, in whatever process decodes them.

The job's own code knows nothing of this. Python imports a module of this name at each start, Spark's workers included.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import udfs.decode

MARK = b"deadly:"
_decode = udfs.decode.Decoder.__call__


def _dying(self: Any, values: Any) -> Any:
    for value in values.to_pylist():
        if value is not None and MARK in value:
            what = value.split(MARK)[1]
            if what.startswith(b"exit"):
                os._exit(9)
            if what.startswith(b"segfault"):
                os.kill(os.getpid(), signal.SIGSEGV)
            if what.startswith(b"memory"):
                raise MemoryError
    return _decode(self, values)


udfs.decode.Decoder.__call__ = _dying  # type: ignore[method-assign]
