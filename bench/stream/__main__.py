"""Latency of the job's results, and its speed in a backlog: ``make bench-stream``.

A real broker, gateway and job, all queries running, on this machine. First a steady load: 100 pushes and 20 connections a second, through
the gateway. From a push's arrival at the gateway to its result in the topic (Kafka's LogAppendTime), for every push; from each change of
a software's count to the first gauge in the topic that knows it, for every change. Then a backlog: records written straight to the topic
while the job is stopped, how fast their results come once it runs, and how long new pushes wait meanwhile: after it, and beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.stream.backlog import backlog, table
from bench.stream.latency import Steady, steady
from bench.stream.load import CONNECTIONS_PER_S, PUSHES_PER_S
from bench.stream.running import Running
from bench.stream.soak import grown, soak, soaked

_PHASES = ("latestOffset", "walCommit", "queryPlanning", "addBatch", "commitOffsets")
"""What a batch does one after the other; ``addBatch`` is everything from reading to writing."""


def _show(seen: Steady) -> None:
    view = Table(title=f"{PUSHES_PER_S} pushes/s, {CONNECTIONS_PER_S} connections/s, all queries running", title_justify="left")
    for heading in ("ms", "samples", "p50", "goal", "p99", "goal", "most"):
        view.add_column(heading, justify="left" if heading == "ms" else "right")
    for figure in seen.figures:
        hundredths = statistics.quantiles(figure.values, n=100)
        row = (len(figure.values), hundredths[49], figure.p50_goal, hundredths[98], figure.p99_goal, max(figure.values))
        view.add_row(figure.what, *("–" if value is None else f"{value:,.0f}" for value in row))
    console = Console(width=130)
    console.print(view)
    bounds = Table(title="what a batch waits for: ms, on average", title_justify="left")
    for heading in ("query", "batches/s", "rows", *_PHASES, "other"):
        bounds.add_column(heading, justify="left" if heading == "query" else "right")
    for query, spent in seen.spent.items():
        batches = max(1.0, spent.batches)
        phases = {name: 1000 * seconds / batches for name, seconds in spent.phases.items()}
        other = sum(value for name, value in phases.items() if name not in _PHASES)
        known = (phases.get(name, 0.0) for name in _PHASES)
        row = (spent.rows / batches, *known, other)
        bounds.add_row(query, f"{spent.batches / seen.seconds:.2f}", *(f"{value:,.0f}" for value in row))
    console.print(bounds)
    parts = ", ".join(f"{name} {cores:.2f}" for name, cores in sorted(seen.cores.items(), key=lambda part: -part[1]))
    print(f"the job's cores: {sum(seen.cores.values()):.2f} ({parts})")
    print(f"{seen.pushes:.0f} results a second; the driver's Python has {seen.driver_mb:.0f} MB")


def _beside_cluster(warm_up_s: float, seconds: float, pushes: int) -> int:
    from bench.stream import on_cluster  # noqa: PLC0415  with what only it needs of the tests

    found = []
    for kind in (Running, on_cluster.OnCluster):
        _say(f"starting everything: {kind.__name__}")
        with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder, kind(Path(folder)) as installation:
            seen = steady(installation, warm_up_s, seconds)
            _show(seen)
            found.append((seen, backlog(installation, pushes)))
    Console(width=130).print(on_cluster.table(*found))
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.stream", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, metavar="S", help="of the steady load (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=30, metavar="S", help="of load that isn't counted (default: %(default)s)")
    parser.add_argument("--backlog", type=int, default=300_000, metavar="N", help="pushes; 0 leaves it out (default: %(default)s)")
    parser.add_argument(
        "--soak", type=float, default=0, metavar="MIN", help="of twice the load, minutes; 0 leaves it out (default: %(default)s)"
    )
    parser.add_argument("--flat", action="store_true", help="fail where what the soak looks at grows")
    parser.add_argument("--beside-only", action="store_true", help="read a backlog only as the job does, with new pushes beside it")
    parser.add_argument("--cluster", action="store_true", help="compare with a standalone cluster of two workers, and nothing else")
    options = parser.parse_args()
    if options.cluster:
        return _beside_cluster(options.warm_up, options.seconds, options.backlog)
    _say("starting everything")
    with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder, Running(Path(folder)) as installation:
        if options.seconds:
            _say("steady load")
            _show(steady(installation, options.warm_up, options.seconds))
        if options.soak:
            _say(f"{options.soak:g} minutes of twice the load")
            thirds = soak(installation, options.warm_up, 60 * options.soak)
            Console(width=130).print(soaked(60 * options.soak, thirds))
            if options.flat and (growing := grown(thirds)):
                _say(f"growing: {', '.join(growing)}")
                return 1
        if options.backlog:
            _say("backlog")
            ways = {"new ones after it": ["--backlog-first"], "new ones beside it": []}
            if options.beside_only:
                del ways["new ones after it"]
            caught = {name: backlog(installation, options.backlog, *flags) for name, flags in ways.items()}
            Console(width=130).print(table(options.backlog, caught))
    return 0


if __name__ == "__main__":
    sys.exit(main())
