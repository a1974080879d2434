"""F26: memory and duration of batches over a long time at twice the load; neither may grow."""

from __future__ import annotations

import time
from contextlib import ExitStack

from rich.table import Table

from bench.stream.load import Load
from bench.stream.running import Running

_EVERY_S = 10.0
_LOADS = 2


_MOST_GROWTH = {"heap in use, MB": 2.0}
"""From the second third to the last: the heap fills until the JVM collects its old generation, so it may be larger; 1.2 for all else."""

Third = dict[str, float]


def soak(installation: Running, warm_up_s: float, seconds: float) -> list[Third]:
    """What the job held in the first, the second and the last third, and the mean batch of each query.

    Memory rises between two collections, so it is the least of each third that counts.
    """
    held: list[dict[str, float]] = []
    batches: list[dict[str, float]] = []
    with ExitStack() as stack:
        for _ in range(_LOADS):
            stack.enter_context(Load(installation.address))
        time.sleep(warm_up_s)
        for _ in range(3):
            begin, until, samples = installation.spent(), time.monotonic() + seconds / 3, []
            while time.monotonic() < until:
                samples.append(installation.footprint())
                time.sleep(_EVERY_S)
            held.append({what: min(sample[what] for sample in samples) for what in samples[0]})
            spent = {query: after.since(begin[query]) for query, after in installation.spent().items()}
            batches.append({query: 1000 * sum(one.phases.values()) / max(1.0, one.batches) for query, one in spent.items()})
    return [hold | {f"mean batch, ms: {query}": ms for query, ms in mean.items()} for hold, mean in zip(held, batches, strict=True)]


def grown(thirds: list[Third]) -> list[str]:
    """What was larger in the last third than it may be, by the second: in the first, caches and checkpoints fill."""
    _, second, last = thirds
    return [what for what in second if last[what] > second[what] * _MOST_GROWTH.get(what, 1.2)]


def soaked(seconds: float, thirds: list[Third]) -> Table:
    """All of it."""
    view = Table(title=f"{seconds / 60:.0f} minutes at {_LOADS} x the load", title_justify="left")
    for heading in ("the least of each third", "first", "second", "last", "last / first"):
        view.add_column(heading, justify="left" if heading.startswith("the") else "right")
    for what in thirds[0]:
        first, second, last = (third[what] for third in thirds)
        view.add_row(what, f"{first:,.1f}", f"{second:,.1f}", f"{last:,.1f}", f"{last / first:.2f}" if first else "")
    return view
