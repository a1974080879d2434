"""Batches of records in history's tables, without Spark; and the library that validates samples of them."""

from __future__ import annotations

import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from record_bytes import config_record, connection_record, setting

from clientscope.model.topics import CONFIGS
from sinks.quality.suites import SUITES
from udfs.decode import decode_connections, decode_pushes
from udfs.kernels.quarantine import with_evidence

NOW_MS = 1_800_000_000_000
"""When all of them were made, and appended but for those that say otherwise."""
UNBALANCED = connection_record(99, [("java", "4", 2, 1, 0)], timestamp_ms=NOW_MS)
"""A record whose counts don't add up."""


def append(history: Path, topic: str, values: list[bytes], newest_ms: int = NOW_MS, places: list[int] | None = None) -> None:
    """A commit of those that are kept, in the columns of the job's."""
    rows = with_evidence(decode_pushes if topic == CONFIGS else decode_connections, pa.array(values, pa.binary()), None)
    fields = [field.name for field in rows.type if field.name not in ("decode_error", "length", "digest")]
    times = [NOW_MS] * (len(values) - 1) + [newest_ms]
    table = pa.table(
        {
            "date": pa.array([datetime.fromtimestamp(NOW_MS / 1000, UTC).date()] * len(values)),
            "topic": [topic] * len(values),
            "partition": pa.array([0] * len(values), pa.int32()),
            "offset": pa.array(places or list(range(len(values))), pa.int64()),
            "timestamp": pa.array([datetime.fromtimestamp(ms / 1000, UTC) for ms in times], pa.timestamp("us", tz="UTC")),
        }
        | {name: rows.field(name) for name in fields}
    )
    write_deltalake(history / SUITES[topic].table, table.filter(rows.field("decode_error").is_null()), mode="append", partition_by=["date"])


def pushes(*more: bytes, number: int = 50) -> list[bytes]:
    """Good ones, and these."""
    return [config_record(setting("acks", "all"), received_ms=NOW_MS) for _ in range(number)] + list(more)


def connections(*more: bytes, number: int = 50) -> list[bytes]:
    """The same of the other topic."""
    return [connection_record(each, [("java", "4", 1, 1, 0)], timestamp_ms=NOW_MS) for each in range(number)] + list(more)


def import_the_library() -> None:
    """Great Expectations, whose import warns of what Python has deprecated since.

    It imports pyspark.sql.connect, which takes a process whose main module has no file for a doctest of Spark, and ends it: pytest-xdist's
    workers are such, unless they are taken for a prompt.
    """
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "ps1", "", raising=False)
        warnings.simplefilter("ignore")
        import sinks.quality.checking  # noqa: F401
