"""Writer of batches to Delta tables: each row once, however often a batch is written.

By delta-rs, as all that commits to the tables: a commit by Spark takes half a second of CPU for a few rows (docs/benchmarks.md), and
Delta's log stores for it look whether a version is there before they write it, so that one of delta-rs' in between would be lost. Tables
may lie wherever delta-rs reaches.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, QueryBuilder, Transaction, write_deltalake
from deltalake.exceptions import TableNotFoundError

_NEW_TABLE = {"delta.dataSkippingNumIndexedCols": "4"}
"""Least and greatest values are kept of a row's place alone (topic, partition, offset, timestamp): clients choose none of these."""


class CheckpointOlder(Exception):
    """A checkpoint has gone back, as one does that was put back from a copy: its next batches would be taken for ones that are there."""


def append(batches: Iterator[pa.RecordBatch], table: str, query_id: str, batch_id: int) -> None:
    """Appends a batch to a table that is partitioned by ``date``; does nothing if this batch was appended before, or has no rows.

    Args:
        batches: rows of the query's batch, all with one schema, whose new columns become the table's too. Taken one after the other.
        table: a path or an address.
        query_id: the checkpoint's own id.  A batch is passed over that has the last number of the same id. Batch numbers start again at 0
            with a new checkpoint: a fixed id would lose those rows without a word.

    Raises:
        DeltaError: it can't be written; nothing of the batch is there then. Also what ``batches`` raises, as delta-rs shows it.
        CheckpointOlder: the table has later batches of this checkpoint.
    """
    first = next(batches, None)
    if first is None:
        return
    known = _opened(table)
    last = known.transaction_version(query_id) if known is not None else None
    if last is not None and last >= batch_id:
        if last > batch_id:
            raise CheckpointOlder(f"{table} has batch {last}, and now {batch_id} comes")
        return
    write_deltalake(
        table if known is None else known,
        pa.RecordBatchReader.from_batches(first.schema, chain([first], _of(first.schema, batches))),
        mode="append",
        partition_by=["date"],
        schema_mode="merge",
        configuration=_NEW_TABLE,
        commit_properties=CommitProperties(app_transactions=[Transaction(query_id, batch_id)]),
    )


def next_offsets(table: str, since_ms: int) -> dict[int, int]:
    """By partition, the offset behind the newest row that Kafka took then or later; nothing where there is no such row, or no table.

    Raises:
        DeltaError: the table can't be read.
    """
    known = _opened(table)
    if known is None:
        return {}
    day = datetime.fromtimestamp(since_ms / 1000, UTC).date().isoformat()
    sql = (
        'SELECT "partition", max("offset") + 1 AS next FROM history'  # noqa: S608 - of numbers alone
        f' WHERE date >= \'{day}\' AND "timestamp" >= to_timestamp_millis({since_ms:d}) GROUP BY "partition"'
    )
    found = pa.table(QueryBuilder().register("history", known).execute(sql).read_all())
    return dict(zip(found["partition"].to_pylist(), found["next"].to_pylist(), strict=True))


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
