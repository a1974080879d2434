"""Cost of findings, and its growth with the fleet: ``make bench-findings``.

Clients of 50 applications (`bench.rules.fleet`), each with one connection and one push, in a process of its own for each size.
The kernel is the live query's; the engine is what the driver does with its records, which it reads from bytes. A start reads all of it once
more, so both together are what a start takes, beside reading the topic. Then what one more push costs in a crowd (`bench.findings_crowds`).
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.findings_crowds import one_more
from bench.records import connection, passed, taken
from bench.rules import fleet
from clientscope.digest import DigestKey
from clientscope.findings.conditions import Conditions
from clientscope.model.enums import Kind
from clientscope.model.result import PushResult
from clientscope.model.topics import CONFIGS, CONNECTIONS
from clientscope.profiles import Thresholds
from streaming.findings.engine import FindingsEngine
from streaming.findings.entry import Policy

BATCH = 4_000
_NOW_MS = 1_800_000_000_000
_QUIET_MS = 1_000
_COMPARE_MS = 10_000


def measure(clients: int) -> list[float]:
    """Findings; µs a push of the kernel and of the engine; ms of the first writing, of a second without news, of one that compares; MB."""
    key = DigestKey(b"k" * 32)
    engine = FindingsEngine({}, Policy(), Thresholds(), Conditions())
    kernel = applying = 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for begin, values in enumerate(_batches(fleet(), clients)):
        started = time.process_time()
        made = passed(CONFIGS, values, begin * BATCH, _NOW_MS, key)
        kernel += time.process_time() - started
        connections = taken(passed(CONNECTIONS, [_connection(push) for push in taken(made)], begin * BATCH, _NOW_MS - 1))
        started = time.process_time()
        engine.apply([*connections, *taken(made)])
        applying += time.process_time() - started
    now_ms = _NOW_MS + 60_000
    first_ms, changes = _timed(engine, now_ms)
    engine.written(changes, now_ms)
    quiet, comparing = [], []
    for second in range(1, 41):
        spent_ms, changes = _timed(engine, now_ms + second * _QUIET_MS)
        engine.written(changes, now_ms + second * _QUIET_MS)
        (comparing if second % (_COMPARE_MS // _QUIET_MS) == 0 else quiet).append(spent_ms)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    figures = (1e6 * kernel / clients, 1e6 * applying / clients, first_ms, statistics.median(quiet), statistics.median(comparing))
    return [engine.sizes()["findings"], *figures, memory]


def _batches(records: Iterator[bytes], count: int) -> Iterator[list[bytes]]:
    while count > 0:
        yield list(islice(records, min(count, BATCH)))
        count -= BATCH


def _connection(push: PushResult) -> bytes:
    """The record of its connection."""
    who = {"principal": push.principal, "client_id": push.client_id, "address": push.address}
    place = {"cluster": push.cluster, "broker": push.broker, "gateway": push.gateway, "epoch": push.epoch}
    return connection(push.offset, Kind.PRESENT, **who, **place, connection=push.connection, instance_id=push.instance_id)


def _timed(engine: FindingsEngine, now_ms: int) -> tuple[float, Any]:
    started = time.process_time()
    changes = engine.changes(now_ms)
    return 1000 * (time.process_time() - started), changes


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.findings", description=__doc__)
    parser.add_argument("--clients", type=int, nargs="+", default=[1_000, 10_000, 100_000], help="(default: %(default)s)")
    parser.add_argument("--crowd", type=int, default=50_000, help="clients of one application (default: %(default)s)")
    parser.add_argument("--applications", type=int, default=4_000, help="that push one secret (default: %(default)s)")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(*measure(options.one))
        return 0
    view = Table(title="CPU time of one core", title_justify="left")
    for heading in (
        "clients",
        "findings",
        "kernel, µs/push",
        "engine, µs/push",
        "first writing, ms",
        "a second, ms",
        "one that compares, ms",
        "MB",
    ):
        view.add_column(heading, justify="right")
    for clients in options.clients:
        command = [sys.executable, "-m", "bench.findings", "--one", str(clients)]
        figures = [float(word) for word in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]
        view.add_row(f"{clients:,}", f"{figures[0]:,.0f}", *(f"{figure:,.1f}" for figure in figures[1:]))
    crowds = Table(title="CPU time of a second in which this happens, ms", title_justify="left")
    for heading in ("what happens", "median", "most"):
        crowds.add_column(heading, justify="left" if heading == "what happens" else "right")
    for name, median, most in one_more(options.crowd, options.applications):
        crowds.add_row(name, f"{median:,.1f}", f"{most:,.1f}")
    Console(width=130).print(view, crowds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
