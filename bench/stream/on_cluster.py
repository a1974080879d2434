"""The same job by spark-submit on a standalone cluster, a master and two workers of a core each, beside local mode with two cores."""

from __future__ import annotations

import statistics
import sys
from collections import Counter
from pathlib import Path

from rich.table import Table

from bench.gateway.proc import cpu_by_command
from bench.stream.backlog import Caught
from bench.stream.latency import Steady
from bench.stream.running import Running

sys.path[:0] = [str(Path(__file__).parents[2] / "tests" / part) for part in ("real", "pure")]

from standalone import Standalone, for_submit  # noqa: E402  the cluster of the tests

MOST_RATIO = 1.5
"""Latencies on the cluster, of those in local mode."""

EXECUTOR_MB = 1_024
"""Heap of each executor: both have what local mode's driver has. Rows of history that don't fit are written to disks."""


class OnCluster(Running):
    """What an operator runs, with the job on a cluster of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._submitted = folder / "submit"
        self._cluster = Standalone(folder / "cluster", executor_mb=EXECUTOR_MB)

    def _start(self) -> None:
        for_submit(self._submitted)
        self._cluster.start()
        super()._start()

    def _stop(self) -> None:
        self._cluster.stop()
        super()._stop()

    def start_job(self, *flags: str) -> None:
        self._cluster.submit(self._submitted, *self.job_flags(), *flags)
        self._cluster.await_ready()

    def stop_job(self) -> None:
        self._cluster.stop_job()

    def job_cpu_seconds(self) -> dict[str, float]:
        """Of spark-submit's processes, of both workers and of their executors."""
        found: Counter[str] = Counter()
        for pid in self._cluster.pids():
            found.update(cpu_by_command(pid))
        return dict(found)


def table(local: tuple[Steady, Caught], cluster: tuple[Steady, Caught]) -> Table:
    """Both, with ratios."""
    view = Table(title="local[2], and a standalone cluster of two workers with a core each", title_justify="left")
    for heading in ("", "local", "cluster", "ratio", "goal"):
        view.add_column(heading, justify="right" if heading else "left")
    for here, there in zip(local[0].figures, cluster[0].figures, strict=True):
        hundredths = (statistics.quantiles(each.values, n=100) for each in (here, there))
        for name, values in zip(("p50", "p99"), zip(*((of[49], of[98]) for of in hundredths), strict=True), strict=True):
            view.add_row(f"{here.what}, {name}, ms", *_compared(*values), f"≤ {MOST_RATIO}")
    view.add_row("results of a backlog, each second", *_compared(local[1].rate, cluster[1].rate), "≥ 1")
    view.add_row("CPU for a backlog, with the job's start, s", *_compared(*(sum(each.cpu_s.values()) for _, each in (local, cluster))), "")
    view.add_row("cores under the steady load", *_compared(*(sum(each.cores.values()) for each, _ in (local, cluster)), digits=2), "")
    return view


def _compared(here: float, there: float, digits: int = 0) -> tuple[str, str, str]:
    return f"{here:,.{digits}f}", f"{there:,.{digits}f}", f"{there / here:.2f}"
