"""The job's kernels as pandas UDF and as arrow_udf: ``make bench-udfs``.

Each kernel takes cached records in local[1], in batches as large as the job's own, and its columns go to a sink that does nothing. Both
kinds of UDF take turns, and each round begins with the other one. What counts is the ratio of each pair: of the CPU time of Spark's Python
worker, of that and the JVM's together, which is what the kernel costs the job, and of the time. The middle of all rounds is shown, with the
quarters below and above, since other processes slow down single rounds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from bench.decode import record
from bench.digest_key import key_in_a_file
from bench.gateway import proc
from bench.gauges import Load, make
from bench.rules import fleet
from clientscope.config import StreamSettings
from clientscope.local.jars import jars
from streaming import transforms
from streaming.session import session
from streaming.transforms import push_rows, verdicts
from udfs.kernels import connection_counts, results

RECORDS = 100_000
FEWER = 20_000
"""Of what takes longer."""

SMALL = 20
"""Rows of a batch under the load that `make bench-stream` has."""

MOST = 1.1
"""Where the pandas UDF costs at most so much of what the arrow_udf does, CPU of Python and JVM, the job takes it."""

_KEY = key_in_a_file()
_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
_KINDS: dict[str, Callable[[transforms.Kernel, pa.DataType, str], Column]] = {
    "pandas": transforms.pandas_column,
    "arrow": transforms.column,
}


class Case(NamedTuple):
    """A kernel, what it takes, and in batches of how many; 0 for the job's own."""

    kernel: transforms.Kernel
    arrow_type: pa.DataType
    rows: DataFrame
    batch: int = 0


class Cost(NamedTuple):
    """Seconds: CPU of Spark's Python worker, of the JVM beside it, and the time."""

    python: float
    jvm: float
    time: float


def cases(spark: SparkSession, scratch: Path) -> dict[str, Case]:
    """By what is measured."""
    make(Load(RECORDS, 100), 1, scratch / "connections")
    opened = spark.read.parquet(str(scratch / "connections")).limit(RECORDS).select("value")
    varied, alike = [record(number) for number in range(FEWER)], list(islice(fleet(), RECORDS))
    of_varied, of_fleet, few = (_cached(_frame(spark, values)) for values in (varied, alike, alike[:FEWER]))
    judged, rows = partial(verdicts, digest_key=_KEY), partial(push_rows, digest_key=_KEY)
    return {
        "results, no two values alike": Case(judged, results.TYPE, of_varied),
        "results, a fleet": Case(judged, results.TYPE, of_fleet),
        f"results, a fleet, in batches of {SMALL}": Case(judged, results.TYPE, few, SMALL),
        "gauges: counts of a batch as one stream": Case(_packed, pa.binary(), _cached(opened)),
        "gauges: a list of counts a record": Case(connection_counts.counts, connection_counts.TYPE, _cached(opened)),
        "history: whole pushes, with a list of settings": Case(rows, _type_of(rows, alike[0]), few),
    }


def fleet_of(spark: SparkSession, count: int) -> Case:
    """Results of that many pushes of a fleet."""
    return Case(partial(verdicts, digest_key=_KEY), results.TYPE, _cached(_frame(spark, list(islice(fleet(), count)))))


def _packed(values: pa.Array) -> pa.Array:
    """As the job has it, without what is Kafka's."""
    times, partitions = (pa.repeat(pa.scalar(0, kind), len(values)) for kind in (pa.int64(), pa.int32()))
    return connection_counts.packed(values, times, partitions, times)


def measure(spark: SparkSession, case: Case, rounds: int) -> list[dict[str, Cost]]:
    """The cost of each kind, in each round."""
    batch = spark.conf.get(_BATCH)
    spark.conf.set(_BATCH, case.batch or batch)
    found = []
    for number in range(rounds + 1):
        order = list(_KINDS) if number % 2 else list(_KINDS)[::-1]
        costs = {kind: _cost(case.rows.select(_KINDS[kind](case.kernel, case.arrow_type, "value").alias("r"))) for kind in order}
        if number:  # the first warms up
            found.append(costs)
    spark.conf.set(_BATCH, batch)
    return found


def _cost(rows: DataFrame) -> Cost:
    before = _now()
    rows.write.format("noop").mode("overwrite").save()
    return Cost(*(after - then for after, then in zip(_now(), before, strict=True)))


def _now() -> Cost:
    """CPU time until now: Spark's Python daemon with its workers, and the JVM."""
    return Cost(proc.cpu_seconds_of(os.getpid(), "python"), proc.cpu_seconds_of(os.getpid(), "java"), time.perf_counter())


def _type_of(rows: transforms.Kernel, value: bytes) -> pa.DataType:
    return rows(pa.array([value], pa.binary())).type


def _frame(spark: SparkSession, values: list[bytes]) -> DataFrame:
    return spark.createDataFrame(pa.table({"value": pa.array(values, pa.binary())}))


def _cached(rows: DataFrame) -> DataFrame:
    rows = rows.repartition(1).persist()
    rows.count()
    return rows


def _ratio(rounds: list[dict[str, Cost]], of: Callable[[Cost], float]) -> tuple[float, str]:
    """Pandas by Arrow: the middle, and with the quarters."""
    ratios = [of(each["pandas"]) / of(each["arrow"]) for each in rounds]
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    return middle, f"{middle:.2f} ({low:.2f} to {high:.2f})"


def _show(title: str, found: dict[str, tuple[int, list[dict[str, Cost]]]]) -> None:
    view = Table(title=title, title_justify="left")
    headings = ("kernel", "arrow_udf, µs: Python + JVM", "pandas UDF", "Python: pandas / arrow", "Python and JVM", "time", "within 10 %")
    for heading in headings:
        view.add_column(heading, justify="left" if heading == "kernel" else "right")
    for name, (count, rounds) in found.items():
        each = [
            " + ".join(f"{statistics.median(costs[kind][of] for costs in rounds) / count * 1e6:.1f}" for of in (0, 1))
            for kind in ("arrow", "pandas")
        ]
        whole, said = _ratio(rounds, lambda cost: cost.python + cost.jvm)
        ratios = _ratio(rounds, lambda cost: cost.python)[1], said, _ratio(rounds, lambda cost: cost.time)[1]
        view.add_row(name, *each, *ratios, "yes" if whole <= MOST else "no")
    Console(width=170).print(view)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.pandas_udfs", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="of each kernel, after one that warms up (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        settings = StreamSettings(bootstrap_servers="127.0.0.1:1", master="local[1]", history_dir=Path(scratch))
        spark = session(settings, jars("spark"))
        try:
            measured = {
                name: (case.rows.count(), measure(spark, case, options.rounds)) for name, case in cases(spark, Path(scratch)).items()
            }
            batch = spark.conf.get(_BATCH)
        finally:
            spark.stop()
    load = os.getloadavg()
    print(f"load {load[0]:.1f} in the last minute, {load[1]:.1f} in five, on {os.cpu_count()} cores")
    _show(f"{options.rounds} rounds in turns; batches of {batch} records unless said otherwise", measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
