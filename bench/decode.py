"""Speed of decoding pushes, inside Spark and outside: ``make bench-decode``.

Records are 1-KB ClientConfigRecords of 25 settings. Outside Spark each figure is CPU time of one core; inside it is the time of a job in
local[1], from cached bytes to a sink that takes all columns and does nothing. All take turns, and the best of all rounds counts, since
other processes only ever make a round slower.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from pyspark.sql.pandas.types import from_arrow_type
from rich.console import Console
from rich.table import Table

from clientscope.catalog.configs import TYPES
from clientscope.config import StreamSettings
from clientscope.local.jars import jars
from clientscope.records.codec import ClientConfigRecord, decode, encode
from streaming.session import session
from streaming.transforms import kernel
from udfs.decoding.decode import decoder

RECORDS = 40_000
FEWER = 8_000
BATCH = 1_000
KEYS = (
    "acks", "batch.size", "buffer.memory", "client.dns.lookup", "client.id", "compression.type", "connections.max.idle.ms",
    "delivery.timeout.ms", "enable.idempotence", "linger.ms", "max.block.ms", "max.in.flight.requests.per.connection",
    "max.request.size", "metadata.max.age.ms", "metrics.num.samples", "metrics.sample.window.ms", "receive.buffer.bytes",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms",
    "send.buffer.bytes", "transaction.timeout.ms",
)  # fmt: skip
NEEDED = frozenset({"client_software_name", "client_software_version", "configs.config_key", "configs.config_value", "configs.is_default"})
"""What rules ask about a push: who, and its settings."""


def record(number: int) -> bytes:
    """One push; no two are alike."""
    settings = [
        ClientConfigRecord.Config(
            version=0, config_key=key, config_value=str(number * 7919 % 100_003 + place), value_state=0, config_type=int(TYPES[key]),
            is_default=place % 3 > 0, value_digest=None, value_length=5,
        )
        for place, key in enumerate(KEYS)
    ]  # fmt: skip
    return encode(
        ClientConfigRecord(
            version=0, received_timestamp_ms=1_700_000_000_000 + number, cluster_id="MkU3OEVBNTcwNTJENDM2Qk", broker_id=number % 3,
            gateway_id="gateway-1.example.org:9092", gateway_epoch=1_700_000_000_000, connection_id=number, listener_name="CLIENT",
            security_protocol="SASL_SSL", client_address=f"10.0.{number // 250 % 250}.{number % 250}", principal=f"User:team-{number % 50}",
            principal_source=2, client_id=f"orders-service-{number}", client_software_name="apache-kafka-java",
            client_software_version="4.4.0", client_instance_id=uuid.UUID(int=number + 1), origin=0, digest_key_id=None, configs=settings,
        )
    )  # fmt: skip


def per_record(value: bytes) -> dict[str, Any]:
    """By kafka-python's compiled decoder, which trusts its input, and as a row: what one would write without this project."""
    decoded, _ = ClientConfigRecord._struct.compiled_decode_from(0, compact=True, tagged=True, data_class=ClientConfigRecord)(value, 2)
    row = {name: getattr(decoded, name) for name in ClientConfigRecord._struct.fields}
    row["client_instance_id"] = str(row["client_instance_id"])
    inner = ClientConfigRecord.Config._struct.fields
    row["configs"] = [{name: getattr(config, name) for name in inner} for config in row["configs"]]
    return row | {"decode_error": None}


def outside(values: list[bytes], rounds: int) -> dict[str, float]:
    """Records per CPU second."""
    array = pa.array(values, pa.binary())
    whole, needed = decoder("ClientConfigRecord"), decoder("ClientConfigRecord", NEEDED)

    def in_batches(work: Callable[[pa.Array], Any]) -> int:
        for start in range(0, len(array), BATCH):
            work(array.slice(start, BATCH))
        return len(array)

    def one_by_one(work: Callable[[bytes], Any]) -> int:
        for value in values[:FEWER]:
            work(value)
        return FEWER

    cases: dict[str, Callable[[], int]] = {
        "kafka-python, a record at a time, trusting": lambda: one_by_one(per_record),
        "the reference codec: the same, bounds checked": lambda: one_by_one(lambda value: decode(ClientConfigRecord, value)),
        "ours, every string made": lambda: in_batches(whole),
        "ours, what rules need": lambda: in_batches(needed),
        "ours, positions alone": lambda: in_batches(whole.read),
    }
    return _best(cases, rounds, time.process_time)


def inside(spark: SparkSession, values: list[bytes], rounds: int) -> dict[str, float]:
    """Records per second."""
    arrow_type = decoder("ClientConfigRecord").arrow_type
    many, few = (_cached(spark, some) for some in (values, values[:FEWER]))
    row = from_arrow_type(arrow_type)
    whole = decoder("ClientConfigRecord")
    cases: dict[str, tuple[DataFrame, Column]] = {
        "pickled UDF, a record at a time": (few, F.udf(per_record, row, useArrow=False)("value")),
        "Spark's Arrow-optimised UDF, a record at a time": (few, F.udf(per_record, row, useArrow=True)("value")),
        "ours as pandas UDF": (many, kernel.pandas_column(whole, arrow_type, "value")),
        "ours as arrow_udf": (many, kernel.column(whole, arrow_type, "value")),
        "the bare hop: bytes in, a number out": (many, kernel.column(_lengths, pa.int32(), "value")),
    }

    def job(rows: DataFrame, column: Column) -> int:
        rows.select(column.alias("r")).write.format("noop").mode("overwrite").save()
        return rows.count()

    return _best({name: lambda case=case: job(*case) for name, case in cases.items()}, rounds, time.perf_counter)


def _lengths(values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc  # noqa: PLC0415 - pickled with the function

    return pc.binary_length(values)


def _cached(spark: SparkSession, values: list[bytes]) -> DataFrame:
    rows = spark.createDataFrame(pa.table({"value": pa.array(values, pa.binary())})).repartition(1).persist()
    rows.count()
    return rows


def _best(cases: dict[str, Callable[[], int]], rounds: int, clock: Callable[[], float]) -> dict[str, float]:
    found: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, work in cases.items():
            started = clock()
            count = work()
            rate = count / (clock() - started)
            if number:  # the first warms up
                found[name] = max(rate, found.get(name, 0.0))
    return found


def _show(title: str, rates: dict[str, float], size: float, base: str) -> None:
    view = Table(title=title, title_justify="left")
    for heading in ("", "records/s", "MB/s", f"× {base}"):
        view.add_column(heading, justify="right" if heading else "left")
    for name, rate in rates.items():
        view.add_row(name, f"{rate:,.0f}", f"{rate * size / 1e6:.0f}", f"{rate / rates[base]:.1f}")
    Console(width=130).print(view)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.decode", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each case, after one that warms up (default: %(default)s)")
    options = parser.parse_args()
    values = [record(number) for number in range(RECORDS)]
    size = sum(map(len, values)) / len(values)
    print(f"{RECORDS:,} records of {size:.0f} bytes and {len(KEYS)} settings, in batches of {BATCH:,}; best of {options.rounds} rounds")
    _show("Outside Spark, one core", outside(values, options.rounds), size, "kafka-python, a record at a time, trusting")
    with tempfile.TemporaryDirectory() as scratch:
        settings = StreamSettings(bootstrap_servers="127.0.0.1:1", master="local[1]", history_dir=Path(scratch))
        spark = session(settings, jars("spark"))
        try:
            rates = inside(spark, values, options.rounds)
        finally:
            spark.stop()
    _show("Inside Spark, local[1]", rates, size, "Spark's Arrow-optimised UDF, a record at a time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
