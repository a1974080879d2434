"""Cost of the gauges, and its growth: ``make bench-gauges``.

Connection records of twenty gateways, made by a generator (the gateways' own registry, without a gateway or a client): first all
connections are opened; then each batch is five seconds of life, a heartbeat of each gateway and a hundred connections that come and
go. Three ways to keep the newest count of each series take the same records from files, one after the other, in one session of local[2],
and hand what they find to the same sink: the job's own (no state in Spark), Spark's aggregation (``max_by`` per series), and
TransformWithState in Python (a gateway's table in one value, since each access of the state is a round trip to the JVM). Spark's state
is in RocksDB with changelogs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
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

from clientscope.config import StreamSettings
from clientscope.gateway.place import GatewayPlace
from clientscope.gateway.registry import ConnectionRegistry
from clientscope.local.jars import jars
from clientscope.records.codec import encode
from clientscope.session.state import Identity
from streaming.gauges import GaugeEntry, Gauges
from streaming.queries.gauges import arrived
from streaming.session import session
from streaming.transforms.gauges import entries

GATEWAYS = 20
TURNOVER = 100
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


def make(load: Load, batches: int, folder: Path) -> None:
    """Writes the records, a file for each batch."""
    registries = [
        ConnectionRegistry(GatewayPlace("cluster", number, f"gateway-{number}:9092", _START_MS, "CLIENT")) for number in range(GATEWAYS)
    ]
    records: list[bytes] = []
    folder.mkdir()

    def opened(number: int, at_ms: int) -> None:
        identity = Identity("app", "apache-kafka-java", f"4.{number // GATEWAYS % load.versions}.0")
        records.append(encode(registries[number % GATEWAYS].opened(number, "10.0.0.1", at_ms, identity)))

    def flush(batch: int, at_ms: int) -> None:
        times = pa.array([at_ms * 1000] * len(records), pa.timestamp("us", "UTC"))
        place = {"partition": pa.array([0] * len(records), pa.int32()), "offset": pa.array(range(len(records)), pa.int64())}
        pq.write_table(pa.table({"value": pa.array(records, pa.binary()), **place, "timestamp": times}), folder / f"{batch:05}.parquet")
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
    OURS: lambda rows: rows,
    "Spark's aggregation": aggregated,
    "TransformWithState in Python": processed,
}


def measure(spark: SparkSession, way: Callable[[DataFrame], DataFrame], source: Path, scratch: Path) -> Cost:
    """All batches, one after the other."""
    gauges = Gauges({}, now=0)

    def write(frame: DataFrame, _batch_id: int) -> None:
        gauges.apply(arrived(frame.toArrow()), now=0)

    frame = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))
    rows = way(entries(frame))
    mode = "append" if way is WAYS[OURS] else "update"
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
    options = parser.parse_args()
    loads = (Load(10_000, 10), Load(100_000, 10), Load(10_000, 100), Load(100_000, 100))
    costs: dict[tuple[Load, str], Cost] = {}
    with tempfile.TemporaryDirectory(prefix="clientscope-bench-") as folder:
        scratch = Path(folder)
        settings = StreamSettings(bootstrap_servers="127.0.0.1:1", master="local[2]", history_dir=scratch / "history", driver_memory="1g")
        spark = session(settings, jars("spark"))
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "1000")
        try:
            warm = scratch / "warm"
            make(Load(1_000, 10), 15, warm)
            for number, way in enumerate(WAYS.values()):
                measure(spark, way, warm, scratch / f"warm-{number}")
            for place, load in enumerate(loads):
                source = scratch / f"records-{place}"
                print(f"{load.connections:,} connections of {load.versions} versions …", file=sys.stderr, flush=True)
                make(load, options.batches, source)
                for number, (name, way) in enumerate(WAYS.items()):
                    time.sleep(1)
                    costs[load, name] = measure(spark, way, source, scratch / f"checkpoint-{place}-{number}")
        finally:
            spark.stop()
    _show(loads, costs)
    return 0


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
