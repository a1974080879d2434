"""Step of findings: pushes and connection records -> input of ``streaming.findings``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it

from clientscope.digest import DigestKey
from clientscope.profiles import Thresholds
from clientscope.records.topics import CONFIGS, CONNECTIONS
from streaming.internals.frames import to_table
from udfs.arrays.streams import as_stream, of_streams
from udfs.kernels.finding_inputs import CONNECTION, PUSH, connected, pushed, tombstones

_PLACE = (pa.field("partition", pa.int32()), pa.field("offset", pa.int64()), pa.field("appended_ms", pa.int64()))
_FIELDS = {field.name: field for of in (CONNECTION, PUSH) for field in of if field.name != "row"}
SCHEMA = pa.schema([*_PLACE, *_FIELDS.values()])
"""A row has the fields of `PUSH` for a push, those of `CONNECTION` for a connection's event; the others are null."""


_COLUMN = "inputs"


def arrivals(records: DataFrame, digest_key: DigestKey | None, thresholds: Thresholds | None = None) -> DataFrame:
    """What findings need of each record; see `SCHEMA` for what is left out.

    Args:
        records: of both topics; with their keys, tombstones of ``clientscope.configs`` arrive too.
        digest_key: digests leaks that no gateway has redacted.
        thresholds: which profile applies to which client; None for the rules' own limits.

    Returns:
        a column of streams, as `received` takes them.
    """
    keys = F.col("key") if "key" in records.columns else F.lit(None).cast("binary").alias("key")
    wanted = F.col("value").isNotNull() | ((F.col("topic") == CONFIGS) & keys.isNotNull())
    read = records.where(wanted).select("topic", "partition", "offset", F.unix_millis("timestamp").alias("appended_ms"), "value", keys)
    return read.mapInArrow(partial(_batches, digest_key=digest_key, thresholds=thresholds), f"{_COLUMN} binary")


def received(arrived: DataFrame) -> pa.Table:
    """The rows of `arrivals`, on the driver, as `SCHEMA`."""
    return of_streams(to_table(arrived).column(_COLUMN), SCHEMA)


def _batches(batches: Iterable[pa.RecordBatch], digest_key: DigestKey | None, thresholds: Thresholds | None) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        is_push, has_value = pc.equal(batch.column("topic"), CONFIGS), batch.column("value").is_valid()
        pushes = batch.filter(pc.and_(is_push, has_value))
        events = batch.filter(pc.and_(pc.equal(batch.column("topic"), CONNECTIONS), has_value))
        ended = batch.filter(pc.and_not(is_push, has_value))
        if pushes.num_rows:
            yield _packed(pushes, pushed(pushes.column("value"), digest_key, thresholds))
        if events.num_rows:
            yield _packed(events, connected(events.column("value"), digest_key))
        if ended.num_rows:
            yield _packed(ended, tombstones(ended.column("key")))


def _packed(records: pa.RecordBatch, found: pa.StructArray) -> pa.RecordBatch:
    """A kernel's output, with the place of each record, as one stream."""
    columns = {field.name: found.field(field.name) for field in found.type}
    columns |= {field.name: records.column(field.name).take(columns["row"]) for field in _PLACE}
    rows = pa.record_batch([columns.get(field.name, pa.nulls(len(found), field.type)) for field in SCHEMA], schema=SCHEMA)
    return pa.record_batch({_COLUMN: pa.array([as_stream(rows)], pa.binary())})
