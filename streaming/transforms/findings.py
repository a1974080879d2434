"""Pushes and connection records -> what ``sinks.findings`` takes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from pyspark.sql.pandas.types import from_arrow_schema

from clientscope.policy.redaction import DigestKey
from clientscope.profiles import Thresholds
from clientscope.records.topics import CONFIGS, CONNECTIONS
from udfs.arrivals import CONNECTION, PUSH, connected, pushed

_PLACE = (pa.field("partition", pa.int32()), pa.field("offset", pa.int64()), pa.field("appended_ms", pa.int64()))
_FIELDS = {field.name: field for of in (CONNECTION, PUSH) for field in of if field.name != "row"}
SCHEMA = pa.schema([*_PLACE, *_FIELDS.values()])
"""Of a push the fields of `udfs.arrivals.PUSH`, of a connection's event those of `udfs.arrivals.CONNECTION`; the others are null."""


def arrivals(records: DataFrame, digest_key: DigestKey | None, thresholds: Thresholds | None = None) -> DataFrame:
    """What findings need of each record, as `SCHEMA`; see there for what is left out.

    Args:
        records: of both topics.
        digest_key: digests leaks that no gateway has redacted.
        thresholds: which profile holds for whom; None for the rules' own limits.
    """
    read = records.where(F.col("value").isNotNull()).select(
        "topic", "partition", "offset", F.unix_millis("timestamp").alias("appended_ms"), "value"
    )
    return read.mapInArrow(partial(_batches, digest_key=digest_key, thresholds=thresholds), from_arrow_schema(SCHEMA))


def _batches(batches: Iterable[pa.RecordBatch], digest_key: DigestKey | None, thresholds: Thresholds | None) -> Iterator[pa.RecordBatch]:
    kernels: dict[str, Callable[[pa.Array], pa.StructArray]] = {
        CONFIGS: partial(pushed, digest_key=digest_key, thresholds=thresholds),
        CONNECTIONS: partial(connected, digest_key=digest_key),
    }
    for batch in batches:
        for topic, kernel in kernels.items():
            of_topic = batch.filter(pc.equal(batch.column("topic"), topic))
            if of_topic.num_rows:
                yield _rows(of_topic, kernel(of_topic.column("value")))


def _rows(records: pa.RecordBatch, found: pa.StructArray) -> pa.RecordBatch:
    """What a kernel found, beside where each record stands."""
    columns = {field.name: found.field(field.name) for field in found.type}
    columns |= {field.name: records.column(field.name).take(columns["row"]) for field in _PLACE}
    return pa.RecordBatch.from_arrays([columns.get(field.name, pa.nulls(len(found), field.type)) for field in SCHEMA], schema=SCHEMA)
