"""Batches of records in the form of the history queries, without Spark."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pytest
from record_bytes import config_record, connection_record, setting

from clientscope.records.topics import CONFIGS
from sinks.quality.quality import Batch, Whole
from sinks.quality.suites import Suite
from streaming.transforms.history import connection_rows, push_rows

NOW_MS = 1_800_000_000_000
"""When all of them were appended, and made."""


def a_batch(topic: str, values: list[bytes], newest_ms: int = NOW_MS, places: list[int] | None = None) -> Batch:
    """As the history query looks at a batch."""
    kernel = push_rows if topic == CONFIGS else connection_rows
    rows = kernel(pa.array(values, pa.binary()), None)
    facts = rows.field("facts")
    offsets = pa.array(places or list(range(len(values))), pa.int64())
    whole = pa.table(
        {
            "partition": pa.array([0] * len(values), pa.int32()),
            "offset": offsets,
            "appended_ms": pa.array([NOW_MS] * len(values), pa.int64()),
        }
        | {field.name: facts.field(field.name) for field in facts.type}
    ).filter(facts.is_valid())
    found = Counter(rows.field("decode_error").to_pylist())

    def looked_at(suite: Suite) -> tuple[Whole, Callable[[float], pa.Table]]:
        return Whole(len(whole), newest_ms, {each.name: found[each.name] for each in suite.row_checks}), lambda share: whole

    return looked_at


def pushes(*more: bytes, number: int = 50) -> list[bytes]:
    """Good ones, and these."""
    return [config_record(setting("acks", "all"), received_timestamp_ms=NOW_MS) for _ in range(number)] + list(more)


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
        import sinks.quality.docs
        import sinks.quality.validation  # noqa: F401
