"""Daemon that forks Spark's Python workers, with their imports already loaded.

A worker that has to import pandas, Arrow and the kernels itself spends two to three seconds of processor time on it, and workers
are forked anew after each quiet minute: pushes that come after one would wait for that.

After each task a worker collects garbage: 25 ms of processor time for the many objects that come with these imports, eight times a second
with live queries. Frozen (`gc.freeze`), they are passed over.

Spark runs it as ``python -m streaming.worker_daemon pyspark.worker`` (``spark.python.daemon.module``).
"""

from __future__ import annotations

import gc
import socket

import pandas as pd  # noqa: F401
import pyspark.sql.pandas.types
import pyspark.worker  # noqa: F401
from pyspark import daemon

import streaming.transforms  # noqa: F401
from clientscope import core_dumps

_of_pyspark = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """PySpark's own, but silent where the JVM wants no more of it, as when a query is stopped: a Unix socket says so at once."""
    try:
        return int(_of_pyspark(sock, authenticated))
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    daemon.worker = worker
    core_dumps.forbid()
    gc.collect()
    gc.freeze()
    gc.disable()  # within a task: a fifth of the time that judging takes, and nothing of ours is in cycles
    daemon.manager()
