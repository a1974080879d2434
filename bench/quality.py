"""Cost of data quality: ``make bench-quality``.

Row checks are CPU time of one core, beside the decoding, redacting and evidence that history does anyway, in batches of 1,000. A batch of
history is timed inside Spark, local[2], as the job writes it; and then, without Spark, as the process of data quality samples and validates
it. All take turns, and the best of all rounds counts. The library's import and memory are those of a process that does nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from bench.decode import BATCH, record
from bench.digest_key import key_in_a_file
from clientscope.config import StreamSettings
from clientscope.local.jars import jars
from clientscope.records.codec import ClientConnectionRecord, encode
from clientscope.records.layouts import Kind
from clientscope.records.topics import CONFIGS, CONNECTIONS
from sinks.history.batches import append
from sinks.quality import commits, samples
from sinks.quality.checking import MOST_READ, MOST_ROWS, SampleChecks
from sinks.quality.docs import DataDocs
from sinks.quality.suites import SUITES
from sinks.quality.validation import Validator
from streaming.internals.frames import record_batches
from streaming.session import session
from streaming.transforms import history, kernel
from udfs.decoding.decode import decoder
from udfs.kernels.quarantine import FIELDS, with_evidence
from udfs.redaction.pushes import redact

MOST = 50_000
"""Records of a batch of history, as the job takes them at most."""

KEY = key_in_a_file()
_IMPORT = """
import os, time
def resident(): return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
before, begun = resident(), time.process_time()
import sinks.quality.checking
print(time.process_time() - begun, resident() - before)
"""


def connection(number: int) -> bytes:
    """A connection that opened, with the count of its software."""
    count = ClientConnectionRecord.Count(
        version=0, count_listener_name="CLIENT", count_software_name="apache-kafka-java", count_software_version="4.4.0",
        open_connections=number, opened_total=number, closed_total=0,
    )  # fmt: skip
    opened = ClientConnectionRecord(
        version=0, kind=Kind.OPENED, cluster_id="MkU3OEVBNTcwNTJENDM2Qk", broker_id=number % 3, gateway_id="gateway-1.example.org:9092",
        gateway_epoch=1_700_000_000_000, sequence=number, timestamp_ms=1_700_000_000_000 + number, connection_id=number,
        listener_name="CLIENT", security_protocol="SASL_SSL", client_address="10.0.0.1", principal=f"User:team-{number % 50}",
        principal_source=2, client_id=f"app-{number}", client_software_name="apache-kafka-java", client_software_version="4.4.0",
        client_instance_id=None, previous_software_name=None, previous_software_version=None, reason=None, counts=[count],
        heartbeat_part=0, heartbeat_parts=0, heartbeat_interval_ms=0, client_instances=0,
    )  # fmt: skip
    return bytes(encode(opened))


LOADS: dict[str, Callable[[int], bytes]] = {CONFIGS: record, CONNECTIONS: connection}


def unchecked(values: pa.Array, topic: str) -> pa.StructArray:
    """What the history queries' kernels did before they had row checks."""
    if topic == CONFIGS:
        return with_evidence(redact(decoder("ClientConfigRecord")(values), KEY), values, KEY)
    return with_evidence(decoder("ClientConnectionRecord")(values), values, KEY)


def row_checks(rounds: int) -> dict[str, tuple[float, float]]:
    """For each topic, microseconds a record without its row checks and with them."""
    found = {}
    for topic, make in LOADS.items():
        values = [pa.array([make(number + start) for number in range(BATCH)], pa.binary()) for start in range(0, 8 * BATCH, BATCH)]
        judged = history.push_rows if topic == CONFIGS else history.connection_rows
        cases: dict[str, Callable[[], object]] = {
            "without": lambda values=values, topic=topic: [unchecked(each, topic) for each in values],
            "with": lambda values=values, judged=judged: [judged(each, KEY) for each in values],
        }
        best = _best(cases, rounds, time.process_time)
        found[topic] = best["without"] * 1e6 / (8 * BATCH), best["with"] * 1e6 / (8 * BATCH)
    return found


def batch_of_history(spark: SparkSession, topic: str, folder: Path, records: int, rounds: int) -> dict[str, float]:
    """Seconds for each step of a batch."""
    make = LOADS[topic]
    begun = datetime(2026, 1, 2, tzinfo=UTC)
    columns = {
        "value": pa.array([make(number) for number in range(records)], pa.binary()),
        "topic": [topic] * records, "partition": pa.array([0] * records, pa.int32()), "offset": range(records),
        "timestamp": [begun + timedelta(milliseconds=number) for number in range(records)],
    }  # fmt: skip
    parquet.write_table(pa.table(columns), folder / f"{topic}.parquet")
    read = spark.read.parquet(str(folder / f"{topic}.parquet")).coalesce(2).persist()
    read.count()
    suite, step = SUITES[topic], history.pushes if topic == CONFIGS else history.connections
    validator, docs, chance = Validator(suite), DataDocs(folder / "docs"), np.random.default_rng()
    arrow_type = decoder("ClientConfigRecord" if topic == CONFIGS else "ClientConnectionRecord").arrow_type
    plain = kernel.column(partial(unchecked, topic=topic), pa.struct([*arrow_type, *FIELDS]), "value")

    def write(checked: bool) -> None:
        rows = step(read, KEY) if checked else read.select("topic", "partition", "offset", "timestamp", plain.alias("r"))
        rows.persist()
        table = folder / (suite.table if checked else f"{suite.table}-unchecked")
        append(record_batches(history.kept(rows)), table, "bench", int(time.monotonic() * 1000))
        rows.unpersist(blocking=True)

    write(checked=True)
    (file,) = commits.since(str(folder / suite.table), 0).files
    found = samples.sample(topic, str(folder / suite.table), [file], MOST_READ, MOST_ROWS, chance)
    assert found is not None
    _, result = validator.validate(found.facts, 1.0)
    checks = SampleChecks(str(folder))
    cases: dict[str, Callable[[], object]] = {
        "decoding and Delta": lambda: write(checked=False),
        "the same with row checks": lambda: write(checked=True),
        f"a sample of {len(found.facts):,} rows": lambda: samples.sample(
            topic, str(folder / suite.table), [file], MOST_READ, MOST_ROWS, chance
        ),
        f"its {len(suite.of_samples)} expectations": lambda: validator.validate(found.facts, 1.0),
        "Data Docs (once in five minutes)": lambda: docs.add(validator.gx_suite, result, True, time.monotonic() * 1e6),
        "a look at a batch": lambda: checks.look({topic: commits.next_version(str(folder / suite.table)) - 1}),
    }
    best = _best(cases, rounds, time.monotonic)
    read.unpersist()
    return best


def _best(cases: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, work in cases.items():
            started = clock()
            work()
            taken = clock() - started
            if number:  # the first warms up
                found[name] = min(taken, found.get(name, taken))
    return found


def _table(title: str, *headings: str, first: str = "") -> Table:
    view = Table(title=title, title_justify="left")
    view.add_column(first)
    for heading in headings:
        view.add_column(heading, justify="right")
    return view


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each case, after one that warms up (default: %(default)s)")
    parser.add_argument("--records", type=int, default=MOST, metavar="N", help="of a batch of history (default: %(default)s)")
    options = parser.parse_args()
    console = Console(width=130)
    checks = _table("Row checks, µs of one core a record", "without", "with", "×")
    for topic, (without, with_them) in row_checks(options.rounds).items():
        checks.add_row(topic, f"{without:.2f}", f"{with_them:.2f}", f"{with_them / without:.2f}")
    console.print(checks)
    with tempfile.TemporaryDirectory() as folder:
        settings = StreamSettings(bootstrap_servers="127.0.0.1:1", history_dir=Path(folder), driver_memory="2g")
        spark = session(settings, jars("spark"))
        try:
            for topic in LOADS:
                steps = _table(f"A batch of {options.records:,} records", "seconds", first=topic)
                for name, seconds in batch_of_history(spark, topic, Path(folder), options.records, options.rounds).items():
                    steps.add_row(name, f"{seconds:.2f}")
                console.print(steps)
        finally:
            spark.stop()
    out = subprocess.run([sys.executable, "-c", f"__file__ = 'it'\n{_IMPORT}"], capture_output=True, text=True, check=True).stdout.split()
    console.print(f"The import of its process, once in the life of a job: {float(out[0]):.1f} s of one core, {float(out[1]):.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
