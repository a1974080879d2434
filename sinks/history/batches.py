"""Writer of batches to Delta tables: each row once, however often a batch is written, since how far a query has read is in its table.

By delta-rs, as all that commits to the tables: a commit by Spark takes half a second of CPU for a few rows (docs/benchmarks.md), and
Delta's log stores for it look whether a version is there before they write it, so that one of delta-rs' in between would be lost. Tables
may lie wherever delta-rs reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import DeltaError, TableNotFoundError

_NEW_TABLE = {"delta.dataSkippingNumIndexedCols": "4"}
"""Least and greatest values are kept of a row's place alone (topic, partition, offset, timestamp): clients choose none of these."""


class Overtaken(Exception):
    """The table has some rows of a batch already: another job, which this one has replaced, has written them a moment ago."""


def append(batches: Iterator[pa.RecordBatch], table: str, start: str, offsets: Mapping[int, range]) -> None:
    """Appends a batch to a table that is partitioned by ``date``; does nothing if this batch was appended before, or has no rows.

    Args:
        batches: rows of the query's batch, all with one schema, whose new columns become the table's too. Taken one after the other.
        table: a path or an address.
        start: of the query, as `streaming.checkpoints.job_records.QueryStart` names it: the next one may read the same records again.
        offsets: of these rows, by partition. Where they end is committed with them, and is where the query continues (`next_offsets`).

    Raises:
        DeltaError: it can't be written; nothing of the batch is there then. Also what ``batches`` raises, as delta-rs shows it.
        Overtaken: the table has a part of the batch.
    """
    first = next(batches, None)
    if first is None:
        return
    known = _opened(table) or _made(table, first.schema)
    there = _next_offsets(known, start, offsets)
    if all(there.get(number, 0) >= each.stop for number, each in offsets.items()):
        return
    if any(there.get(number, 0) > each.start for number, each in offsets.items()):
        raise Overtaken(f"{table} has a part of the rows from {min(each.start for each in offsets.values())} on")
    write_deltalake(
        known,
        pa.RecordBatchReader.from_batches(first.schema, chain([first], _of(first.schema, batches))),
        mode="append",
        schema_mode="merge",
        # Delta refuses the second of two commits that have one of these in common.
        commit_properties=CommitProperties(
            app_transactions=[Transaction(_application(start, number), each.stop) for number, each in offsets.items()]
        ),
    )


def next_offsets(table: str, start: str, partitions: Iterable[int]) -> dict[int, int]:
    """By partition, the offset behind the last batch that was appended since a start; nothing where there was none, or no table is.

    Raises:
        DeltaError: the table can't be read.
    """
    return _next_offsets(_opened(table), start, partitions)


def _next_offsets(table: DeltaTable | None, start: str, partitions: Iterable[int]) -> dict[int, int]:
    found = {number: table.transaction_version(_application(start, number)) for number in partitions} if table is not None else {}
    return {number: offset for number, offset in found.items() if offset is not None}


def _application(start: str, partition: int) -> str:
    return f"{start}/{partition}"


def _of(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, or ValueError: Arrow and delta-rs would read another schema's memory as this one's."""
    for batch in batches:
        if not batch.schema.equals(schema):
            raise ValueError(f"rows of one batch have two schemas: {schema} and {batch.schema}")
        yield batch


def _opened(table: str) -> DeltaTable | None:
    try:
        return DeltaTable(table)
    except TableNotFoundError:
        return None
    except (DeltaError, OSError) as error:
        raise _in_a_line(error) from None


def _made(table: str, schema: pa.Schema) -> DeltaTable:
    """A table without rows, made before any are appended: delta-rs looks for conflicts with no commit that makes a table."""
    try:
        return DeltaTable.create(table, schema, "ignore", partition_by=["date"], configuration=_NEW_TABLE)
    except OSError as error:
        raise _in_a_line(error) from None


_CAUSED_BY = re.compile(r"\s*(?:\x1b\[\d*m)*↳(?:\x1b\[\d*m)*\s*")


def _in_a_line(error: Exception) -> DeltaError:
    """The error with its causes, which delta-rs writes on lines of their own behind a red arrow, and without the backtrace after them."""
    return DeltaError(": ".join(_CAUSED_BY.split(str(error).strip())).partition("\n")[0])
