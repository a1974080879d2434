"""What a commit costs beside its parent: ``make bench-guard``; some three minutes, and never red.

Four things that must not get slower, in CPU seconds: decoding pushes, a read that passes a session, ``clientscope lint``, and one batch of
the live query in Spark. Each is measured by each commit's own copy of this file, in a process of its own, by turns; the ratio is of the
medians.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROUNDS = 3
SLOWER = 1.10
"""A ratio from which on the table says so: below it these machines' noise is as large."""

ROOT = Path(__file__).parents[1]


def _cpu_s() -> float:
    return sum(os.times()[:4])


def decoding() -> float:
    """20,000 pushes."""
    import pyarrow as pa

    from bench.decode import record
    from udfs.decode import decode_pushes

    array = pa.array(map(record, range(20_000)), pa.binary())
    began = _cpu_s()
    for start in range(0, len(array), 1_000):
        decode_pushes(array.slice(start, 1_000))
    return _cpu_s() - began


def reading() -> float:
    """20,000 Fetch requests of 10-KB answers through a connection without sockets."""
    from bench.addresses import EXCHANGES, exchanges, microseconds

    fetch = next((request, answer) for name, request, answer in exchanges() if name.startswith("Fetch"))
    return sum(microseconds(None, *fetch) for _ in range(5)) * EXCHANGES / 1e6


def linting() -> float:
    """1,000 files, in a process that starts cold."""
    from bench.lint import write

    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), 1_000)
        began = _cpu_s()
        command = [sys.executable, "-m", "clientscope", "lint", "--fail-on", "never", "--output-format", "concise", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return _cpu_s() - began


def batch() -> float:
    """The live query's pass over 20,000 pushes of a fleet by a warm Spark: its worker's and JVM's time."""
    from itertools import islice

    import pyarrow as pa

    from bench.gateway import proc
    from bench.rules import fleet
    from clientscope.config import StreamSettings
    from clientscope.local.jars import jars
    from streaming.session import session
    from streaming.transforms import live

    spent = []
    with tempfile.TemporaryDirectory() as scratch:
        spark = session(StreamSettings(bootstrap_servers="127.0.0.1:1", master="local[1]", history_dir=Path(scratch)), jars("spark"))
        values = spark.createDataFrame(pa.table({"value": pa.array(islice(fleet(), 20_000), pa.binary())})).repartition(1)
        where = ("'clientscope.configs' topic", "0 partition", "0L offset", "timestamp_seconds(0) timestamp", "value key", "value")
        rows = values.selectExpr(*where).persist()
        rows.count()
        for _ in range(4):
            began = sum(proc.cpu_seconds_of(os.getpid(), name) for name in ("python", "java"))
            live(rows, None).write.format("noop").mode("overwrite").save()
            spent.append(sum(proc.cpu_seconds_of(os.getpid(), name) for name in ("python", "java")) - began)
        spark.stop()
    return median(spent[1:])


MEASURES: dict[str, Callable[[], float]] = {"decoding": decoding, "a read": reading, "lint": linting, "a live batch": batch}


def _measured(tree: Path, name: str) -> float:
    """CPU seconds, by a checkout's own code."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    ended = subprocess.run(
        [sys.executable, "-m", "bench.guard", "--here", name], cwd=tree, env=environment, check=True, capture_output=True, text=True
    )
    return float(ended.stdout.split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--here", choices=MEASURES, help="print this one's seconds, and compare nothing")
    parser.add_argument("--with", dest="other", default="HEAD~1", help="the commit to compare with")
    options = parser.parse_args()
    if options.here:
        print(MEASURES[options.here]())
        return 0
    with tempfile.TemporaryDirectory() as folder:
        parent = Path(folder) / "parent"
        made = subprocess.run(["git", "worktree", "add", "--detach", parent, options.other], cwd=ROOT, check=False, capture_output=True)  # noqa: S607
        if made.returncode or not (parent / "bench" / "guard.py").is_file():
            print(f"{options.other} can't be compared with: it isn't in this clone, or has no bench/guard.py")
            return 0
        try:
            _compare(parent, options.other)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", parent], cwd=ROOT, check=True)  # noqa: S607
    return 0


def _compare(parent: Path, name: str) -> None:
    print(f"{'CPU seconds':20}{name:>10}{'here':>10}{'ratio':>8}", flush=True)
    began = time.monotonic()
    for measure in MEASURES:
        found: dict[Path, list[float]] = {parent: [], ROOT: []}
        for number in range(ROUNDS):
            for tree in (parent, ROOT) if number % 2 else (ROOT, parent):
                found[tree].append(_measured(tree, measure))
        before, now = median(found[parent]), median(found[ROOT])
        print(f"{measure:20}{before:10.2f}{now:10.2f}{now / before:8.2f}{'  slower' * (now > SLOWER * before)}", flush=True)
    print(f"measured in {time.monotonic() - began:.0f} s, {ROUNDS} rounds by turns")


if __name__ == "__main__":
    sys.exit(main())
