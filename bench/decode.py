"""Speed of reading pushes, beside the binary records of 0.1.0: ``make bench-decode``.

Pushes of 25 settings, by this checkout and by that commit, in a process of its own each, by turns: decoded into columns, and decoded,
judged by all rules and made into results. Outside Spark it is CPU time of one core. Inside it is the time of a job in local[1], from cached
bytes to a sink that takes all columns and does nothing. The best of all rounds counts, since other processes only ever make a round slower.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from uuid import UUID

from clientscope.catalog.configs import TYPES
from clientscope.model.codec import encode
from clientscope.model.enums import Origin, PrincipalSource
from clientscope.model.push import Push

ROOT = Path(__file__).parents[1]
BINARY = "e9f0bc3"
"""The commit whose records are binary."""

BATCH = 1_000
KEYS = (
    "acks", "batch.size", "buffer.memory", "client.dns.lookup", "client.id", "compression.type", "connections.max.idle.ms",
    "delivery.timeout.ms", "enable.idempotence", "linger.ms", "max.block.ms", "max.in.flight.requests.per.connection",
    "max.request.size", "metadata.max.age.ms", "metrics.num.samples", "metrics.sample.window.ms", "receive.buffer.bytes",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms",
    "send.buffer.bytes", "transaction.timeout.ms",
)  # fmt: skip

_OF_BINARY = (
    "from udfs.decoding.decode import decoder; from streaming.transforms import kernel; from streaming.transforms.results import verdicts",
    "decode = decoder('ClientConfigRecord'); decoded = decode.arrow_type; judge = partial(verdicts, digest_key=None);"
    "from udfs.kernels.results import TYPE; judged = lambda rows: rows.select(kernel.pandas_column(judge, TYPE, 'value').alias('r'));"
    "decodes = lambda rows: rows.select(kernel.column(decode, decoded, 'value').alias('r'))",
)
_OF_JSON = (
    "from udfs.decode import PUSH, decode_pushes; from streaming import transforms as kernel; from bench.records import passed",
    "decode, decoded = decode_pushes, PUSH; judge = lambda values: passed('clientscope.configs', values.to_pylist());"
    "judged = lambda rows: kernel.live(rows.selectExpr(\"'clientscope.configs' topic\", '0 partition', '0L offset', 'value', 'value key',"
    " 'timestamp_seconds(0) timestamp'), None);"
    "decodes = lambda rows: kernel.computed(rows, [], 'r', decode, decoded, 'value')",
)
_MEASURE = """
import sys, tempfile, time
from functools import partial
from pathlib import Path
import pyarrow as pa
from bench.decode import record
from clientscope.config import StreamSettings
from clientscope.local.jars import jars
from streaming.session import session
{imports}
{decode}
size, batch = 20_000, 1_000
values = pa.array(map(record, range(size)), pa.binary())
for work in (decode, judge):
    work(values.slice(0, batch))
    began = time.process_time()
    for start in range(0, size, batch):
        work(values.slice(start, batch))
    print(size / (time.process_time() - began))
with tempfile.TemporaryDirectory() as scratch:
    settings = StreamSettings(bootstrap_servers="127.0.0.1:1", master="local[1]", history_dir=Path(scratch))
    spark = session(settings, jars("spark"))
    rows = spark.createDataFrame(pa.table(dict(value=values))).repartition(1).persist()
    rows.count()
    for made in (decodes(rows), judged(rows)):
        found = []
        for turn in range(4):
            began = time.perf_counter()
            made.write.format("noop").mode("overwrite").save()
            found.append(size / (time.perf_counter() - began))
        print(max(found[1:]))
    spark.stop()
print(values.nbytes / size)
"""
_NAMES = (
    "decoded, outside Spark, per CPU second",
    "with judge and result",
    "decoded, in Spark, per second",
    "with judge and result",
    "bytes of a record",
)


def record(number: int) -> bytes:
    """One push; no two are alike."""
    return encode(
        Push(
            version=1, received_ms=1_700_000_000_000 + number, cluster="MkU3OEVBNTcwNTJENDM2Qk", broker=number % 3,
            gateway="gateway-1.example.org:9092", epoch=1_700_000_000_000, connection=number, listener="CLIENT",
            security_protocol="SASL_SSL", address=f"10.0.{number // 250 % 250}.{number % 250}", principal=f"User:team-{number % 50}",
            principal_source=PrincipalSource.SCRAM, client_id=f"orders-service-{number}", software_name="apache-kafka-java",
            software_version="4.4.0", instance_id=str(UUID(int=number + 1)), origin=Origin.PUSHED,
            settings={key: str(number * 7919 % 100_003 + place) for place, key in enumerate(KEYS)},
            types={key: TYPES[key].name.lower() for key in KEYS}, defaults=[key for place, key in enumerate(KEYS) if place % 3],
        )
    )  # fmt: skip


def _ask(tree: Path, of: tuple[str, str]) -> list[float]:
    code = _MEASURE.format(imports=of[0], decode=of[1])
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    ended = subprocess.run([sys.executable, "-c", code], cwd=tree, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return [float(line) for line in ended.stdout.split()]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.decode", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each commit, by turns (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / BINARY
        subprocess.run(["git", "worktree", "add", "--detach", other, BINARY], cwd=ROOT, check=True, capture_output=True)  # noqa: S607
        try:
            before, now = [0.0] * len(_NAMES), [0.0] * len(_NAMES)
            for _ in range(options.rounds):
                before = list(map(max, before, _ask(other, _OF_BINARY)))
                now = list(map(max, now, _ask(ROOT, _OF_JSON)))
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", other], cwd=ROOT, check=True)  # noqa: S607
    print(f"pushes of {len(KEYS)} settings, records a second, best of {options.rounds} rounds by turns")
    print(f"{'':40}{BINARY:>10}{'here':>10}{'ratio':>8}")
    for name, binary, ours in zip(_NAMES, before, now, strict=True):
        print(f"{name:40}{binary:10,.0f}{ours:10,.0f}{ours / binary:8.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
