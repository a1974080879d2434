"""Cost of data quality: ``make bench-quality``.

A batch of history is timed inside Spark, local[2], as the job writes it; and then, without Spark, as the process of data quality samples
and validates it. All take turns, and the best of all rounds counts. The library's import and memory are those of a process that does
nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench import records
from bench.decode import record
from bench.digest_key import key_in_a_file
from clientscope.config import StreamSettings
from clientscope.local.jars import jars
from clientscope.model.connection import SeriesCount
from clientscope.model.topics import CONFIGS, CONNECTIONS
from sinks.history.batches import append
from sinks.quality import samples
from sinks.quality.checking import MOST_READ, MOST_ROWS, SampleChecks
from sinks.quality.docs import DataDocs
from sinks.quality.suites import SUITES
from sinks.quality.validation import Validator
from streaming import transforms
from streaming.session import session
from streaming.spark import record_batches

MOST = 50_000
"""Records of a batch of history, as the job takes them at most."""

KEY = key_in_a_file()
_IMPORT = """
import os, time
def resident(): return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
before, begun = resident(), time.process_time()
import sinks.quality.checking
print(time.process_time() - begun, resident() - before)
"""


def connection(number: int) -> bytes:
    """A connection that opened, with the count of its software."""
    count = SeriesCount("CLIENT", "apache-kafka-java", "4.4.0", number, number, 0)
    return records.connection(number, counts=(count,), timestamp_ms=1_700_000_000_000 + number, client_id=f"app-{number}")


LOADS: dict[str, Callable[[int], bytes]] = {CONFIGS: record, CONNECTIONS: connection}


def batch_of_history(spark: SparkSession, topic: str, folder: Path, size: int, rounds: int) -> dict[str, float]:
    """Seconds for each step of a batch."""
    make = LOADS[topic]
    begun = datetime(2026, 1, 2, tzinfo=UTC)
    columns = {
        "value": pa.array([make(number) for number in range(size)], pa.binary()),
        "topic": [topic] * size, "partition": pa.array([0] * size, pa.int32()), "offset": range(size),
        "timestamp": [begun + timedelta(milliseconds=number) for number in range(size)],
    }  # fmt: skip
    parquet.write_table(pa.table(columns), folder / f"{topic}.parquet")
    read = spark.read.parquet(str(folder / f"{topic}.parquet")).coalesce(2).persist()
    read.count()
    suite, step = SUITES[topic], transforms.pushes if topic == CONFIGS else transforms.connections
    validator, docs, chance = Validator(suite), DataDocs(folder / "docs"), np.random.default_rng()

    def write() -> None:
        rows = step(read, KEY)
        rows.persist()
        now_ms = int(time.monotonic() * 1000)
        append(record_batches(transforms.kept(rows)), str(folder / suite.table), "bench", {0: range(now_ms, now_ms + 1)})
        rows.unpersist(blocking=True)

    write()
    (file,), _ = samples.since(str(folder / suite.table), 0)
    found = samples.sample(topic, str(folder / suite.table), [file], MOST_READ, MOST_ROWS, chance)
    assert found is not None
    _, result = validator.validate(found.facts, 1.0)
    checks = SampleChecks(str(folder))
    cases: dict[str, Callable[[], object]] = {
        "decoding and Delta": write,
        f"a sample of {len(found.facts):,} rows": lambda: samples.sample(
            topic, str(folder / suite.table), [file], MOST_READ, MOST_ROWS, chance
        ),
        f"its {len(suite.of_samples)} expectations": lambda: validator.validate(found.facts, 1.0),
        "Data Docs (once in five minutes)": lambda: docs.add(validator.gx_suite, result, True, time.monotonic() * 1e6),
        "a look at a batch": lambda: checks.look({topic: samples.next_version(str(folder / suite.table)) - 1}),
    }
    best = _best(cases, rounds, time.monotonic)
    read.unpersist()
    return best


def _best(cases: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, work in cases.items():
            started = clock()
            work()
            taken = clock() - started
            if number:  # the first warms up
                found[name] = min(taken, found.get(name, taken))
    return found


def _table(title: str, *headings: str, first: str = "") -> Table:
    view = Table(title=title, title_justify="left")
    view.add_column(first)
    for heading in headings:
        view.add_column(heading, justify="right")
    return view


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each case, after one that warms up (default: %(default)s)")
    parser.add_argument("--records", type=int, default=MOST, metavar="N", help="of a batch of history (default: %(default)s)")
    options = parser.parse_args()
    console = Console(width=130)
    with tempfile.TemporaryDirectory() as folder:
        settings = StreamSettings(bootstrap_servers="127.0.0.1:1", history_dir=Path(folder), driver_memory="2g")
        spark = session(settings, jars("spark"))
        try:
            for topic in LOADS:
                steps = _table(f"A batch of {options.records:,} records", "seconds", first=topic)
                for name, seconds in batch_of_history(spark, topic, Path(folder), options.records, options.rounds).items():
                    steps.add_row(name, f"{seconds:.2f}")
                console.print(steps)
        finally:
            spark.stop()
    out = subprocess.run([sys.executable, "-c", f"__file__ = 'it'\n{_IMPORT}"], capture_output=True, text=True, check=True).stdout.split()
    console.print(f"The import of its process, once in the life of a job: {float(out[0]):.1f} s of one core, {float(out[1]):.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
