"""Cost of the gauges, and its growth: ``make bench-gauges``.

Connection records of twenty gateways, made by a generator (the gateways' own registry, without a gateway or a client): first all
connections are opened; then each batch is five seconds of life, a heartbeat of each gateway and a hundred connections that come and
go. Three ways to keep the newest count of each series take the same records from files, one after the other, in one session of local[2],
and hand what they find to the same sink: the job's own (no state in Spark), Spark's aggregation (``max_by`` per series), and
TransformWithState in Python (a gateway's table in one value, since each access of the state is a round trip to the JVM). Spark's state
is in RocksDB with changelogs.

Then a thousand gateways of 100 versions each, with a heartbeat each five seconds, by the job's own way alone: a batch is one second, so the
heartbeats of two hundred, and what counts is the CPU time of all processes of the job.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from rich.console import Console
from rich.table import Table

from bench.gateway import proc
from clientscope.config import StreamSettings
from clientscope.garbage import settle
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.local.jars import jars
from clientscope.records.codec import encode
from clientscope.session.state import Identity
from streaming import transforms
from streaming.gauges import GaugeEntry, Gauges
from streaming.queries.gauges import arrived, gauge_entries
from streaming.session import session
from streaming.transforms import entries
from udfs.kernels.connection_counts import TYPE, counts

GATEWAYS = 20
TURNOVER = 100
MANY_GATEWAYS, MANY_VERSIONS, HEARTBEAT_S = 1_000, 100, 5
OURS = "the job's: no state in Spark"
_SCHEMA = "value binary, partition int, offset long, timestamp timestamp"
_SERIES = ("cluster", "broker", "gateway", "listener", "software_name", "software_version")
_REST = tuple(name for name in GaugeEntry._fields if name not in _SERIES)
_START_MS = 1_700_000_000_000


@dataclass(frozen=True)
class Load:
    """How many connections are open, of how many versions at each gateway."""

    connections: int
    versions: int


@dataclass(frozen=True)
class Cost:
    """Milliseconds of a batch, and the state after the last one."""

    opening_ms: float
    batch_ms: float
    rows: int
    size_bytes: int


def registries_of(gateways: int) -> list[ConnectionRegistry]:
    """The registry of each gateway."""
    places = [GatewayPlace("cluster", number, f"gateway-{number}:9092", _START_MS, "CLIENT") for number in range(gateways)]
    return [ConnectionRegistry(place) for place in places]


def write_batch(records: list[bytes], folder: Path, batch: int, at_ms: int) -> None:
    """Writes what is there as a file."""
    times = pa.array([at_ms * 1000] * len(records), pa.timestamp("us", "UTC"))
    place = {"partition": pa.array([0] * len(records), pa.int32()), "offset": pa.array(range(len(records)), pa.int64())}
    pq.write_table(pa.table({"value": pa.array(records, pa.binary()), **place, "timestamp": times}), folder / f"{batch:05}.parquet")


def make(load: Load, batches: int, folder: Path) -> None:
    """Writes the records, a file for each batch."""
    registries = registries_of(GATEWAYS)
    records: list[bytes] = []
    folder.mkdir()

    def opened(number: int, at_ms: int) -> None:
        identity = Identity("app", "apache-kafka-java", f"4.{number // GATEWAYS % load.versions}.0")
        records.append(encode(registries[number % GATEWAYS].opened(number, "10.0.0.1", at_ms, identity)))

    def flush(batch: int, at_ms: int) -> None:
        write_batch(records, folder, batch, at_ms)
        records.clear()

    for number in range(load.connections):
        opened(number, _START_MS)
    flush(0, _START_MS)
    for batch in range(1, batches + 1):
        at_ms = _START_MS + batch * 5000
        for each in range(TURNOVER):
            old = (batch - 1) * TURNOVER + each
            closed = registries[old % GATEWAYS].closed(old, "client_closed", at_ms)
            assert closed is not None
            records.append(encode(closed))
            opened(load.connections + old, at_ms)
        for registry in registries:
            records.extend(encode(record) for record in registry.heartbeat(at_ms, 5000))
        flush(batch, at_ms)


def make_many(seconds: int, folder: Path) -> None:
    """Writes the records of many gateways, a file for each second; the first has all that is open, and each gateway's first heartbeat."""
    registries = registries_of(MANY_GATEWAYS)
    folder.mkdir()
    records = []
    for registry in registries:
        for number in range(MANY_VERSIONS):
            records.append(encode(registry.opened(number, "10.0.0.1", _START_MS, Identity("app", "apache-kafka-java", f"4.{number}.0"))))
        records.extend(encode(record) for record in registry.heartbeat(_START_MS, HEARTBEAT_S * 1000))
    write_batch(records, folder, 0, _START_MS)
    for second in range(1, seconds + 1):
        at_ms = _START_MS + second * 1000
        beating = registries[second % HEARTBEAT_S :: HEARTBEAT_S]
        write_batch([encode(each) for one in beating for each in one.heartbeat(at_ms, HEARTBEAT_S * 1000)], folder, second, at_ms)


def measure_many(spark: SparkSession, seconds: int, scratch: Path) -> dict[str, float]:
    """Cores that the job needs for them, by program; after what is open has been read."""
    source = scratch / "many"
    make_many(seconds, source)
    gauges = Gauges({}, now=0)
    begun: dict[str, float] = {}

    def spent() -> dict[str, float]:
        below = {f"{name} below it": proc.cpu_seconds_of(os.getpid(), name) for name in ("python", "java")}
        return {"driver": time.process_time(), **below}

    def write(frame: DataFrame, batch_id: int) -> None:
        gauges.apply(arrived(frame.toArrow()), now=0)
        if batch_id == HEARTBEAT_S:  # each gateway's second heartbeat is read
            settle()  # as the job does
            begun.update(spent())

    frame = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = entries(frame).writeStream.foreachBatch(write).option("checkpointLocation", str(scratch / "checkpoint-many"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert gauges.size()[0] >= MANY_GATEWAYS * MANY_VERSIONS
    return {name: (after - begun[name]) / (seconds - HEARTBEAT_S) for name, after in spent().items()}


def in_rows(records: DataFrame) -> DataFrame:
    """The entries as rows of Spark's."""
    lists = transforms.column(counts, TYPE, "value")
    place = (F.unix_millis("timestamp").alias("appended_ms"), "partition", "offset")
    return records.select("timestamp", "partition", "offset", F.explode(lists).alias("entry")).select("entry.*", *place)


def aggregated(rows: DataFrame) -> DataFrame:
    """By Spark's own aggregation."""
    newest = F.max_by(F.struct(*_REST), F.struct("epoch", "sequence"))
    return rows.groupBy(*_SERIES).agg(newest.alias("newest")).select(*_SERIES, "newest.*")


class Newest(StatefulProcessor):
    """The same as a processor of a gateway's rows."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Once a task."""
        self._table = handle.getValueState("table", "json string")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 - Spark's names
        """Once a gateway and batch."""
        table = json.loads(self._table.get()[0]) if self._table.exists() else {}
        touched = {}
        for row in rows:
            series = json.dumps([row["listener"], row["software_name"], row["software_version"]])
            known = table.get(series)
            order = [row["epoch"], row["sequence"]]
            if known is None or order > known:
                table[series] = order
                touched[series] = row
        self._table.update((json.dumps(table),))
        yield from touched.values()

    def close(self) -> None:
        """Nothing is held."""


def processed(rows: DataFrame) -> DataFrame:
    """By TransformWithState."""
    return rows.groupBy("cluster", "broker", "gateway").transformWithState(Newest(), rows.schema, "update", "none")


WAYS: dict[str, Callable[[DataFrame], DataFrame]] = {
    OURS: entries,
    "Spark's aggregation": lambda records: aggregated(in_rows(records)),
    "TransformWithState in Python": lambda records: processed(in_rows(records)),
}


def measure(spark: SparkSession, way: Callable[[DataFrame], DataFrame], source: Path, scratch: Path) -> Cost:
    """All batches, one after the other."""
    gauges = Gauges({}, now=0)

    is_ours = way is WAYS[OURS]

    def write(frame: DataFrame, _batch_id: int) -> None:
        gauges.apply((arrived if is_ours else gauge_entries)(frame.toArrow()), now=0)

    rows = way(spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source)))
    mode = "append" if is_ours else "update"
    writer = rows.writeStream.outputMode(mode).foreachBatch(write).option("checkpointLocation", str(scratch))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    reports = [report for report in query.recentProgress if report.numInputRows]
    times = [report.durationMs["triggerExecution"] for report in reports]
    state = reports[-1].stateOperators
    kept = (state[0].numRowsTotal, state[0].memoryUsedBytes) if state else (0, 0)
    ours = gauges.size()
    return Cost(times[0], statistics.median(times[len(times) // 3 :]), kept[0] + ours[0], kept[1] + ours[1])


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.gauges", description=__doc__)
    parser.add_argument("--batches", type=int, default=30, metavar="N", help="after the opening of all (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=30, metavar="N", help="of many gateways (default: %(default)s)")
    parser.add_argument("--many-only", action="store_true", help="many gateways alone")
    options = parser.parse_args()
    loads = (Load(10_000, 10), Load(100_000, 10), Load(10_000, 100), Load(100_000, 100))
    costs: dict[tuple[Load, str], Cost] = {}
    with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder:
        scratch = Path(folder)
        settings = StreamSettings(bootstrap_servers="127.0.0.1:1", master="local[2]", history_dir=scratch / "history", driver_memory="1g")
        spark = session(settings, jars("spark"))
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
        try:
            if not options.many_only:
                compare(spark, loads, options.batches, scratch, costs)
            cores = measure_many(spark, options.seconds, scratch)
        finally:
            spark.stop()
    if costs:
        _show(loads, costs)
    print(
        f"{MANY_GATEWAYS:,} gateways of {MANY_VERSIONS} versions, a heartbeat each {HEARTBEAT_S} s: "
        + ", ".join(f"{name} {number:.3f}" for name, number in cores.items())
        + f", together {sum(cores.values()):.3f} cores"
    )
    return 0


def compare(spark: SparkSession, loads: Sequence[Load], batches: int, scratch: Path, costs: dict[tuple[Load, str], Cost]) -> None:
    """Each way with each load."""
    warm = scratch / "warm"
    make(Load(1_000, 10), 15, warm)
    for number, way in enumerate(WAYS.values()):
        measure(spark, way, warm, scratch / f"warm-{number}")
    for place, load in enumerate(loads):
        source = scratch / f"records-{place}"
        print(f"{load.connections:,} connections of {load.versions} versions …", file=sys.stderr, flush=True)
        make(load, batches, source)
        for number, (name, way) in enumerate(WAYS.items()):
            time.sleep(1)
            costs[load, name] = measure(spark, way, source, scratch / f"checkpoint-{place}-{number}")


def _show(loads: tuple[Load, ...], costs: dict[tuple[Load, str], Cost]) -> None:
    title = (
        f"{GATEWAYS} gateways, records made by a generator; a batch is {GATEWAYS} heartbeats and {TURNOVER} connections that come and go"
    )
    view = Table(title=title, title_justify="left")
    for heading in ("open", "versions", "kept by", "opening all, ms", "a batch, ms (median)", "× the job's", "rows of state", "state, KB"):
        view.add_column(heading, justify="left" if heading == "kept by" else "right")
    for load in loads:
        base = costs[load, OURS]
        for name in WAYS:
            cost = costs[load, name]
            view.add_row(
                f"{load.connections:,}", str(load.versions), name, f"{cost.opening_ms:,.0f}", f"{cost.batch_ms:,.0f}",
                f"{cost.batch_ms / base.batch_ms:.1f}", f"{cost.rows:,}", f"{cost.size_bytes / 1000:,.0f}",
            )  # fmt: skip
    Console(width=150).print(view)
    print("The state of the two others is Spark's and the sink's together; Spark's is what RocksDB holds in memory.")


if __name__ == "__main__":
    sys.exit(main())
