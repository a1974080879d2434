"""Latency of the job's results, and its speed in a backlog: ``make bench-stream``.

A real broker, gateway and job, all queries running, on this machine. First steady loads: 2 and 100 pushes a second through the gateway,
and up to 20 connections, while each topic has 1, 3 and 12 partitions. From a push's arrival at the gateway to its result in the topic
(Kafka's LogAppendTime), for every push; from an application's first push with a mistake to its finding; from each change of a software's
count to the first gauge in the topic that knows it. Then a backlog, with the first number of partitions: records written straight to the
topic while the job is stopped, how fast their results come once it runs, and how long new pushes wait meanwhile: after it, and beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.stream.backlog import backlog, leak_behind, table
from bench.stream.latency import Steady, steady
from bench.stream.load import PUSHES_PER_S
from bench.stream.running import Running
from bench.stream.soak import grown, soak, soaked

_PHASES = ("latestOffset", "walCommit", "queryPlanning", "addBatch", "commitOffsets")
"""What a batch does one after the other; ``addBatch`` is everything from reading to writing."""


_PARTITIONS, _PUSHES = (1, 3, 12), (2.0, float(PUSHES_PER_S))
_NEXT_WARM_UP_S = 10.0
"""Before a further load on the same job: it is warm, and only the load before must have passed."""


def _show(seen: Steady, what: str) -> None:
    view = Table(title=f"{what}, all queries running", title_justify="left")
    for heading in ("ms", "samples", "p50", "goal", "p99", "goal", "most"):
        view.add_column(heading, justify="left" if heading == "ms" else "right")
    for figure in seen.figures:
        hundredths = _hundredths(figure.values)
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


def _hundredths(values: list[float]) -> list[float]:
    return statistics.quantiles(values, n=100, method="inclusive")  # of few values, none beyond the most


def _side_by_side(loads: list[tuple[int, float, Steady]]) -> Table:
    """A line for each load."""
    figures = loads[0][2].figures
    view = Table(title="p50 / p99, ms", title_justify="left")
    for heading in ("partitions", "pushes/s", "cores", *(figure.what for figure in figures)):
        view.add_column(heading, justify="right")
    for partitions, pushes, seen in loads:
        columns = (_hundredths(figure.values) for figure in seen.figures)
        both = (f"{of[49]:,.0f} / {of[98]:,.0f}" for of in columns)
        view.add_row(str(partitions), f"{pushes:g}", f"{sum(seen.cores.values()):.2f}", *both)
    goals = (f"{'–' if each.p50_goal is None else f'{each.p50_goal:,}'} / {each.p99_goal:,}" for each in figures)
    view.add_row("goal", "", "", *goals)
    return view


def _beside_cluster(warm_up_s: float, seconds: float, pushes: int) -> int:
    from bench.stream import on_cluster  # noqa: PLC0415  with what only it needs of the tests

    found = []
    for kind in (Running, on_cluster.OnCluster):
        _say(f"starting everything: {kind.__name__}")
        with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder, kind(Path(folder)) as installation:
            seen = steady(installation, warm_up_s, seconds)
            _show(seen, kind.__name__)
            found.append((seen, backlog(installation, pushes)))
    Console(width=130).print(on_cluster.table(*found))
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _further(installation: Running, options: argparse.Namespace) -> bool:
    """Soak and backlog, if they are asked for; returns whether they are as they should be."""
    if options.soak:
        _say(f"{options.soak:g} minutes of twice the load")
        thirds = soak(installation, options.warm_up, 60 * options.soak)
        Console(width=130).print(soaked(60 * options.soak, thirds))
        if options.flat and (growing := grown(thirds)):
            _say(f"growing: {', '.join(growing)}")
            return False
    if options.backlog:
        _say("backlog")
        Console(width=130).print(table(options.backlog, {"": backlog(installation, options.backlog)}))
    return True


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.stream", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, metavar="S", help="of each steady load (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=30, metavar="S", help="of load that isn't counted (default: %(default)s)")
    parser.add_argument(
        "--partitions", type=int, nargs="+", default=_PARTITIONS, metavar="N", help="of each topic, in turn (default: 1 3 12)"
    )
    parser.add_argument(
        "--pushes", type=float, nargs="+", default=_PUSHES, metavar="N", help="a second, in turn, for each of these (default: 2 100)"
    )
    parser.add_argument("--backlog", type=int, default=300_000, metavar="N", help="pushes; 0 leaves it out (default: %(default)s)")
    parser.add_argument(
        "--soak", type=float, default=0, metavar="MIN", help="of twice the load, minutes; 0 leaves it out (default: %(default)s)"
    )
    parser.add_argument("--leak-behind", type=int, default=0, metavar="N", help="wait of a secret behind so many pushes, and nothing else")
    parser.add_argument("--flat", action="store_true", help="fail where what the soak looks at grows")
    parser.add_argument("--cluster", action="store_true", help="compare with a standalone cluster of two workers, and nothing else")
    options = parser.parse_args()
    if options.cluster:
        return _beside_cluster(options.warm_up, options.seconds, options.backlog)
    if options.leak_behind:
        with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder, Running(Path(folder)) as installation:
            waited_s, worked_off_s = leak_behind(installation, options.leak_behind)
        print(f"behind {options.leak_behind:,} pushes, worked off in {worked_off_s:.0f} s: push of a secret → finding {waited_s:.1f} s")
        return 0
    loads: list[tuple[int, float, Steady]] = []
    for partitions in options.partitions if options.seconds else options.partitions[:1]:
        _say(f"starting everything: {partitions} partitions")
        with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder, Running(Path(folder), partitions) as installation:
            warm_up_s = options.warm_up
            for pushes in options.pushes if options.seconds else ():
                _say(f"steady load: {pushes:g} pushes/s")
                loads.append((partitions, pushes, steady(installation, warm_up_s, options.seconds, pushes)))
                _show(loads[-1][2], f"{partitions} partitions, {pushes:g} pushes/s")
                warm_up_s = min(warm_up_s, _NEXT_WARM_UP_S)
            if partitions == options.partitions[0] and not _further(installation, options):
                return 1
    if loads:
        Console(width=130).print(_side_by_side(loads))
    return 0


if __name__ == "__main__":
    sys.exit(main())
