"""History's queries: a topic -> Delta, and ``clientscope.quarantine`` for records that are invalid.

`PUSHES` and `CONNECTIONS` are all that one can be; that of clients' metrics has a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody knows it
from pyspark.sql.streaming import StreamingQuery

from clientscope.digest import DigestKey
from clientscope.kafka.access import KafkaAccess
from clientscope.model import codec
from clientscope.model.connection import ClientConnectionRecord
from clientscope.model.push import Push
from clientscope.model.topics import QUARANTINE
from sinks.history.batches import append
from sinks.history.tables import repeated
from streaming import transforms
from streaming.checkpoints.plans import PLANS
from streaming.job_metrics import QUARANTINE as QUARANTINED
from streaming.queries.query import JobContext, JobQuery, source, start
from streaming.sources import Pace, sink_options
from streaming.spark import record_batches
from streaming.supervision import Running

_MOST = 50_000
"""Records of a batch, whose decoded rows Spark keeps until both sinks have them."""

_LOOK_S = 5.0
"""How often it is looked whether a batch is full, or due."""


def start_history(
    job: JobContext,
    name: str,
    step: Callable[[JobContext, DataFrame], DataFrame],
    reasons: Iterable[str],
    written: Callable[[DataFrame], None] = lambda kept: None,
    beside: Sequence[str] = (),
) -> StreamingQuery:
    """Starts one of history's queries: each topic has its own, since topics grow, expire and fail apart from each other.

    Args:
        name: whose line in `streaming.checkpoints.plans.PLANS` has topic and table.
        step: decodes.
        reasons: why it may not keep a record.
        written: called with the rows of each batch that is in the table.
        beside: columns of these rows that the table doesn't have.
    """
    settings = job.settings
    table, beginning = f"{settings.history_dir}/{PLANS[name].table}", job.checkpoints.begin(name)

    def write(rows: DataFrame, batch_id: int) -> None:
        # Both sinks from one decoding.  Nothing sensitive is in these rows any more, should Spark spill them.
        rows.persist()
        try:
            kept = transforms.kept(rows)
            transforms.quarantine(rows).write.format("kafka").options(**sink).save()
            there = offsets(kept)
            job.checkpoints.require_current(name, beginning.checkpoint)
            # After the quarantine: rows that are in the table aren't read again, whatever fails next.
            repeated(lambda: append(record_batches(kept.drop(*beside)), table, beginning.checkpoint, there))
            written(kept)
        finally:
            rows.unpersist()

    sink = {**sink_options(KafkaAccess.of(settings)), "topic": QUARANTINE}
    interval_s = settings.history_interval_seconds
    rows = transforms.observed(step(job, source(job, name, beginning, Pace(_MOST, interval_s))), QUARANTINED, reasons)
    writer = rows.writeStream.foreachBatch(write)
    return start(writer, name, beginning.location, min(interval_s, _LOOK_S))


def offsets(rows: DataFrame) -> dict[int, range]:
    """From the first row's to behind the last one's, by partition."""
    found = rows.groupBy("partition").agg(F.min("offset"), F.max("offset")).collect()
    return {number: range(first, last + 1) for number, first, last in found}


def _query(name: str, step: Callable[[DataFrame, DigestKey | None], DataFrame], record: type) -> JobQuery:
    def step_of(job: JobContext, records: DataFrame) -> DataFrame:
        return step(records, job.digest_key)

    return JobQuery(
        start=lambda job: Running(start_history(job, name, step_of, codec.reasons(record))),
        reads=PLANS[name].topics,
        writes=(QUARANTINE,),
        step=step_of,
    )


PUSHES = _query("history_pushes", transforms.pushes, Push)
CONNECTIONS = _query("history_connections", transforms.connections, ClientConnectionRecord)
