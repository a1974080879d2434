"""Writer of batches to Delta tables: each row once, however often a batch is written.

By delta-rs, as all that commits to the tables: a commit by Spark takes half a second of CPU for a few rows (docs/benchmarks.md), and
Delta's log stores for it look whether a version is there before they write it, so that one of delta-rs' in between would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import TableNotFoundError

from clientscope.stores.store_path import AnyPath
from sinks.history.commit_lock import committing

_NEW_TABLE = {"delta.dataSkippingNumIndexedCols": "4"}
"""Least and greatest values are kept of a row's place alone (topic, partition, offset, timestamp): clients choose none of these."""


def append(batches: Iterator[pa.RecordBatch], table: AnyPath, query_id: str, batch_id: int) -> None:
    """Appends a batch to a table that is partitioned by ``date``; does nothing if this batch was appended before, or has no rows.

    Args:
        batches: rows of the query's batch, all with one schema, whose new columns become the table's too. Taken one after the other.
        query_id: the checkpoint's own id.  A batch is passed over whose number is not above the last one of the same id, and batch
            numbers start again at 0 with a new checkpoint: a fixed id would lose those rows without a word.

    Raises:
        DeltaError: it can't be written; nothing of the batch is there then. Also what ``batches`` raises, as delta-rs shows it.
        TimeoutError: another process has been committing for ten minutes.
    """
    first = next(batches, None)
    if first is None:
        return
    with committing(table):
        known = _opened(table)
        last = known.transaction_version(query_id) if known is not None else None
        if last is not None and last >= batch_id:
            return
        write_deltalake(
            str(table) if known is None else known,
            pa.RecordBatchReader.from_batches(first.schema, chain([first], _of(first.schema, batches))),
            mode="append",
            partition_by=["date"],
            schema_mode="merge",
            configuration=_NEW_TABLE,
            commit_properties=CommitProperties(app_transactions=[Transaction(query_id, batch_id)]),
        )


def _of(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, or ValueError: Arrow and delta-rs would read another schema's memory as this one's."""
    for batch in batches:
        if not batch.schema.equals(schema):
            raise ValueError(f"rows of one batch have two schemas: {schema} and {batch.schema}")
        yield batch


def _opened(table: AnyPath) -> DeltaTable | None:
    try:
        return DeltaTable(str(table))
    except TableNotFoundError:
        return None
