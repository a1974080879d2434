"""Restart of the job with a large fleet: ``make bench-restart``.

``clientscope.configs`` has what a month of daily redeploys leaves: the clients that are connected, those of the day before, and a tombstone
for each of the days before that. Each client that is connected has a connection record. Records are written straight to the topics, and
the job works them off. Then it stops and starts again: the last push before that has a wrong setting, the first one after it a secret;
others follow once all has been read.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from uuid import UUID

import confluent_kafka
from rich.console import Console
from rich.table import Table

from bench.gateway.proc import asked, cpu_seconds, pss_of
from bench.records import connection, push, setting
from bench.stream.running import Running
from clientscope.model.client_key import client_key
from clientscope.model.enums import Kind
from clientscope.model.topics import CONFIGS, CONNECTIONS, FINDINGS

_QUIET_S = 30.0
_PUSHES = 20
_PATIENCE_S = 900.0
_SETTINGS = {"acks": "all", "batch.size": "65536", "linger.ms": "20", "compression.type": "zstd", "enable.idempotence": "true"}
_WRONG, _LEAK = {**_SETTINGS, "acks": "0"}, {**_SETTINGS, "sasl.password": "hunter2-canary"}

Written = tuple[str, bytes, bytes | None]
"""Topic, key and value."""


class FleetRecords:
    """Records of one gateway's clients, of which each application has as many."""

    def __init__(self, applications: int) -> None:
        self._applications = applications
        self._sequence = 0

    def key(self, client: int) -> bytes:
        """Of a client's record."""
        return client_key("c", f"User:app{client % self._applications}", self._address(client), UUID(int=client), "gw", 1, client).encode()

    def push(self, client: int, settings: dict[str, str] | None = None, application: str = "") -> Written:
        """A client's push."""
        chosen = _SETTINGS if settings is None else settings
        value = push(
            (setting(key, text) for key, text in chosen.items()),
            received_ms=int(time.time() * 1000),
            connection=client,
            instance_id=str(UUID(int=client)),
            **self._who(client, application),
        )
        return CONFIGS, self.key(client), value

    def present(self, client: int, application: str = "") -> Written:
        """A record of a client's open connection."""
        self._sequence += 1
        more = {"timestamp_ms": int(time.time() * 1000), "connection": client, "instance_id": str(UUID(int=client))}
        return CONNECTIONS, b"gw", connection(self._sequence, Kind.PRESENT, **more, **self._who(client, application))

    def _who(self, client: int, application: str) -> dict[str, str]:
        return {
            "cluster": "c",
            "address": self._address(client),
            "principal": f"User:app{client % self._applications}",
            "client_id": self._client_id(client, application),
        }

    def _client_id(self, client: int, application: str) -> str:
        return f"{application or f'app{client % self._applications}'}-{client}"

    def _address(self, client: int) -> str:
        return f"10.{client >> 16 & 255}.{client >> 8 & 255}.{client & 255}"


def _month(records: FleetRecords, clients: int, gone: int) -> Iterator[Written]:
    """What a month has left; clients are numbered in the order in which they came.

    Args:
        gone: how many there were on the day before, and earlier.
    """
    for client in range(gone):
        yield CONFIGS, records.key(client), None
    for client in range(gone, 2 * gone):
        yield records.push(client)
    for client in range(2 * gone, 2 * gone + clients):
        yield records.present(client)
        yield records.push(client)


def _write(bootstrap: str, written: Iterable[Written]) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000})
    for number, (topic, key, value) in enumerate(written):
        producer.produce(topic, value, key)
        if number % 5_000 == 0:
            producer.poll(0)
            while len(producer) > 500_000:
                producer.poll(0.1)
    producer.flush()


def _found(installation: Running, names: Iterable[str], begin: list[int]) -> dict[str, int]:
    """When the first finding of each application was appended, in ms since the epoch, by a part of its name."""
    left, found = set(names), {}
    deadline = time.monotonic() + _PATIENCE_S
    while left and time.monotonic() < deadline:
        end = installation.ends(FINDINGS)
        for message in installation.each(FINDINGS, begin):
            text = (message.value() or b"").decode()
            for name in [name for name in left if name in text]:
                found[name] = message.timestamp()[1]
                left.discard(name)
        begin = end
        time.sleep(0.2)
    if left:
        raise SystemExit(f"no finding of {', '.join(sorted(left))} within {_PATIENCE_S:.0f} s")
    return found


def _worked_off(installation: Running) -> None:
    """Waits until each query has read all that there is."""
    deadline, of = time.monotonic() + _PATIENCE_S, ("clientscope_stream_lag_records", "clientscope_stream_findings_catching_up")
    unread: set[float] = set()
    while unread != {0.0}:  # before the first report there are no figures
        if time.monotonic() > deadline:
            raise SystemExit(f"the job has not read everything within {_PATIENCE_S:.0f} s")
        time.sleep(2.0)
        unread = {sample.value for sample in installation.metrics() if sample.name in of}


def _memory(pid: int) -> dict[str, float]:
    """MB of the driver's Python process, of its JVM, and of all of the job's processes."""
    found = asked(pid, lambda each: (each.name(), pss_of(each) / 1e6))
    java = sum(size for name, size in found.values() if name == "java")
    return {"driver, Python": found[pid][1], "driver, JVM": java, "all processes": sum(size for _, size in found.values())}


def _new(installation: Running, records: FleetRecords, client: int, name: str, settings: dict[str, str]) -> int:
    """A new client connects and pushes; returns when, in ms since the epoch."""
    _write(installation.internal, [records.present(client, name), records.push(client, settings, name)])
    return int(time.time() * 1000)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.restart", description=__doc__)
    parser.add_argument("--clients", type=int, default=100_000, help="that are connected (default: %(default)s)")
    parser.add_argument("--applications", type=int, default=500, help="(default: %(default)s)")
    parser.add_argument("--gone", type=int, help="clients of the day before, and of those before it (default: as many as are connected)")
    parser.add_argument("--driver-memory", help="of the job's JVM; else its default")
    options = parser.parse_args()
    gone = options.clients if options.gone is None else options.gone
    records, number = FleetRecords(options.applications), 2 * gone + options.clients
    with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder, Running(Path(folder)) as installation:
        heap = ["--driver-memory", options.driver_memory] if options.driver_memory else []
        flags = ["--quality", "off", "--max-clients", str(max(200_000, options.clients + _PUSHES + 2)), *heap]
        installation.stop_job()
        began = time.monotonic()
        _write(installation.internal, _month(records, options.clients, gone))
        print(f"{options.clients:,} clients are on the topics after {time.monotonic() - began:.0f} s; the job starts", file=sys.stderr)
        installation.start_job(*flags)
        _worked_off(installation)
        installation.stop_job()
        print(f"all has been read after {time.monotonic() - began:.0f} s; the job starts again", file=sys.stderr)
        begin = installation.ends(FINDINGS)
        began_ms = int(time.time() * 1000)
        _new(installation, records, number + 1, "newwrong", _WRONG)
        installation.start_job(*flags)
        leaked_ms = _new(installation, records, number, "newleak", _LEAK)
        first = _found(installation, ["newleak", "newwrong"], begin)
        pid = installation.processes.pid("stream")
        memory = _memory(pid)
        time.sleep(_QUIET_S / 3)
        cpu, quiet = cpu_seconds(pid), time.monotonic()
        time.sleep(_QUIET_S)
        cores = (cpu_seconds(pid) - cpu) / (time.monotonic() - quiet)
        waits = []
        for each in range(_PUSHES):
            begin = installation.ends(FINDINGS)
            pushed_ms = _new(installation, records, number + 2 + each, f"late{each}x", _WRONG)
            waits.append(_found(installation, [f"late{each}x"], begin)[f"late{each}x"] - pushed_ms)
        view = Table(title=f"{options.clients:,} clients in {options.applications:,} applications", title_justify="left")
        view.add_column("what")
        view.add_column("figure", justify="right")
        view.add_row("start → first push to the running job, s", f"{(leaked_ms - began_ms) / 1000:.1f}")
        view.add_row("this push, a new leak → finding, s", f"{(first['newleak'] - leaked_ms) / 1000:.1f}")
        view.add_row("start → finding of a wrong setting that was pushed before, s", f"{(first['newwrong'] - began_ms) / 1000:.1f}")
        view.add_row("later: push → finding, p50 and most, ms", f"{statistics.median(waits):,.0f} / {max(waits):,.0f}")
        view.add_row("cores without input", f"{cores:.2f}")
        for what, size in memory.items():
            view.add_row(f"memory: {what}, MB (PSS)", f"{size:,.0f}")
        Console(width=130).print(view)
    return 0


if __name__ == "__main__":
    sys.exit(main())
