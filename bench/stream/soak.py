"""F26: whether what the job holds, and how long its batches take, stays the same over a long time at twice the load."""

from __future__ import annotations

import time
from contextlib import ExitStack

from rich.table import Table

from bench.stream.load import Load
from bench.stream.running import Running

_EVERY_S = 10.0
_LOADS = 2


def soak(installation: Running, warm_up_s: float, seconds: float) -> Table:
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
    view = Table(title=f"{seconds / 60:.0f} minutes at {_LOADS} x the load", title_justify="left")
    for heading in ("the least of each third", "first", "second", "last", "last / first"):
        view.add_column(heading, justify="left" if heading.startswith("the") else "right")
    for thirds, prefix in ((held, ""), (batches, "mean batch, ms: ")):
        for what in thirds[0]:
            first, second, last = (third[what] for third in thirds)
            view.add_row(prefix + what, f"{first:,.1f}", f"{second:,.1f}", f"{last:,.1f}", f"{last / first:.2f}" if first else "")
    return view
