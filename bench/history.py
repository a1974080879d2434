"""What a batch of history costs: CPU of the driver, the JVM and Spark's Python workers: ``make bench-history``.

Pushes of a fleet that lie in Spark's memory are decoded, judged and appended to a table, batch after batch, as the job does.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.decode import record
from bench.gateway.proc import cpu_by_command
from clientscope.config import StreamSettings
from clientscope.local.jars import jars
from sinks.history.batches import append
from streaming import transforms
from streaming.queries.history import offsets
from streaming.releases import installed
from streaming.session import session
from streaming.spark import record_batches

SIZES = (50, 6_000)
ROUNDS, BATCHES, WARM_UP = 3, 12, 10


def _cpu() -> dict[str, float]:
    found = cpu_by_command(os.getpid())
    return {"driver": found.pop("driver", 0.0), "JVM": found.pop("java", 0.0), "workers": sum(found.values())}


def main() -> int:
    """The exit status."""
    view = Table(title="a batch of history, ms of CPU: median of rounds (least, most)", title_justify="left")
    for heading in ("pushes", "driver", "JVM", "workers", "together"):
        view.add_column(heading, justify="right")
    with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder:
        settings = StreamSettings(bootstrap_servers="127.0.0.1:1", history_dir=Path(folder), driver_memory="1g")
        spark = session(settings, jars(installed().jars))
        for size in SIZES:
            now, number = datetime.now(UTC), 0
            rows = [(record(each), "clientscope.configs", 0, each, now) for each in range(size)]
            frame = spark.createDataFrame(rows, "value binary, topic string, partition int, offset long, timestamp timestamp").coalesce(1)
            frame.cache().count()
            found: list[dict[str, float]] = []
            for round_number in range(ROUNDS + 1):
                before = _cpu()
                count = BATCHES if round_number else WARM_UP
                for _ in range(count):
                    number += 1
                    made = transforms.pushes(frame, None).persist()
                    kept = transforms.kept(made)
                    transforms.quarantine(made).write.format("noop").mode("overwrite").save()
                    offsets(kept)
                    append(record_batches(kept), f"{folder}/pushes-{size}", "bench", {0: range(number, number + 1)})
                    made.unpersist()
                if round_number:
                    found.append({name: 1000 * (seconds - before[name]) / count for name, seconds in _cpu().items()})
            spent = {name: [each[name] for each in found] for name in found[0]} | {"together": [sum(each.values()) for each in found]}
            shown = (f"{statistics.median(values):,.0f} ({min(values):,.0f}, {max(values):,.0f})" for values in spent.values())
            view.add_row(f"{size:,}", *shown)
        spark.stop()
    Console(width=110).print(view)
    return 0


if __name__ == "__main__":
    sys.exit(main())
