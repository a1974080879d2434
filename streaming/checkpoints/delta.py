"""Checkpoint that a Delta table was written from, as the table records it."""

from __future__ import annotations

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from clientscope.stores.store_path import AnyPath
from streaming.checkpoints.compare import RESET
from streaming.checkpoints.manifest import Refused
from streaming.checkpoints.offsets import to_json
from streaming.internals.spark_files import SparkFiles


def require_not_ahead(query: str, table: AnyPath, files: SparkFiles) -> None:
    """Refuses a checkpoint that is older than what its table holds: one that came from a backup.

    A batch is passed over whose number is not above the last one of the same checkpoint (``sinks.history.batches.append``). Those that
    follow on an older checkpoint have numbers that it has seen, and other records: those would be lost without a word.

    Raises:
        Refused: as said.
    """
    written = last_batch(table, files.query_id)
    if written is not None and written > (-1 if files.planned is None else files.planned):
        raise Refused(
            f"the checkpoint of {query} is older than its table: {table} has batch {written}, the checkpoint"
            f" {'none' if files.planned is None else files.planned}; what comes under numbers that the table has would be passed over",
            f"take what was read since twice rather than lose rows: {RESET} {query} --to-offsets '{to_json(files.position)}'",
        )


def last_batch(table: AnyPath, query_id: str) -> int | None:
    """The last batch of a checkpoint that a table holds; None where there is none, or no table that can be read."""
    try:
        written: int | None = DeltaTable(str(table)).transaction_version(query_id)
    except DeltaError:
        return None
    return written
