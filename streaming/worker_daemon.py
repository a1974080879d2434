"""The process that forks Spark's Python workers, with what they need imported already.

A worker that has to import pandas, Arrow and the kernels itself spends two to three seconds of processor time on it, and workers
are forked anew after each quiet minute: pushes that come after one would wait for that.

Spark runs it as ``python -m streaming.worker_daemon pyspark.worker`` (``spark.python.daemon.module``).
"""

from __future__ import annotations

import pandas as pd  # noqa: F401
import pyspark.sql.pandas.types  # noqa: F401
from pyspark import daemon

import streaming.transforms.gauges
import streaming.transforms.history
import streaming.transforms.results  # noqa: F401

if __name__ == "__main__":
    daemon.manager()
