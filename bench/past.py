"""Questions to a month of history: ``make bench-past``.

A generated table ``connections``, a file a day: half of the clients are always connected, and recorded each six hours; the others connect
for eight hours a day. Each question is asked in this process, once, with the memory that it has in serve.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake
from rich.console import Console
from rich.table import Table

from clientscope.model.enums import Kind
from sinks.dashboard.past import connections
from sinks.dashboard.past.tables import NoAnswer, Span, Tables

BEGIN_MS = 1_790_000_000_000 // 86_400_000 * 86_400_000
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
_GATEWAYS = 4
_SAME = {"cluster": "c", "listener": "CLIENT", "security_protocol": "SASL_SSL", "software_name": "librdkafka"}


def write(folder: Path, clients: int, days: int) -> int:
    """Writes the table; returns its rows."""
    number = np.arange(clients)
    steady, others = number[: clients // 2], number[clients // 2 :]
    rows = sequence = 0
    for day in range(days):
        begin_ms = BEGIN_MS + day * DAY_MS
        parts = [(begin_ms + hour * HOUR_MS, Kind.PRESENT, steady, steady) for hour in range(0, 24, 6)]
        daily = others + (day + 1) * clients
        parts += [(begin_ms + 8 * HOUR_MS + late, kind, others, daily) for late, kind in ((0, Kind.OPENED), (50, Kind.IDENTIFIED))]
        parts += [(begin_ms + 12 * HOUR_MS, Kind.PRESENT, others, daily), (begin_ms + 16 * HOUR_MS, Kind.CLOSED, others, daily)]
        tables = [_rows(*part, first) for first, part in zip(range(sequence, sequence + 9 * clients, clients), parts, strict=False)]
        sequence += 9 * clients
        tables += [_beats(begin_ms, sequence)]
        sequence += 3_000
        table = pa.concat_tables(tables).sort_by("timestamp")
        dates = pa.array([datetime.fromtimestamp(begin_ms / 1000, UTC).date()] * table.num_rows, pa.date32())
        write_deltalake(folder / "connections", table.append_column("date", dates), mode="append", partition_by=["date"])
        rows += table.num_rows
    return rows


def _rows(at_ms: int, kind: Kind, clients: Any, numbers: Any, first: int) -> pa.Table:
    count = len(clients)
    columns = {
        "timestamp": pa.array(1000 * (at_ms + clients % 60_000), pa.timestamp("us", "UTC")),
        "kind": pa.array([kind.value] * count),
        "broker": pa.array((clients % _GATEWAYS).astype(np.int32)),
        "gateway": pa.array([f"gw-{client % _GATEWAYS}" for client in clients]),
        "epoch": pa.array(np.ones(count, np.int64)),
        "sequence": pa.array(np.arange(first, first + count)),
        "connection": pa.array(numbers),
        "heartbeat_interval_ms": pa.nulls(count, pa.int32()),
        "client_id": pa.array([f"app-{client % 500}-{client}" for client in clients]),
        "principal": pa.array([f"User:team-{client % 50}" for client in clients]),
        "address": pa.array([f"10.{client >> 16}.{client >> 8 & 255}.{client & 255}" for client in clients]),
        "software_version": pa.array([f"2.{client % 9}.0" for client in clients]),
        **{name: pa.array([value] * count) for name, value in _SAME.items()},
    }
    return pa.table(columns)


def _beats(begin_ms: int, first: int) -> pa.Table:
    """A heartbeat of each gateway in each two minutes."""
    at = np.repeat(np.arange(0, DAY_MS, 120_000), _GATEWAYS)
    beats = _rows(begin_ms, Kind.HEARTBEAT, np.tile(np.arange(_GATEWAYS), len(at) // _GATEWAYS), np.full(len(at), -1), first)
    beats = beats.set_column(0, "timestamp", pa.array(1000 * (begin_ms + at), pa.timestamp("us", "UTC")))
    return beats.set_column(7, "heartbeat_interval_ms", pa.array(np.full(len(at), 120_000, np.int32)))


def _asked(question: Callable[[], pa.Table]) -> list[str]:
    began_s, cpu_s = time.monotonic(), time.process_time()
    try:
        answer = f"{question().num_rows:,}"
    except NoAnswer as error:
        answer = str(error)
    return [answer, f"{time.monotonic() - began_s:.1f}", f"{time.process_time() - cpu_s:.1f}"]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.past", description=__doc__)
    parser.add_argument("--clients", type=int, default=100_000, help="(default: %(default)s)")
    parser.add_argument("--days", type=int, default=30, help="(default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = write(folder, options.clients, options.days)
        end_ms = BEGIN_MS + options.days * DAY_MS
        view = Table(title=f"{rows:,} rows of {options.clients:,} clients", title_justify="left")
        for heading in ("asked", "of days", "rows of the answer", "s", "s of CPU"):
            view.add_column(heading, justify="left" if heading == "asked" else "right")
        asked: dict[str, Callable[[Tables, Span], pa.Table]] = {
            "clients that were connected": lambda tables, span: connections.clients(tables, span)[0],
            "when they were": partial(connections.lifetimes, known_ms=end_ms),
        }
        for what, ask in asked.items():
            for days in sorted({1, 7, options.days}):
                question = partial(ask, Tables(name), Span(end_ms - days * DAY_MS, end_ms))
                view.add_row(what, str(days), *_asked(question))
        Console(width=120).print(view)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
